// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include <deque>
#include <random>

#include "harness/vectors/rpcrdma_v2.hh"
#include "proto/grants.hh"
#include "proto/reply.hh"
#include "proto/reverse.hh"

namespace rpcordma::unit {
namespace {

using proto::plan_reverse_call;
using proto::ReverseChunks;
using proto::ReversePlan;
using proto::ReverseRoom;

/// An RDMA_MSG without chunks has so large a header, and the first segment of a Reply chunk adds so much.
constexpr std::uint32_t header = 28;
constexpr std::uint32_t reply_chunk = 20;

/// Calls of the reverse direction have the reply threshold, and their Replies the call threshold.
ReverseRoom room(ReverseChunks chunks, bool reads = true)
{
	return {.thresholds = {.call = 1024, .reply = 4096}, .chunks = chunks, .reads = reads};
}

void expect_plan(const std::optional<ReversePlan> &plan, bool is_long, bool has_reply_chunk)
{
	ASSERT_TRUE(plan);
	EXPECT_EQ(plan->is_long, is_long);
	EXPECT_EQ(plan->has_reply_chunk, has_reply_chunk);
}

TEST(ReversePlan, WithoutChunks_IsAMessageOrNothing)
{
	expect_plan(plan_reverse_call(4096 - header, 100, room(ReverseChunks::never)), false, false);
	EXPECT_FALSE(plan_reverse_call(4096 - header + 1, 100, room(ReverseChunks::never)));
	expect_plan(plan_reverse_call(100, 1 << 20, room(ReverseChunks::never)), false, false);
}

TEST(ReversePlan, AsNeeded_OffersChunksForWhatFitsNoMessage)
{
	expect_plan(plan_reverse_call(4096 - header, 1024 - header, room(ReverseChunks::as_needed)), false, false);
	expect_plan(plan_reverse_call(4096 - header + 1, 1024 - header, room(ReverseChunks::as_needed)), true, false);
	expect_plan(plan_reverse_call(100, 1024 - header + 1, room(ReverseChunks::as_needed)), false, true);
	expect_plan(plan_reverse_call(5000, 5000, room(ReverseChunks::as_needed)), true, true);
}

TEST(ReversePlan, TheReplyChunkTakesRoomFromTheMessage)
{
	const std::uint32_t most = 4096 - header - reply_chunk;
	expect_plan(plan_reverse_call(most, 1024, room(ReverseChunks::as_needed)), false, true);
	expect_plan(plan_reverse_call(most + 1, 1024, room(ReverseChunks::as_needed)), true, true);
}

TEST(ReversePlan, Always_OffersBoth)
{
	expect_plan(plan_reverse_call(40, 24, room(ReverseChunks::always)), true, true);
}

TEST(ReversePlan, WithAPeerThatDoesNotRead_HasNoReadChunk)
{
	EXPECT_FALSE(plan_reverse_call(5000, 24, room(ReverseChunks::as_needed, false)));
	EXPECT_FALSE(plan_reverse_call(5000, 24, room(ReverseChunks::always, false)));
	expect_plan(plan_reverse_call(40, 24, room(ReverseChunks::always, false)), false, true);
	expect_plan(plan_reverse_call(40, 5000, room(ReverseChunks::as_needed, false)), false, true);
}

TEST(ReversePlan, HugeSizes_DoNotWrapAround)
{
	EXPECT_FALSE(plan_reverse_call(0xffffffff, 24, room(ReverseChunks::never)));
	expect_plan(plan_reverse_call(0xffffffff, 0xffffffff, room(ReverseChunks::as_needed)), true, true);
}

TEST(ReversePlan, OfVersionTwo_HasAHeaderOfFourBytesMore)
{
	constexpr std::uint32_t longer = header + 4;
	ReverseRoom two = room(ReverseChunks::as_needed);
	two.version = wire::Version::two;
	expect_plan(plan_reverse_call(4096 - longer, 1024 - longer, two), false, false);
	expect_plan(plan_reverse_call(4096 - longer + 1, 1024 - longer, two), true, false);
	expect_plan(plan_reverse_call(100, 1024 - longer + 1, two), false, true);
	const std::uint32_t most = 4096 - longer - reply_chunk;
	expect_plan(plan_reverse_call(most, 1024, two), false, true);
	expect_plan(plan_reverse_call(most + 1, 1024, two), true, true);
	two.chunks = ReverseChunks::never;
	expect_plan(plan_reverse_call(4096 - longer, 1024, two), false, false);
	EXPECT_FALSE(plan_reverse_call(4096 - longer + 1, 1024, two));
	EXPECT_EQ(ReverseRoom{}.version, wire::Version::one);
}

bool may_answer(std::initializer_list<std::uint32_t> words)
{
	const Exact bytes = message(words);
	const auto message = wire::decode(bytes);
	EXPECT_TRUE(message);
	return message && proto::may_answer_reverse_call(*message);
}

TEST(ReverseAnswer, IsAReplyOrAnError)
{
	EXPECT_TRUE(may_answer({7, 1, 3, 0, 0, 0, 0, 7, 1, 0, 0, 0, 0}));
	EXPECT_TRUE(may_answer({7, 1, 3, 1, 0, 0, 1, 1, 9, 100, 0, 0}));
	EXPECT_TRUE(may_answer({7, 1, 3, 4, 2}));
	EXPECT_TRUE(may_answer({7, 1, 3, 4, 1, 1, 1}));
}

TEST(ReverseAnswer, IsNoCallOfTheForwardDirection)
{
	EXPECT_FALSE(may_answer({7, 1, 3, 0, 0, 0, 0, 7, 0, 2, 0, 0, 0}));
	EXPECT_FALSE(may_answer({7, 1, 3, 1, 1, 0, 9, 100, 0, 0, 0, 0, 0}));
	EXPECT_FALSE(may_answer({7, 1, 3, 3}));
	EXPECT_FALSE(may_answer({7, 1, 3, 2, 0, 0, 0, 0, 0}));
}

TEST(ReverseAnswer, OfVersionTwo_HasTheDirectionOfAReply)
{
	EXPECT_TRUE(may_answer({7, 2, 3, 0, 1, 0, 0, 0, 7, 1, 0, 0, 0, 0}));
	EXPECT_TRUE(may_answer({7, 2, 3, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0}));
	EXPECT_TRUE(may_answer({7, 2, 3, 1, 1, 0, 0, 1, 1, 9, 100, 0, 0}));
	EXPECT_TRUE(may_answer({7, 2, 3, 1, 1, 1, 0, 9, 100, 0, 0, 0, 0, 0}));
	EXPECT_FALSE(may_answer({7, 2, 3, 0, 0, 0, 0, 0, 7, 0, 2, 0, 0, 0}));
	EXPECT_FALSE(may_answer({7, 2, 3, 0, 0, 0, 0, 0, 7, 1, 2, 0, 0, 0}));
	EXPECT_FALSE(may_answer({7, 2, 3, 1, 0, 1, 0, 9, 100, 0, 0, 0, 0, 0}));
	EXPECT_FALSE(may_answer({7, 2, 3, 1, 0, 0, 0, 1, 1, 9, 100, 0, 0}));
}

TEST(ReverseAnswer, OfVersionTwo_IsAnErrorThatIsNotAboutAnOption)
{
	EXPECT_TRUE(may_answer({7, 2, 3, 4, 2}));
	EXPECT_TRUE(may_answer({7, 2, 3, 4, 1, 1, 1}));
	EXPECT_FALSE(may_answer({7, 2, 3, 4, 3}));
	EXPECT_FALSE(may_answer({7, 2, 3, 5, 1, 9, 0}));
	EXPECT_FALSE(may_answer({7, 2, 3, 5, 0, 9, 0}));
}

std::optional<wire::Xid> refused(std::initializer_list<std::uint32_t> words)
{
	return proto::refused_call(message(words));
}

TEST(ReverseRefusal, OfAnyKind_NamesItsCall)
{
	EXPECT_EQ(refused({7, 1, 3, 4, 2}), wire::Xid{7});
	EXPECT_EQ(refused({8, 1, 3, 4, 1, 1, 1}), wire::Xid{8});
	EXPECT_EQ(refused({9, 2, 3, 4, 2}), wire::Xid{9});
	EXPECT_EQ(refused({10, 2, 3, 4, 1, 1, 1}), wire::Xid{10});
}

TEST(ReverseRefusal, OfAnyKind_IsAnError)
{
	EXPECT_TRUE(proto::is_error(message({7, 1, 3, 4, 2})));
	EXPECT_TRUE(proto::is_error(message({7, 1, 3, 4, 99})));
	EXPECT_TRUE(proto::is_error(message({7, 9, 3, 4})));
	EXPECT_TRUE(proto::is_error(message(vectors::v2::invalid_option_words)));
	EXPECT_FALSE(proto::is_error(message({7, 1, 3})));
	EXPECT_FALSE(proto::is_error(message({7, 1, 3, 0, 0, 0, 0, 4})));
}

TEST(ReverseRefusal, OfAnOption_IsNone)
{
	EXPECT_FALSE(refused({7, 2, 3, 4, 3}));
	EXPECT_FALSE(proto::refused_call(message(vectors::v2::invalid_option_words)));
}

TEST(ReverseRefusal, ThatCannotBeDecoded_IsNone)
{
	EXPECT_FALSE(refused({7, 1, 3, 4}));
	EXPECT_FALSE(refused({7, 1, 3, 4, 9}));
	EXPECT_FALSE(refused({7, 1, 3, 4, 1, 1}));
}

TEST(ReverseRefusal, IsNoOtherMessage)
{
	EXPECT_FALSE(refused({7, 1, 3}));
	EXPECT_FALSE(refused({7, 1, 3, 0, 0, 0, 0, 7, 1, 0, 0, 0, 0}));
	EXPECT_FALSE(refused({7, 1, 3, 0, 0, 0, 0, 7, 0, 2, 0, 0, 0}));
	EXPECT_FALSE(refused({7, 1, 3, 1, 1, 0, 9, 100, 0, 0, 0, 0, 0}));
	EXPECT_FALSE(refused({7, 2, 3, 0, 1, 0, 0, 0, 7, 1, 0, 0, 0, 0}));
	EXPECT_FALSE(refused({7, 2, 3, 5, 1, 9, 0}));
}

/// A responder, and a requester that makes use of all that it may: every Call that the grant allows is sent, every Call of the
/// reverse direction is answered at once. Receives are never more than asked for.
class Connection {
    public:
	Connection(std::uint32_t spare, std::uint32_t seed)
		: spare_(spare)
		, random_(seed)
	{
		grants_.requested(most);
		provide(grants_.in_force());
	}

