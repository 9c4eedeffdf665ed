// SPDX-License-Identifier: GPL-2.0-only
//
// What cases for servers and for clients have in common: their words, and the results they begin with.

#pragma once

#include <stdexcept>

#include <functional>
#include <optional>
#include <string>

#include "codec/private_data.hh"
#include "engine/frame.hh"
#include "engine/option.hh"
#include "engine/transaction.hh"
#include "language/case.hh"
#include "report/report.hh"
#include "verbs/verbs.hh"

namespace peer {

/// What a case needs to tell anything is not so: of the peer's device, or of what the other end does as it likes.
class Unable : public std::runtime_error {
	using runtime_error::runtime_error;
};

[[nodiscard]] bool contains(const Words &words, const std::string &word);
/// The word behind another one, where that is there.
[[nodiscard]] std::optional<std::string> behind(const Words &words, const std::string &word);
/// The number behind a word; @usual where the word is not there. Throws ScriptError.
[[nodiscard]] std::uint64_t number_behind(const Words &words, const std::string &word, std::uint64_t usual,
					  const Names &names = {});
/// "f6ab0e18" as bytes; "nothing" as none. Throws ScriptError.
[[nodiscard]] Bytes bytes_of_hex(const std::string &digits);
/// The step of a case that sends this message, which may be empty.
[[nodiscard]] std::string step_sending(ByteView message);
/// "private HEX [offset N] [length N]": behind so many zeros, cut or filled up to that length. Throws ScriptError.
[[nodiscard]] Bytes private_data_of(const Words &words);
/// What is expected in a step, for people.
[[nodiscard]] std::string expectation_of(const Step &step);
/// The header of an RDMA_ERROR that came, beside the one that was expected.
[[nodiscard]] Comparison compare_errors(const Header &expected, const Decoded &came);
/// Compares @fields with what the lines say: @names stand for values there. Throws Violation, ScriptError.
void check_all(const std::vector<Line> &lines,
	       const std::function<std::optional<std::uint64_t>(const std::string &)> &fields, const Names &names);
/// CM private data have the message of RFC 8797, whose send, receive, invalidation and reserved the lines compare. Throws
/// Violation, ScriptError.
void check_private_data(ByteView received, const std::vector<Line> &lines, const Names &names);
/// decode(), of what has come from the other end. Throws Violation.
[[nodiscard]] Decoded decode_received(const Message &message);
/// The features of the peer that a case names. Throws ScriptError.
[[nodiscard]] Features features_of(const Case &test);
/// "expect option TYPE [HEX]": that @answer is one to the option @sent, with this type and these data. Throws Violation,
/// ScriptError.
void check_option(const Decoded &answer, const Header &sent, const Words &words, const Names &names);
/// Whether a Reply's status is the one with that name: "prog-unavail"... Throws Violation, ScriptError.
void check_rpc_status(bool accepted, std::uint32_t status, const std::string &name);
/// Whether an RDMA operation did what is wanted of it. "ok": it has worked. "fails": it has failed at the other end, which may
/// do no more than end the connection; one that fails at this end does not show that memory is out of reach. "unrefused":
/// the other end's device has carried it out, and the connection may have ended before it could say so. Throws Violation,
/// ScriptError.
void check_reach(const Transferred &done, const std::string &wanted);
/// "time 2 of 5: ", in front of what came of a case that is run more than once.
[[nodiscard]] std::string time_text(unsigned time, unsigned times);
/// What a run of the case begins with: it has passed until something is wrong.
[[nodiscard]] CaseResult new_result(const Case &test);

} // namespace peer
