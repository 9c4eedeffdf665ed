// SPDX-License-Identifier: GPL-2.0-only
//
/// The attributes of NFS version 4.1 (RFC 8881, section 5).
#pragma once

#include <array>
#include <initializer_list>

#include "service/programs.hh"

namespace peer {

enum Attribute : unsigned {
	SUPPORTED_ATTRS = 0,
	TYPE = 1,
	FH_EXPIRE_TYPE = 2,
	CHANGE = 3,
	SIZE = 4,
	LINK_SUPPORT = 5,
	SYMLINK_SUPPORT = 6,
	NAMED_ATTR = 7,
	FSID = 8,
	UNIQUE_HANDLES = 9,
	LEASE_TIME = 10,
	RDATTR_ERROR = 11,
	ACL = 12,
	ACLSUPPORT = 13,
	CANSETTIME = 15,
	CASE_INSENSITIVE = 16,
	CASE_PRESERVING = 17,
	CHOWN_RESTRICTED = 18,
	FILEHANDLE = 19,
	FILEID = 20,
	FILES_AVAIL = 21,
	FILES_FREE = 22,
	FILES_TOTAL = 23,
	HOMOGENEOUS = 26,
	MAXFILESIZE = 27,
	MAXLINK = 28,
	MAXNAME = 29,
	MAXREAD = 30,
	MAXWRITE = 31,
	MODE = 33,
	NO_TRUNC = 34,
	NUMLINKS = 35,
	OWNER = 36,
	OWNER_GROUP = 37,
	RAWDEV = 41,
	SPACE_AVAIL = 42,
	SPACE_FREE = 43,
	SPACE_TOTAL = 44,
	SPACE_USED = 45,
	TIME_ACCESS = 47,
	TIME_ACCESS_SET = 48,
	TIME_DELTA = 51,
	TIME_METADATA = 52,
	TIME_MODIFY = 53,
	TIME_MODIFY_SET = 54,
	MOUNTED_ON_FILEID = 55,
	SUPPATTR_EXCLCREAT = 75,
};

// A set of attributes, as it is on the wire: bit n % 32 of word n / 32.
class Bitmap {
    public:
	constexpr Bitmap() = default;
	constexpr Bitmap(std::initializer_list<Attribute> attributes)
	{
		for (const Attribute attribute : attributes)
			set(attribute);
	}

	constexpr void set(unsigned attribute) { words_.at(attribute / 32) |= 1U << attribute % 32; }

	[[nodiscard]] constexpr bool has(unsigned attribute) const
	{
		return words_.at(attribute / 32) & 1U << attribute % 32;
	}

	[[nodiscard]] constexpr Bitmap operator&(const Bitmap &other) const
	{
		Bitmap both;
		for (std::size_t i = 0; i < WORDS; i++)
			both.words_.at(i) = words_.at(i) & other.words_.at(i);
		return both;
	}

	[[nodiscard]] constexpr bool operator==(const Bitmap &) const = default;

	// Attributes beyond those that have a place here are none that anybody knows.
	static Bitmap read(XdrReader &xdr)
	{
		Bitmap bitmap;
		const std::uint32_t words = xdr.u32("the length of a bitmap");
		for (std::uint32_t i = 0; i < words; i++) {
			const std::uint32_t word = xdr.u32("a bitmap");
			if (i < WORDS)
				bitmap.words_.at(i) = word;
			else
				bitmap.unknown_ = bitmap.unknown_ || word != 0;
		}
		return bitmap;
	}

	void write(XdrWriter &xdr) const
	{
		std::size_t used = WORDS;
		while (used > 0 && words_.at(used - 1) == 0)
			used--;
		xdr.u32(static_cast<std::uint32_t>(used));
		for (std::size_t i = 0; i < used; i++)
			xdr.u32(words_.at(i));
	}

	[[nodiscard]] bool unknown() const noexcept { return unknown_; }

	static constexpr unsigned ATTRIBUTES = 96;

    private:
	static constexpr std::size_t WORDS = ATTRIBUTES / 32;
	std::array<std::uint32_t, WORDS> words_{};
	bool unknown_ = false;
};

inline constexpr Bitmap SETTABLE = {SIZE, ACL, MODE, OWNER, OWNER_GROUP, TIME_ACCESS_SET, TIME_MODIFY_SET};
// clang-format off
inline constexpr Bitmap READABLE = {
	SUPPORTED_ATTRS, TYPE, FH_EXPIRE_TYPE, CHANGE, SIZE, LINK_SUPPORT, SYMLINK_SUPPORT, NAMED_ATTR, FSID,
	UNIQUE_HANDLES, LEASE_TIME, RDATTR_ERROR, ACL, ACLSUPPORT, CANSETTIME, CASE_INSENSITIVE, CASE_PRESERVING,
	CHOWN_RESTRICTED, FILEHANDLE, FILEID, FILES_AVAIL, FILES_FREE, FILES_TOTAL, HOMOGENEOUS, MAXFILESIZE, MAXLINK, MAXNAME, MAXREAD,
	MAXWRITE, MODE, NO_TRUNC, NUMLINKS, OWNER, OWNER_GROUP, RAWDEV, SPACE_AVAIL, SPACE_FREE, SPACE_TOTAL,
	SPACE_USED, TIME_ACCESS, TIME_DELTA, TIME_METADATA, TIME_MODIFY, MOUNTED_ON_FILEID, SUPPATTR_EXCLCREAT,
};
// clang-format on

constexpr Bitmap supported()
{
	Bitmap all = READABLE;
	for (const Attribute attribute : {TIME_ACCESS_SET, TIME_MODIFY_SET})
		all.set(attribute);
	return all;
}

// What a client sets: which attributes, and their values.
struct Setting {
	Bitmap which;
	Files::Attributes values;
};

/// Reads a fattr4. Throws Failure where an attribute cannot be set.
[[nodiscard]] Setting read_fattr(XdrReader &xdr);

} // namespace peer
