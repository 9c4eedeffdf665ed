// SPDX-License-Identifier: GPL-2.0-only
/// How often which of some things has happened, for things that happen seldom.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernel/atomic.hh"

namespace rpcordma::kernel {

/// Counts by name. Names are constants; those that find no place any more are counted together. Any context, also several at a
/// time. Where a count is seen, so is its name; otherwise ordered against nothing.
template <std::size_t Size> class Tally {
    public:
	void count(const char *name) noexcept
	{
		for (Entry &entry : entries_) {
			if (entry.is_of(name))
				return entry.count.add(1);
		}
		others_.add(1);
	}

	/// Calls `visit(name, count)` for each name that has been counted, and with "others" for those without a place.
	template <typename Visitor> void for_each(Visitor visit) const noexcept
	{
		for (const Entry &entry : entries_) {
			/* Whoever has counted had seen the name before. */
			if (const std::uint64_t count = entry.count.load_acquire())
				visit(entry.name.read(), count);
		}
		if (const std::uint64_t count = others_.read())
			visit("others", count);
	}

    private:
	struct Entry {
		/// Takes the place for the name where it is nobody's.
		[[nodiscard]] bool is_of(const char *wanted) noexcept
		{
			if (!name.read() && name.cmpxchg(nullptr, wanted))
				return true;
			return std::string_view(name.read()) == wanted;
		}

		Atomic<const char *> name{nullptr};
		Atomic<std::uint64_t> count{0};
	};

	std::array<Entry, Size> entries_{};
	Atomic<std::uint64_t> others_{0};
};

} // namespace rpcordma::kernel
