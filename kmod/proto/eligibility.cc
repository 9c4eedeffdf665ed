// SPDX-License-Identifier: GPL-2.0-only
#include "proto/eligibility.hh"

#include <optional>

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
/// RFC 8881, 16.2 and 18.
constexpr std::uint32_t nfs4_compound = 1;
constexpr std::uint32_t nfs4_create = 6;
constexpr std::uint32_t nfs4_symbolic_link = 5;
constexpr std::uint32_t nfs4_write = 38;

struct Procedure {
	std::uint32_t program;
	std::uint32_t version;
	std::uint32_t number;
	/// Whether the arguments are there as they are.
	bool is_plain;
};

/// Skips a counted item.
bool skip_opaque(wire::Reader &reader) noexcept
{
	const auto size = reader.u32();
	return size && reader.take(std::size_t{*size} + wire::roundup_padding(*size));
}

/// Skips the body of a credential; whether the arguments are there as they are.
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

/// Whether the word so many units in front of the item has that value.
bool has(wire::Bytes before, std::size_t units, std::uint32_t value) noexcept
{
	const std::size_t size = units * wire::xdr_unit;
	return before.size() >= size && wire::load_u32(before.last(size).first<wire::xdr_unit>()) == value;
}

/// WRITE's data: behind operation, stateid, offset, stability and count. The text of a symbolic link that CREATE makes: behind
/// operation, type and count.
bool is_of_compound(wire::Bytes before) noexcept
{
	return has(before, 9, nfs4_write) || (has(before, 3, nfs4_create) && has(before, 2, nfs4_symbolic_link));
}

/// WRITE's data is its only item, and its last: behind a handle, offset, count, stability and count.
bool is_data_of_nfs3_write(wire::Reader arguments) noexcept
{
	return skip_opaque(arguments) && arguments.rest().size() == 5 * wire::xdr_unit;
}

} // namespace

bool is_eligible(wire::Bytes payload, std::uint32_t at) noexcept
{
	wire::Reader reader(payload.first(at));
	const std::optional<Procedure> procedure = read_call(reader);
	if (!procedure || !procedure->is_plain || procedure->program != nfs_program)
		return false;
	switch (procedure->version) {
	case 2:
		return procedure->number == nfs2_write || procedure->number == nfs2_symlink;
	case 3:
		return procedure->number == nfs3_symlink ||
		       (procedure->number == nfs3_write && is_data_of_nfs3_write(reader));
	case 4:
		return procedure->number == nfs4_compound && is_of_compound(reader.rest());
	default:
		return false;
	}
}

} // namespace rpcordma::proto
