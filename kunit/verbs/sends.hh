/* SPDX-License-Identifier: GPL-2.0-only */
/* A send queue on the fake device, for tests of it and of what goes through it. */
#pragma once

#include <algorithm>

#include "kunit/verbs/fake.hh"
#include "kunit/verbs/queue_user.hh"
#include "verbs/send_queue.hh"

namespace rpcordma::kunit {

/* The queue, and what it says. Ends drained. */
class Sends final : public QueueUser {
    public:
	/* Of the largest message, where nothing else is said. */
	static constexpr u32 size = 1000;

	Sends(Fake &fake, u32 depth, u32 largest = size)
		: fake_(fake)
		, queue_(fake.device(), rpcordma_fake_lkey(), largest, depth, *this)
	{
		queue_.attach(fake.qp());
	}
	~Sends() { drain(); }
	verbs::SendQueue *operator->() { return &queue_; }
	verbs::SendQueue &operator*() { return queue_; }
	void room() noexcept override { rooms++; }
	void failed(const char *, const char *how) noexcept override
	{
		failures++;
		last_failure = how;
	}
	/* Sends a message by itself; false where there is no room for it. */
	bool send(const std::vector<std::byte> &message, const verbs::SendQueue::SendOptions &options = {})
	{
		verbs::SendBuffer *const buffer = queue_.begin(1, kernel::GFP_KERNEL);
		if (!buffer)
			return false;
		std::copy(message.begin(), message.end(), buffer->bytes().begin());
		return queue_.post(*buffer, static_cast<u32>(message.size()), {}, options);
	}
	/* Posts requests, has them executed and hears of it. */
	void run(verbs::Chain chain)
	{
		verbs::Signal done([](verbs::Signal &) noexcept {});
		run(chain, done);
	}
	void run(verbs::Chain chain, verbs::Signal &done)
	{
		ASSERT_TRUE(queue_.reserve(chain.count));
		ASSERT_TRUE(queue_.post(chain, done));
		fake_.run();
	}
	/* Ends the connection: what is posted comes back, and nothing more can be. */
	void drain()
	{
		queue_.stop();
		fake_.drain();
	}

	u32 rooms = 0;
	u32 failures = 0;
	const char *last_failure = nullptr;

    private:
	Fake &fake_;
	verbs::SendQueue queue_;
};

} // namespace rpcordma::kunit
