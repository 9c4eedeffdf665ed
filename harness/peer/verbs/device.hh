// SPDX-License-Identifier: GPL-2.0-only
//
// What a device gives (libibverbs), as verbs.cc uses it: owners that release it.

#pragma once

#include <cstdlib>
#include <memory>
#include <span>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "verbs/verbs.hh"

namespace peer::device {

template <auto release> struct Releaser {
	void operator()(auto *object) const noexcept { release(object); }
};

using ProtectionDomain = std::unique_ptr<ibv_pd, Releaser<ibv_dealloc_pd>>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, Releaser<ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, Releaser<ibv_destroy_cq>>;
using Registration = std::unique_ptr<ibv_mr, Releaser<ibv_dereg_mr>>;
/// A window's function is an inline one, and cannot be a template's argument in more than one file.
struct WindowReleaser {
	void operator()(ibv_mw *window) const noexcept { ibv_dealloc_mw(window); }
};
using Window = std::unique_ptr<ibv_mw, WindowReleaser>;
/// A queue pair is reached by its identifier, which outlives it.
using QueuePair = std::unique_ptr<rdma_cm_id, Releaser<rdma_destroy_qp>>;

[[nodiscard]] ProtectionDomain make_domain(ibv_context *device);
/// Its file descriptor does not block.
[[nodiscard]] CompletionChannel make_completion_channel(ibv_context *device);
[[nodiscard]] CompletionQueue make_completion_queue(ibv_context *device, ibv_comp_channel *channel, unsigned length);
/// Of type 2, and not bound.
[[nodiscard]] Window make_window(ibv_pd *domain);

/// What the system calls the device, and what drives it.
[[nodiscard]] DeviceInfo describe(const ibv_context &device, const ibv_device_attr &limits);

/// What the device can do.
[[nodiscard]] ibv_device_attr limits_of(ibv_context *device);
/// The flags, one of which a Receive's completion has where a handle was invalidated.
[[nodiscard]] unsigned invalidation_flags(const ibv_device_attr &limits) noexcept;

/// Zeroed pages that are registered.
class Region {
    public:
	Region(ibv_pd *domain, std::size_t size, int access);

	[[nodiscard]] std::span<std::uint8_t> bytes() const noexcept { return {pages_.get(), size_}; }

	[[nodiscard]] ibv_mr *registration() const noexcept { return registration_.get(); }

	/// A part of it, for a work request.
	[[nodiscard]] ibv_sge element(std::size_t offset, std::size_t length) const noexcept;

    private:
	using Pages = std::unique_ptr<std::uint8_t[], Releaser<std::free>>;

	static Pages allocate(std::size_t size);

	std::size_t size_;
	Pages pages_;
	Registration registration_;
};

} // namespace peer::device