	/// Whether so many steps go by without a message that finds no Receive.
	bool lasts(int steps)
	{
		while (steps-- > 0 && !is_short_)
			step();
		return !is_short_;
	}

    private:
	static constexpr std::uint32_t most = 32;
	static constexpr std::uint32_t window = 2;
	enum class Kind : std::uint8_t { call, reply };

	void step()
	{
		switch (random_() % 5) {
		case 0:
			if (calls_ < grants_.in_force()) {
				++calls_;
				arrives(Kind::call);
			}
			break;
		case 1:
			call_back();
			break;
		case 2:
			answer_call_back();
			break;
		case 3:
			look();
			break;
		case 4:
			answer();
			break;
		}
	}
	void arrives(Kind kind)
	{
		is_short_ |= unseen_.size() == posted_;
		unseen_.push_back(kind);
	}
	void call_back()
	{
		if (called_back_ < window) {
			++called_back_;
			++unanswered_;
		}
	}
	void answer_call_back()
	{
		if (unanswered_ != 0) {
			--unanswered_;
			arrives(Kind::reply);
		}
	}
	/// The completion of a Receive.
	void look()
	{
		if (unseen_.empty())
			return;
		const Kind kind = unseen_.front();
		unseen_.pop_front();
		--posted_;
		if (kind == Kind::call) {
			EXPECT_TRUE(grants_.arrived());
		} else {
			--called_back_;
			/* Before the Receives are seen to. */
			call_back();
			answer_call_back();
		}
		provide(grants_.in_force());
	}
	void answer()
	{
		if (grants_.outstanding() == 0)
			return;
		grants_.done();
		const std::uint32_t credits = grants_.next();
		provide(credits);
		grants_.announced(credits);
		--calls_;
	}
	void provide(std::uint32_t credits) { posted_ = std::max(posted_, grants_.receives_for(credits) + spare_); }

