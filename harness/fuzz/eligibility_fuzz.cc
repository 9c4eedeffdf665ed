// SPDX-License-Identifier: GPL-2.0-only
/// Which item of a Call is DDP-eligible. The input is the arguments, and says in its end what they are the arguments of.
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

#include "harness/fuzz/require.hh"
#include "proto/eligibility.hh"

using namespace rpcordma;
using fuzz::require;

namespace {

constexpr std::uint32_t nfs = 100003;

void append(std::vector<std::byte> &bytes, std::uint32_t value)
{
	bytes.resize(bytes.size() + wire::xdr_unit);
	wire::store_u32(std::span(bytes).last<wire::xdr_unit>(), value);
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	FuzzedDataProvider input(data, size);
	const std::uint32_t program = input.PickValueInArray<std::uint32_t>({nfs, nfs, nfs, 100005, 0x40000000});
	const std::uint32_t version = input.ConsumeIntegralInRange<std::uint32_t>(1, 5);
	const std::uint32_t procedure = input.PickValueInArray<std::uint32_t>({1, 7, 8, 10, 13, 0, 2});
	const std::uint32_t service = input.ConsumeIntegralInRange<std::uint32_t>(0, 4);

	std::vector<std::byte> payload;
	for (const std::uint32_t word : {7u, 0u, 2u, program, version, procedure})
		append(payload, word);
	if (service != 0)
		for (const std::uint32_t word : {6u, 16u, 1u, 0u, 3u, service})
			append(payload, word);
	else
		for (const std::uint32_t word : {1u, 0u})
			append(payload, word);
	// The verifier and the arguments.
	const std::vector<std::uint8_t> rest = input.ConsumeRemainingBytes<std::uint8_t>();
	const wire::Bytes bytes = std::as_bytes(std::span(rest));
	payload.insert(payload.end(), bytes.begin(), bytes.end());
	payload.shrink_to_fit();

	proto::Eligibility whole(payload);
	for (std::uint32_t at = 0; at <= payload.size(); at += wire::xdr_unit) {
		const auto asked = [at](proto::Eligibility eligibility) {
			return eligibility.has_argument(at, 8, proto::Eligibility::Chunk::missing);
		};
		const bool is_eligible = asked(proto::Eligibility(payload));
		require(!is_eligible || program == nfs, "only the items of NFS are eligible");
		require(!is_eligible || service <= 1, "nothing that is protected is eligible");
		require(is_eligible == asked(proto::Eligibility(wire::Bytes(payload).first(at))), "what stands behind "
												  "an item does not "
												  "matter");
		if (at % 8 == 0)
			(void)whole.has_argument(at, at, proto::Eligibility::Chunk::in_place);
	}
	const bool may_reduce = proto::Eligibility(payload).may_reduce_results();
	require(!may_reduce || (program == nfs && service <= 1), "only results of NFS that are not protected are "
								 "reduced");
	return 0;
}
