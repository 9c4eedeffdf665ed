// SPDX-License-Identifier: GPL-2.0-only

#include "verbs/device.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <string>

#include "verbs/cm.hh"

namespace peer::device {

namespace {

constexpr std::size_t PAGE = 4096;
constexpr std::uint32_t SOFT_ROCE_VENDOR = 0xffffff;
constexpr std::uint32_t SOFT_IWARP_VENDOR = 0x626d74;

// A device in software has no bus, which would name its driver.
std::string driver_of(const ibv_device &device, const ibv_device_attr &limits)
{
	std::error_code none;
	const std::filesystem::path link = std::filesystem::path(device.ibdev_path) / "device/driver";
	const std::filesystem::path driver = std::filesystem::read_symlink(link, none);
	if (!none)
		return driver.filename();
	return limits.vendor_id == SOFT_ROCE_VENDOR ? "rdma_rxe" : limits.vendor_id == SOFT_IWARP_VENDOR ? "siw" : "";
}

} // namespace

DeviceInfo describe(const ibv_context &device, const ibv_device_attr &limits)
{
	return {.name = device.device->name,
		.driver = driver_of(*device.device, limits),
		.firmware = limits.fw_ver,
		.transport = device.device->transport_type == IBV_TRANSPORT_IWARP ? "iWARP" :
			     device.device->transport_type == IBV_TRANSPORT_IB	  ? "InfiniBand" :
										    ""};
}

ProtectionDomain make_domain(ibv_context *device)
{
	ProtectionDomain domain(ibv_alloc_pd(device));
	if (!domain)
		throw cm::error("the device has no protection domain to give", errno);
	return domain;
}

CompletionChannel make_completion_channel(ibv_context *device)
{
	CompletionChannel channel(ibv_create_comp_channel(device));
	if (!channel)
		throw cm::error("the device has no completion channel to give", errno);
	if (fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK) != 0)
		throw cm::error("a completion channel cannot be made non-blocking", errno);
	return channel;
}

CompletionQueue make_completion_queue(ibv_context *device, ibv_comp_channel *channel, unsigned length)
{
	CompletionQueue queue(ibv_create_cq(device, static_cast<int>(length), nullptr, channel, 0));
	if (!queue)
		throw cm::error("the device has no completion queue for " + std::to_string(length) + " entries", errno);
	return queue;
}

Window make_window(ibv_pd *domain)
{
	Window window(ibv_alloc_mw(domain, IBV_MW_TYPE_2));
	if (!window)
		throw cm::error("the device has no memory window of type 2 to give", errno);
	return window;
}

ibv_device_attr limits_of(ibv_context *device)
{
	ibv_device_attr limits{};
	if (const int number = ibv_query_device(device, &limits))
		throw cm::error("the device does not say what it can do", number);
	return limits;
}

// Soft-RoCE hands out the kernel's flags as they are, in which the bit is one that elsewhere says that a checksum is
// right.
unsigned invalidation_flags(const ibv_device_attr &limits) noexcept
{
	constexpr unsigned KERNEL_WC_WITH_INVALIDATE = 1 << 2;
	return IBV_WC_WITH_INV | (limits.vendor_id == SOFT_ROCE_VENDOR ? KERNEL_WC_WITH_INVALIDATE : 0);
}

Region::Region(ibv_pd *domain, std::size_t size, int access)
	: size_(size)
	, pages_(allocate(size))
	, registration_(ibv_reg_mr(domain, pages_.get(), std::max<std::size_t>(size, 1), access))
{
	if (!registration_)
		throw cm::error(std::to_string(size) + " bytes of memory cannot be registered", errno);
}

Region::Pages Region::allocate(std::size_t size)
{
	const std::size_t whole = (std::max<std::size_t>(size, 1) + PAGE - 1) / PAGE * PAGE;
	Pages pages(static_cast<std::uint8_t *>(std::aligned_alloc(PAGE, whole)));
	if (!pages)
		throw std::bad_alloc();
	std::memset(pages.get(), 0, whole);
	return pages;
}

ibv_sge Region::element(std::size_t offset, std::size_t length) const noexcept
{
	return {.addr = reinterpret_cast<std::uintptr_t>(pages_.get() + offset),
		.length = static_cast<std::uint32_t>(length),
		.lkey = registration_->lkey};
}

} // namespace peer::device