	const std::uint32_t spare_;
	std::mt19937 random_;
	proto::Grants grants_{most};
	/// Receives, those of messages that nobody has looked at among them.
	std::uint32_t posted_ = 0;
	std::deque<Kind> unseen_;
	/// Without a Reply: Calls; those of the reverse direction, as the responder knows and as the requester does.
	std::uint32_t calls_ = 0;
	std::uint32_t called_back_ = 0;
	std::uint32_t unanswered_ = 0;
	bool is_short_ = false;
};

/// Whether that is so for each of many orders of events.
bool receives_suffice(std::uint32_t spare)
{
	for (std::uint32_t seed = 0; seed < 200; ++seed) {
		if (!Connection(spare, seed).lasts(2000))
			return false;
	}
	return true;
}

TEST(ReverseReceives, AreThereForEveryReply)
{
	EXPECT_TRUE(receives_suffice(proto::receives_for_reverse_replies(2)));
}

TEST(ReverseReceives, OneFewer_IsTooFew)
{
	EXPECT_FALSE(receives_suffice(proto::receives_for_reverse_replies(2) - 1));
	EXPECT_FALSE(receives_suffice(1));
}

TEST(UnservedReply, SaysThatThereIsNoSuchProgram)
{
	const proto::UnservedReply reply = proto::unserved_reply(wire::Xid{7});
	const Exact expected = message({7, 1, 0, 0, 0, 1});
	EXPECT_TRUE(std::ranges::equal(reply, wire::Bytes(expected)));
	EXPECT_TRUE(proto::payload_is_reply(reply, wire::Xid{7}));
}

} // namespace
} // namespace rpcordma::unit
