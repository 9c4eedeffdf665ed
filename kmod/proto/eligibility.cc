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

/// Of every Call that has chunks, some: cheap.
inline bool skip_opaque(wire::Reader &reader) noexcept
{
	const wire::Bytes bytes = reader.rest();
	if (bytes.size() < wire::xdr_unit)
		return false;
	const std::uint64_t end = wire::xdr_unit + wire::rounded_up(wire::load_u32(bytes.first<wire::xdr_unit>()));
	if (end > bytes.size())
		return false;
	reader = wire::Reader(bytes.subspan(end));
	return true;
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

/// Skips a credential and a verifier, which stand behind the credential's flavour. False where they are not all there, or
/// arguments and results are protected.
inline bool skip_plain_credential(std::uint32_t flavour, wire::Reader &reader) noexcept
{
	if (flavour == rpcsec_gss) [[unlikely]] {
		// Its size, version, procedure and sequence number stand in front of the service.
		const auto begin = wire::Reader(reader).take<5 * wire::xdr_unit>();
		if (!begin || wire::load_word<4>(*begin) != gss_service_none)
			return false;
	}
	return skip_opaque(reader) && reader.take(wire::xdr_unit) && skip_opaque(reader);
}

/// Those of versions 2 and 3. Only such as have an eligible one matter.
const char *arguments_of(std::uint32_t version, std::uint32_t procedure) noexcept
{
	if (version == 2)
		return procedure == nfs2_write ? "sswww*" : procedure == nfs2_symlink ? "sso*" : no_arguments;
	return procedure == nfs3_write ? "ohww*" : procedure == nfs3_symlink ? "ooWWWH6" : no_arguments;
}

} // namespace

/// Reads what stands in front of the arguments of a procedure, or of the operations of a COMPOUND. False where nothing may
/// be reduced.
bool Eligibility::begin() noexcept
{
	arguments_ = no_arguments;
	// XID, message type, RPC version, program, version, procedure, the credential's flavour.
	const wire::Bytes call = reader_.rest();
	constexpr std::size_t call_size = 7 * wire::xdr_unit;
	if (!reader_.take(call_size))
		return false;
	const auto words = call.first<call_size>();
	if (wire::load_word<3>(words) != nfs_program || !skip_plain_credential(wire::load_word<6>(words), reader_))
		return false;
	const std::uint32_t version = wire::load_word<4>(words);
	const std::uint32_t procedure = wire::load_word<5>(words);
	switch (version) {
	case 2:
	case 3:
		arguments_ = arguments_of(version, procedure);
		return true;
	case 4:
		break;
	default:
		return false;
	}
	// A tag and the minor version.
	if (procedure != nfs4_compound || !skip_opaque(reader_) || !reader_.take(wire::xdr_unit))
		return false;
	const auto count = reader_.take<wire::xdr_unit>();
	operations_ = count ? wire::load_u32(*count) : 0;
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
	// An operation whose number is nowhere is not there: most Calls need not be read.
	if (operations_ == 0 || !wire::has_word(reader_.rest(), nfs4_read_plus))
		return true;
	while (const auto size = next_argument()) {
		if (!reader_.take(wire::rounded_up(*size)))
			break;
	}
	return !has_read_plus_;
}

} // namespace rpcordma::proto
