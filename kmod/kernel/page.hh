// SPDX-License-Identifier: GPL-2.0-only
/// The size of the kernel's pages: 4 KiB on x86-64; 4, 16 or 64 KiB on arm64, by how the kernel was built. Needs nothing else of
/// the kernel: unit tests choose one of these sizes.
#pragma once

#include <cstdint>

#ifdef __KERNEL__
#include <kernel/layout.h>
#elif !defined(RPCORDMA_PAGE_SIZE)
#define RPCORDMA_PAGE_SIZE 4096
#endif

namespace rpcordma::kernel {

/// In bytes.
inline constexpr std::uint32_t page_size = RPCORDMA_PAGE_SIZE;

} // namespace rpcordma::kernel
