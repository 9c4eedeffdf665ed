// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/names.hh"

namespace rpcordma::verbs {

namespace {

constexpr const char *unknown = "unknown";

} // namespace

const char *name_of(proto::ReplyError error) noexcept
{
	switch (error) {
	case proto::ReplyError::wrong_type:
		return "RDMA_MSGP or RDMA_DONE";
	case proto::ReplyError::read_list:
		return "Read list in a Reply";
	case proto::ReplyError::write_list:
		return "more Write chunks than offered";
	case proto::ReplyError::segment_count:
		return "other number of segments than offered";
	case proto::ReplyError::segment_changed:
		return "other handle or offset than offered";
	case proto::ReplyError::segment_too_long:
		return "segment longer than offered";
	case proto::ReplyError::not_contiguous:
		return "chunk not filled contiguously";
	case proto::ReplyError::reply_chunk:
		return "Reply chunk not offered, or in use beside an inline Payload stream";
	case proto::ReplyError::no_payload:
		return "no Payload stream";
	case proto::ReplyError::payload_too_short:
		return "Payload stream too short";
	case proto::ReplyError::xid_mismatch:
		return "other XID in the Payload stream";
	case proto::ReplyError::not_a_reply:
		return "RPC message is not a Reply";
	}
	return unknown;
}

const char *name_of(proto::PlacementError error) noexcept
{
	switch (error) {
	case proto::PlacementError::too_large:
		return "larger than the room for it";
	}
	return unknown;
}

const char *name_of(proto::PlanError error) noexcept
{
	switch (error) {
	case proto::PlanError::header_too_large:
		return "header above the inline threshold";
	}
	return unknown;
}

const char *name_of(proto::Dropped reason) noexcept
{
	switch (reason) {
	case proto::Dropped::too_short:
		return "shorter than a header";
	case proto::Dropped::unsupported_version:
		return "unsupported version";
	case proto::Dropped::undecodable_error:
		return "undecodable RDMA_ERROR";
	case proto::Dropped::undecodable_header:
		return "undecodable header";
	case proto::Dropped::reserved_type:
		return "RDMA_MSGP or RDMA_DONE";
	}
	return unknown;
}

const char *name_of(proto::Grant grant) noexcept
{
	switch (grant) {
	case proto::Grant::usual:
		return "usual";
	case proto::Grant::zero:
		return "zero";
	case proto::Grant::above_request:
		return "above the request";
	}
	return unknown;
}

const char *name_of(proto::ConnectOutcome outcome) noexcept
{
	switch (outcome) {
	case proto::ConnectOutcome::connected:
		return "connected";
	case proto::ConnectOutcome::refused:
		return "refused";
	case proto::ConnectOutcome::host_unreachable:
		return "host unreachable";
	case proto::ConnectOutcome::network_unreachable:
		return "network unreachable";
	case proto::ConnectOutcome::try_again:
		return "try again";
	case proto::ConnectOutcome::no_device:
		return "no device";
	}
	return unknown;
}

const char *name_of(proto::CallTransfer transfer) noexcept
{
	switch (transfer) {
	case proto::CallTransfer::inline_message:
		return "inline";
	case proto::CallTransfer::read_chunk:
		return "Read chunk";
	case proto::CallTransfer::position_zero:
		return "Position Zero Read chunk";
	}
	return unknown;
}

const char *name_of(proto::ReplyRoom room) noexcept
{
	switch (room) {
	case proto::ReplyRoom::inline_message:
		return "inline";
	case proto::ReplyRoom::write_chunk:
		return "Write chunk";
	case proto::ReplyRoom::reply_chunk:
		return "Reply chunk";
	}
	return unknown;
}

const char *name_of(proto::Ignored reason) noexcept
{
	switch (reason) {
	case proto::Ignored::too_short:
		return "too short";
	case proto::Ignored::error_message:
		return "RDMA_ERROR";
	case proto::Ignored::done:
		return "RDMA_DONE";
	}
	return unknown;
}

const char *name_of(proto::Refusal error) noexcept
{
	switch (error) {
	case proto::Refusal::version:
		return "ERR_VERS";
	case proto::Refusal::malformed:
		return "ERR_CHUNK";
	}
	return unknown;
}

const char *name_of(proto::CallError error) noexcept
{
	switch (error) {
	case proto::CallError::too_many_segments:
		return "too many segments";
	case proto::CallError::too_large:
		return "larger than the largest call";
	case proto::CallError::position_unaligned:
		return "Position is no multiple of four";
	case proto::CallError::position_outside:
		return "Position outside the Payload stream";
	case proto::CallError::position_zero_beside_payload:
		return "Position Zero Read chunk beside an inline Payload stream";
	case proto::CallError::no_payload:
		return "no Payload stream";
	case proto::CallError::too_small:
		return "too small";
	case proto::CallError::not_eligible:
		return "Read chunk for an item that is not DDP-eligible";
	case proto::CallError::count_beyond_chunk:
		return "count beyond its chunk";
	case proto::CallError::no_room_for_reply:
		return "no room for the header of a reply";
	}
	return unknown;
}

const char *name_of(proto::CallShape shape) noexcept
{
	switch (shape) {
	case proto::CallShape::in_message:
		return "inline";
	case proto::CallShape::one_item:
		return "Read chunk";
	case proto::CallShape::contiguous:
		return "Read chunks";
	}
	return unknown;
}

const char *name_of(proto::ReplyTransfer transfer) noexcept
{
	switch (transfer) {
	case proto::ReplyTransfer::short_reply:
		return "RDMA_MSG";
	case proto::ReplyTransfer::long_reply:
		return "RDMA_NOMSG";
	}
	return unknown;
}

const char *name_of(proto::ReplyPlanError error) noexcept
{
	switch (error) {
	case proto::ReplyPlanError::fits_nowhere:
		return "reply fits neither a message nor its chunks";
	case proto::ReplyPlanError::item_too_long:
		return "result longer than its write chunk";
	}
	return unknown;
}

} // namespace rpcordma::verbs
