// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "proto/arrival.hh"
#include "proto/assembly.hh"
#include "proto/connection.hh"
#include "proto/credits.hh"
#include "proto/received.hh"
#include "proto/reply.hh"
#include "proto/response.hh"
#include "proto/transfer.hh"

namespace rpcordma::unit {
namespace {

using namespace proto;

/// Administrators filter by these words, and scripts look for them.
TEST(Names, OfReplyError_AreTheDocumentedOnes)
{
	EXPECT_STREQ(name_of(ReplyError::wrong_type), "RDMA_MSGP or RDMA_DONE");
	EXPECT_STREQ(name_of(ReplyError::read_list), "Read list in a Reply");
	EXPECT_STREQ(name_of(ReplyError::write_list), "more Write chunks than offered");
	EXPECT_STREQ(name_of(ReplyError::segment_count), "other number of segments than offered");
	EXPECT_STREQ(name_of(ReplyError::segment_changed), "other handle or offset than offered");
	EXPECT_STREQ(name_of(ReplyError::segment_too_long), "segment longer than offered");
	EXPECT_STREQ(name_of(ReplyError::not_contiguous), "chunk not filled contiguously");
	EXPECT_STREQ(name_of(ReplyError::reply_chunk), "Reply chunk not offered, or in use beside an inline Payload "
						       "stream");
	EXPECT_STREQ(name_of(ReplyError::no_payload), "no Payload stream");
	EXPECT_STREQ(name_of(ReplyError::payload_too_short), "Payload stream too short");
	EXPECT_STREQ(name_of(ReplyError::xid_mismatch), "other XID in the Payload stream");
	EXPECT_STREQ(name_of(ReplyError::not_a_reply), "RPC message is not a Reply");
	EXPECT_STREQ(name_of(ReplyError::other_version), "other version than the Call's");
}

TEST(Names, OfPlacementError_AreTheDocumentedOnes)
{
	EXPECT_STREQ(name_of(PlacementError::too_large), "larger than the room for it");
}

TEST(Names, OfPlanError_AreTheDocumentedOnes)
{
	EXPECT_STREQ(name_of(PlanError::header_too_large), "header above the inline threshold");
}

TEST(Names, OfDropped_AreTheDocumentedOnes)
{
	EXPECT_STREQ(name_of(Dropped::too_short), "shorter than a header");
	EXPECT_STREQ(name_of(Dropped::unsupported_version), "unsupported version");
	EXPECT_STREQ(name_of(Dropped::undecodable_error), "undecodable RDMA_ERROR");
	EXPECT_STREQ(name_of(Dropped::undecodable_header), "undecodable header");
	EXPECT_STREQ(name_of(Dropped::reserved_type), "RDMA_MSGP or RDMA_DONE");
	EXPECT_STREQ(name_of(Dropped::option_error), "ERR_INVAL_OPTION");
	EXPECT_STREQ(name_of(Dropped::optional_reply), "unknown option in a reply");
}

TEST(Names, OfGrant_AreTheDocumentedOnes)
{
	EXPECT_STREQ(name_of(Grant::usual), "usual");
	EXPECT_STREQ(name_of(Grant::zero), "zero");
	EXPECT_STREQ(name_of(Grant::above_request), "above the request");
}

TEST(Names, OfConnectOutcome_AreTheDocumentedOnes)
{
	EXPECT_STREQ(name_of(ConnectOutcome::connected), "connected");
	EXPECT_STREQ(name_of(ConnectOutcome::refused), "refused");
	EXPECT_STREQ(name_of(ConnectOutcome::turned_away), "refused");
	EXPECT_STREQ(name_of(ConnectOutcome::host_unreachable), "host unreachable");
	EXPECT_STREQ(name_of(ConnectOutcome::network_unreachable), "network unreachable");
	EXPECT_STREQ(name_of(ConnectOutcome::try_again), "try again");
	EXPECT_STREQ(name_of(ConnectOutcome::no_device), "no device");
}

TEST(Names, OfCallTransfer_AreTheDocumentedOnes)
{
	EXPECT_STREQ(name_of(CallTransfer::inline_message), "inline");
	EXPECT_STREQ(name_of(CallTransfer::read_chunk), "Read chunk");
	EXPECT_STREQ(name_of(CallTransfer::position_zero), "Position Zero Read chunk");
}

TEST(Names, OfReplyRoom_AreTheDocumentedOnes)
{
	EXPECT_STREQ(name_of(ReplyRoom::inline_message), "inline");
	EXPECT_STREQ(name_of(ReplyRoom::write_chunk), "Write chunk");
	EXPECT_STREQ(name_of(ReplyRoom::reply_chunk), "Reply chunk");
}

TEST(Names, OfIgnored_AreTheDocumentedOnes)
{
	EXPECT_STREQ(name_of(Ignored::too_short), "too short");
	EXPECT_STREQ(name_of(Ignored::error_message), "RDMA_ERROR");
	EXPECT_STREQ(name_of(Ignored::done), "RDMA_DONE");
	EXPECT_STREQ(name_of(Ignored::reply), "reply in the reverse direction");
	EXPECT_STREQ(name_of(Ignored::optional_reply), "unknown option in a reply");
}

TEST(Names, OfRefusal_AreTheDocumentedOnes)
{
	EXPECT_STREQ(name_of(Refusal::version), "ERR_VERS");
	EXPECT_STREQ(name_of(Refusal::malformed), "ERR_CHUNK");
	EXPECT_STREQ(name_of(Refusal::option), "ERR_INVAL_OPTION");
}

TEST(Names, OfCallError_AreTheDocumentedOnes)
{
	EXPECT_STREQ(name_of(CallError::too_many_segments), "too many segments");
	EXPECT_STREQ(name_of(CallError::too_large), "larger than the largest call");
	EXPECT_STREQ(name_of(CallError::position_unaligned), "Position is no multiple of four");
	EXPECT_STREQ(name_of(CallError::position_outside), "Position outside the Payload stream");
	EXPECT_STREQ(name_of(CallError::position_zero_beside_payload), "Position Zero Read chunk beside an inline "
								       "Payload stream");
	EXPECT_STREQ(name_of(CallError::no_payload), "no Payload stream");
	EXPECT_STREQ(name_of(CallError::too_small), "too small");
	EXPECT_STREQ(name_of(CallError::not_eligible), "Read chunk for an item that is not DDP-eligible");
	EXPECT_STREQ(name_of(CallError::count_beyond_chunk), "count beyond its chunk");
	EXPECT_STREQ(name_of(CallError::no_room_for_reply), "no room for the header of a reply");
}

TEST(Names, OfCallShape_AreTheDocumentedOnes)
{
	EXPECT_STREQ(name_of(CallShape::in_message), "inline");
	EXPECT_STREQ(name_of(CallShape::one_item), "Read chunk");
	EXPECT_STREQ(name_of(CallShape::contiguous), "Read chunks");
}

TEST(Names, OfReplyTransfer_AreTheDocumentedOnes)
{
	EXPECT_STREQ(name_of(ReplyTransfer::short_reply), "RDMA_MSG");
	EXPECT_STREQ(name_of(ReplyTransfer::long_reply), "RDMA_NOMSG");
}

TEST(Names, OfReplyPlanError_AreTheDocumentedOnes)
{
	EXPECT_STREQ(name_of(ReplyPlanError::fits_nowhere), "reply fits neither a message nor its chunks");
	EXPECT_STREQ(name_of(ReplyPlanError::item_too_long), "result longer than its write chunk");
}

} // namespace
} // namespace rpcordma::unit
