// SPDX-License-Identifier: GPL-2.0-only
#include "proto/eligibility.hh"

#include <algorithm>
#include <array>

namespace rpcordma::proto {
namespace {

/// RFC 5531, 8.2 and RFC 2203, 5.
constexpr std::uint32_t rpcsec_gss = 6;
constexpr std::uint32_t gss_service_none = 1;

constexpr std::uint32_t nfs_program = 100003;
/// RFC 1094, 2.2.
constexpr std::uint32_t nfs2_write = 8;
constexpr std::uint32_t nfs2_symlink = 13;
/// RFC 1813, 3.3.
constexpr std::uint32_t nfs3_write = 7;
constexpr std::uint32_t nfs3_symlink = 10;
/// RFC 8881, 16.2, and RFC 7862, 15.10.
constexpr std::uint32_t nfs4_compound = 1;
constexpr std::uint32_t nfs4_read_plus = 68;

/// Arguments are written as a string, a letter for each value:
///   w h t s   4, 8, 12 or 16 bytes
///   o         a counted item: its size, and as many bytes
///   b         an array of words
///   W H T     a boolean and, where it is true, 4, 8 or 12 bytes
///   *         a counted item that is DDP-eligible
///   0 to 7    a union, and all that follows it: see `unions`
constexpr const char *no_arguments = "";
constexpr const char *unknown = nullptr;

using Arms = std::array<const char *, 8>;

/// By discriminant. All that are not here are unknown.
constexpr Arms unions[] = {
	/* OPEN: opentype4 */ {"2", "1"},
	/* createmode4 */ {"bo2", "bo2", "h2", "hbo2"},
	/* open_claim_type4 */ {"o", "w", "so", "o", "", "s", ""},
	/* LOCK: locker4 */ {"sw", "wswho"},
	/* LAYOUTRETURN: layoutreturn_type4 */ {unknown, "hhso", "", ""},
	/* CREATE: nfs_ftype4 */ {unknown, "obo", "obo", "wwobo", "wwobo", "*obo", "obo", "obo"},
	/* SYMLINK: time_how, of atime, then of mtime and the text behind it */
	{"7", "7", "h7"},
	{"*", "*", "h*"},
};

/// By operation, from ACCESS (3) on (RFC 7531, RFC 5662, RFC 7863, RFC 8276).
constexpr const char *operations[] = {
	/* ACCESS */ "w",
	/* CLOSE */ "ws",
	/* COMMIT */ "hw",
	/* CREATE */ "5",
	/* DELEGPURGE */ "h",
	/* DELEGRETURN */ "s",
	/* GETATTR */ "b",
	/* GETFH */ "",
	/* LINK */ "o",
	/* LOCK */ "wwhh3",
	/* LOCKT */ "whhho",
	/* LOCKU */ "wwshh",
	/* LOOKUP */ "o",
	/* LOOKUPP */ "",
	/* NVERIFY */ "bo",
	/* OPEN */ "wwwho0",
	/* OPENATTR */ "w",
	/* OPEN_CONFIRM */ "sw",
	/* OPEN_DOWNGRADE */ "swww",
	/* PUTFH */ "o",
	/* PUTPUBFH */ "",
	/* PUTROOTFH */ "",
	/* READ */ "shw",
	/* READDIR */ "hhwwb",
	/* READLINK */ "",
	/* REMOVE */ "o",
	/* RENAME */ "oo",
	/* RENEW */ "h",
	/* RESTOREFH */ "",
	/* SAVEFH */ "",
	/* SECINFO */ "o",
	/* SETATTR */ "sbo",
	/* SETCLIENTID */ "howoow",
	/* SETCLIENTID_CONFIRM */ "hh",
	/* VERIFY */ "bo",
	/* WRITE */ "shw*",
	/* RELEASE_LOCKOWNER */ "ho",
	/* BACKCHANNEL_CTL */ unknown,
	/* BIND_CONN_TO_SESSION */ "sww",
	/* EXCHANGE_ID */ unknown,
	/* CREATE_SESSION */ unknown,
	/* DESTROY_SESSION */ "s",
	/* FREE_STATEID */ "s",
	/* GET_DIR_DELEGATION */ "wbttbb",
	/* GETDEVICEINFO */ "swwb",
	/* GETDEVICELIST */ "wwhh",
	/* LAYOUTCOMMIT */ "hhwsHTwo",
	/* LAYOUTGET */ "wwwhhhsw",
	/* LAYOUTRETURN */ "www4",
	/* SECINFO_NO_NAME */ "w",
	/* SEQUENCE */ "swwww",
	/* SET_SSV */ "oo",
	/* TEST_STATEID */ unknown,
	/* WANT_DELEGATION */ unknown,
	/* DESTROY_CLIENTID */ "h",
	/* RECLAIM_COMPLETE */ "w",
	/* ALLOCATE */ "shh",
	/* COPY */ unknown,
	/* COPY_NOTIFY */ unknown,
	/* DEALLOCATE */ "shh",
	/* IO_ADVISE */ "shhb",
	/* LAYOUTERROR */ unknown,
	/* LAYOUTSTATS */ unknown,
	/* OFFLOAD_CANCEL */ "s",
	/* OFFLOAD_STATUS */ "s",
	/* READ_PLUS */ "shw",
	/* SEEK */ "shw",
	/* WRITE_SAME */ unknown,
	/* CLONE */ "sshhh",
	/* GETXATTR */ "o",
	/* SETXATTR */ "woo",
	/* LISTXATTRS */ "hw",
	/* REMOVEXATTR */ "o",
};
constexpr std::uint32_t first_operation = 3;

struct Procedure {
	std::uint32_t program;
	std::uint32_t version;
	std::uint32_t number;
	/// Whether arguments and results are there as they are.
	bool is_plain;
};

bool skip_opaque(wire::Reader &reader) noexcept
{
	const auto size = reader.u32();
	return size && reader.take(wire::rounded_up(*size));
}

std::size_t width_of(char kind) noexcept
{
	switch (kind) {
	case 'w':
	case 'W':
		return 4;
	case 'h':
	case 'H':
		return 8;
	case 't':
	case 'T':
		return 12;
	default:
		return 16;
	}
}

/// Skips a value of that kind; false where it is not all there.
bool skip(char kind, wire::Reader &reader) noexcept
{
	if (kind == 'o')
		return skip_opaque(reader);
	if (kind == 'b') {
		const auto words = reader.u32();
		return words && reader.take(std::size_t{*words} * wire::xdr_unit);
	}
	if (kind < 'a') {
		const auto is_there = reader.boolean();
		if (!is_there || !*is_there)
			return is_there.has_value();
	}
	return reader.take(width_of(kind)).has_value();
}

/// Skips the body of a credential; whether arguments and results are there as they are.
std::optional<bool> credential(std::uint32_t flavour, wire::Reader &reader) noexcept
{
	wire::Reader body = reader;
	if (!skip_opaque(reader))
		return std::nullopt;
	if (flavour != rpcsec_gss)
		return true;
	// Its size, version, procedure and sequence number stand in front of the service.
	if (!body.take(4 * wire::xdr_unit))
		return std::nullopt;
	return body.u32() == gss_service_none;
}

/// Reads the header of an RPC Call, up to the arguments.
std::optional<Procedure> read_call(wire::Reader &reader) noexcept
{
	// XID, message type, RPC version, program, version, procedure, the credential's flavour.
	const auto begin = reader.take<7 * wire::xdr_unit>();
	if (!begin)
		return std::nullopt;
	const std::optional<bool> is_plain = credential(wire::load_word<6>(*begin), reader);
	// The verifier.
	if (!is_plain || !reader.u32() || !skip_opaque(reader))
		return std::nullopt;
	return Procedure{wire::load_word<3>(*begin), wire::load_word<4>(*begin), wire::load_word<5>(*begin), *is_plain};
}

/// Those of versions 2 and 3. Only such as have an eligible one matter.
const char *arguments_of(const Procedure &procedure) noexcept
{
	if (procedure.version == 2)
		return procedure.number == nfs2_write	? "sswww*" :
		       procedure.number == nfs2_symlink ? "sso*" :
							  no_arguments;
	return procedure.number == nfs3_write ? "ohww*" : procedure.number == nfs3_symlink ? "ooWWWH6" : no_arguments;
}

} // namespace

/// Reads what stands in front of the arguments of a procedure, or of the operations of a COMPOUND. False where nothing may
/// be reduced.
bool Eligibility::begin() noexcept
{
	arguments_ = no_arguments;
	const std::optional<Procedure> procedure = read_call(reader_);
	if (!procedure || !procedure->is_plain || procedure->program != nfs_program)
		return false;
	switch (procedure->version) {
	case 2:
	case 3:
		arguments_ = arguments_of(*procedure);
		return true;
	case 4:
		break;
	default:
		return false;
	}
	// A tag and the minor version.
	if (procedure->number != nfs4_compound || !skip_opaque(reader_) || !reader_.u32())
		return false;
	operations_ = reader_.u32().value_or(0);
	return true;
}

/// Of a COMPOUND. False where it has no more, or one of unknown arguments.
bool Eligibility::begin_operation() noexcept
{
	if (operations_ == 0)
		return false;
	--operations_;
	const std::uint32_t operation = reader_.u32().value_or(0) - first_operation;
	if (operation >= std::size(operations) || !operations[operation])
		return false;
	has_read_plus_ = has_read_plus_ || operation == nfs4_read_plus - first_operation;
	arguments_ = operations[operation];
	return true;
}

/// Goes to the bytes of the next argument that is eligible: its size, or none, and then there is no going on.
std::optional<std::uint32_t> Eligibility::next_argument() noexcept
{
	for (;;) {
		const char kind = *arguments_;
		if (kind == 0) {
			if (!begin_operation())
				return std::nullopt;
			continue;
		}
		++arguments_;
		if (kind >= 'A') {
			if (!skip(kind, reader_))
				return std::nullopt;
			continue;
		}
		const auto word = reader_.u32();
		if (!word)
			return std::nullopt;
		if (kind == '*')
			return *word;
		const Arms &arms = unions[kind - '0'];
		if (*word >= arms.size() || !arms[*word])
			return std::nullopt;
		arguments_ = arms[*word];
	}
}

bool Eligibility::has_argument(std::uint64_t at, std::uint64_t length, Chunk chunk) noexcept
{
	if (!arguments_ && !begin())
		return false;
	const bool goes_on = left_ != 0 && position() == at;
	while (!goes_on) {
		// What is left of one stands in the message.
		if (!reader_.take(left_))
			return false;
		const std::optional<std::uint32_t> size = next_argument();
		if (!size || position() > at)
			return false;
		left_ = wire::rounded_up(*size);
		if (position() == at)
			break;
	}
	const std::uint64_t taken = wire::rounded_up(length);
	const wire::Bytes rest = reader_.rest();
	if (chunk == Chunk::in_place)
		reader_ = wire::Reader(rest.subspan(std::min<std::uint64_t>(taken, rest.size())));
	left_ -= std::min(left_, taken);
	return true;
}

bool Eligibility::may_reduce_results() noexcept
{
	if (!begin())
		return false;
	while (const auto size = next_argument()) {
		if (!reader_.take(wire::rounded_up(*size)))
			break;
	}
	return !has_read_plus_;
}

} // namespace rpcordma::proto
