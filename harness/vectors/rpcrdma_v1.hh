// SPDX-License-Identifier: GPL-2.0-only
/// Test vectors of RPC-over-RDMA version 1, written by hand from the specifications. The unit tests, the fuzzers' seeds
/// and the KUnit suites share this one copy: nothing but constants here, no test framework and no allocation.
///
/// Messages are tables of 32 bit words as they stand on the wire, in big-endian order there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "wire/chunk.hh"
#include "wire/private_data.hh"
#include "wire/result.hh"

namespace rpcordma::vectors {

using Words = std::span<const std::uint32_t>;
using wire::Handle;
using wire::Position;

/// What a chunk list vector holds, in the order of the wire.
struct Lists {
	std::span<const wire::ReadSegment> reads;
	std::span<const wire::SegmentArray> writes;
	std::optional<wire::SegmentArray> reply;
};

/// The three chunk lists of a message that has them.
struct ChunkVector {
	const char *name;
	const char *source;
	Words words;
	Lists lists;
};

inline constexpr wire::ReadSegment read_chunk_of_three[] = {
	{Position{140}, {Handle{0x11111111}, 0x1000, 0x0102030405060708}},
	{Position{140}, {Handle{0x22222222}, 0x2000, 0x1112131415161718}},
	{Position{140}, {Handle{0x33333333}, 0x0003, 0xfffffffffffffff0}},
};
inline constexpr wire::ReadSegment two_read_chunks[] = {
	{Position{0}, {Handle{0x11111111}, 0x1000, 0x0102030405060708}},
	{Position{140}, {Handle{0x22222222}, 0x2000, 0x1112131415161718}},
};
inline constexpr wire::Segment three_segments[] = {
	{Handle{0xaaaaaaaa}, 0x4000, 0x00000000a0000000},
	{Handle{0xbbbbbbbb}, 0x5000, 0x00000001b0000000},
	{Handle{0xcccccccc}, 0x6000, 0xf0000002c0000000},
};
inline constexpr wire::Segment two_segments[] = {
	{Handle{0xdddddddd}, 0x7000, 0x00000003d0000000},
	{Handle{0xeeeeeeee}, 0x0000, 0x00000004e0000000},
};
inline constexpr wire::SegmentArray one_write_chunk[] = {three_segments};
inline constexpr wire::SegmentArray two_write_chunks[] = {three_segments, two_segments};
inline constexpr wire::SegmentArray empty_write_chunk[] = {wire::SegmentArray{}};

// Three fields that contain zero.
inline constexpr std::uint32_t no_chunks_words[] = {0, 0, 0};

// 1 PHLOO 1 PHLOO 1 PHLOO 0, then no Write list and no Reply chunk.
inline constexpr std::uint32_t read_chunk_words[] = {
	1, 140, 0x11111111, 0x1000, 0x01020304, 0x05060708, //
	1, 140, 0x22222222, 0x2000, 0x11121314, 0x15161718, //
	1, 140, 0x33333333, 0x0003, 0xffffffff, 0xfffffff0, //
	0, 0,	0,
};

// The same list with two chunks: the Positions vary.
inline constexpr std::uint32_t two_read_chunks_words[] = {
	1, 0,	0x11111111, 0x1000, 0x01020304, 0x05060708, //
	1, 140, 0x22222222, 0x2000, 0x11121314, 0x15161718, //
	0, 0,	0,
};

// 3 HLOO HLOO HLOO, in a Write list.
inline constexpr std::uint32_t write_chunk_words[] = {
	0, //
	1,	    3, //
	0xaaaaaaaa, 0x4000, 0x00000000, 0xa0000000, //
	0xbbbbbbbb, 0x5000, 0x00000001, 0xb0000000, //
	0xcccccccc, 0x6000, 0xf0000002, 0xc0000000, //
	0, //
	0,
};

// 1 3 HLOO HLOO HLOO 1 2 HLOO HLOO 0.
inline constexpr std::uint32_t write_list_words[] = {
	0, //
	1,	    3, //
	0xaaaaaaaa, 0x4000, 0x00000000, 0xa0000000, //
	0xbbbbbbbb, 0x5000, 0x00000001, 0xb0000000, //
	0xcccccccc, 0x6000, 0xf0000002, 0xc0000000, //
	1,	    2, //
	0xdddddddd, 0x7000, 0x00000003, 0xd0000000, //
	0xeeeeeeee, 0x0000, 0x00000004, 0xe0000000, //
	0, //
	0,
};

// 1 2 HLOO HLOO.
inline constexpr std::uint32_t reply_chunk_words[] = {
	0, //
	0, //
	1,	    2, //
	0xdddddddd, 0x7000, 0x00000003, 0xd0000000, //
	0xeeeeeeee, 0x0000, 0x00000004, 0xe0000000, //
};

inline constexpr std::uint32_t all_lists_words[] = {
	1,	    140,    0x11111111, 0x1000,	    0x01020304, 0x05060708, //
	1,	    140,    0x22222222, 0x2000,	    0x11121314, 0x15161718, //
	1,	    140,    0x33333333, 0x0003,	    0xffffffff, 0xfffffff0, //
	0, //
	1,	    3, //
	0xaaaaaaaa, 0x4000, 0x00000000, 0xa0000000, //
	0xbbbbbbbb, 0x5000, 0x00000001, 0xb0000000, //
	0xcccccccc, 0x6000, 0xf0000002, 0xc0000000, //
	0, //
	1,	    2, //
	0xdddddddd, 0x7000, 0x00000003, 0xd0000000, //
	0xeeeeeeee, 0x0000, 0x00000004, 0xe0000000, //
};

inline constexpr std::uint32_t empty_chunks_words[] = {
	0, //
	1, 0, //
	0, //
	1, 0,
};

inline constexpr ChunkVector chunk_vectors[] = {
	{"NoChunks", "rfc5666bis-04, 5.7", no_chunks_words, {{}, {}, {}}},
	{"ReadChunkOfThree", "rfc5666bis-04, 5.7", read_chunk_words, {read_chunk_of_three, {}, {}}},
	{"TwoReadChunks", "rfc5666bis-04, 5.7", two_read_chunks_words, {two_read_chunks, {}, {}}},
	{"WriteChunkOfThree", "rfc5666bis-04, 5.7", write_chunk_words, {{}, one_write_chunk, {}}},
	{"WriteListOfTwo", "rfc5666bis-04, 5.7", write_list_words, {{}, two_write_chunks, {}}},
	{"ReplyChunkOfTwo", "rfc5666bis-04, 5.7", reply_chunk_words, {{}, {}, wire::SegmentArray(two_segments)}},
	{"AllLists",
	 "rfc5666bis-04, 5.3",
	 all_lists_words,
	 {read_chunk_of_three, one_write_chunk, wire::SegmentArray(two_segments)}},
	{"EmptyChunks", "RFC 8166, 3.4.6", empty_chunks_words, {{}, empty_write_chunk, wire::SegmentArray{}}},
};

/// What a whole message is.
enum class Kind : std::uint8_t { msg, nomsg, msgp, done, version_error, chunk_error };

/// A whole message of version 1 that can be decoded. Its XID is 0xfeedbeef and its credits are 32, but where the words
/// say otherwise.
struct MessageVector {
	const char *name;
	const char *source;
	Words words;
	Kind kind;
	/// The size of the Payload stream, in words.
	std::uint32_t payload;
};

inline constexpr std::uint32_t message_xid = 0xfeedbeef;
inline constexpr std::uint32_t message_credits = 32;

// A Call of a NULL procedure: XID, CALL, RPC version 2, program, version, procedure, AUTH_NONE twice.
inline constexpr std::uint32_t short_call_words[] = {
	0xfeedbeef, 1, 32, 0, //
	0,	    0, 0, //
	0xfeedbeef, 0, 2,  100003, 4, 0, 0, 0, 0, 0, //
};
// Its Reply: XID, REPLY, accepted, AUTH_NONE, success.
inline constexpr std::uint32_t short_reply_words[] = {
	0xfeedbeef, 1, 32, 0, //
	0,	    0, 0, //
	0xfeedbeef, 1, 0,  0, 0, 0, //
};
// The smallest Reply there is: XID, REPLY, denied, AUTH_ERROR, AUTH_BADCRED.
inline constexpr std::uint32_t denied_reply_words[] = {
	0xfeedbeef, 1, 32, 0, //
	0,	    0, 0, //
	0xfeedbeef, 1, 1,  1, 1, //
};
// A Reply with a Write chunk that holds 0x8123 bytes in two of its three segments.
inline constexpr std::uint32_t chunked_reply_words[] = {
	0xfeedbeef, 1,	    32,		0, //
	0,	    1,	    3, //
	0xaaaaaaaa, 0x4000, 0x00000000, 0xa0000000, //
	0xbbbbbbbb, 0x4123, 0x00000001, 0xb0000000, //
	0xcccccccc, 0x0000, 0xf0000002, 0xc0000000, //
	0,	    0, //
	0xfeedbeef, 1,	    0,		0,	    0, 0,
};
// A Long Call: a Position Zero Read chunk.
inline constexpr std::uint32_t long_call_words[] = {
	0xfeedbeef, 1, 32,	   1, //
	1,	    0, 0x11111111, 0x1000, 0x01020304, 0x05060708, 0, 0, 0, //
};
// A Long Reply: a Reply chunk with 0x3000 bytes.
inline constexpr std::uint32_t long_reply_words[] = {
	0xfeedbeef, 1,	    32,		1, //
	0,	    0,	    1,		2, //
	0xdddddddd, 0x3000, 0x00000003, 0xd0000000, //
	0xeeeeeeee, 0x0000, 0x00000004, 0xe0000000, //
};
inline constexpr std::uint32_t msgp_words[] = {
	0xfeedbeef, 1,	  32, 2, //
	512,	    4096, //
	0,	    0,	  0, //
	0xfeedbeef, 1,	  0,  0, 0, 0, //
};
inline constexpr std::uint32_t done_words[] = {0xfeedbeef, 1, 32, 3};
inline constexpr std::uint32_t version_error_words[] = {0xfeedbeef, 1, 32, 4, 1, 1, 2};
inline constexpr std::uint32_t chunk_error_words[] = {0xfeedbeef, 1, 32, 4, 2};

inline constexpr MessageVector message_vectors[] = {
	{"ShortCall", "RFC 8166, 3.5.1", short_call_words, Kind::msg, 10},
	{"ShortReply", "RFC 8166, 3.5.1", short_reply_words, Kind::msg, 6},
	{"DeniedReply", "RFC 5531, 9", denied_reply_words, Kind::msg, 5},
	{"ChunkedReply", "RFC 8166, 3.5.2", chunked_reply_words, Kind::msg, 6},
	{"LongCall", "RFC 8166, 3.5.3", long_call_words, Kind::nomsg, 0},
	{"LongReply", "RFC 8166, 3.5.3", long_reply_words, Kind::nomsg, 0},
	{"MsgP", "rfc5666bis-04, 5.6.1", msgp_words, Kind::msgp, 6},
	{"Done", "rfc5666bis-04, 5.6.2", done_words, Kind::done, 0},
	{"VersionError", "rfc5666bis-04, 5.5.1", version_error_words, Kind::version_error, 0},
	{"ChunkError", "rfc5666bis-04, 5.5.2", chunk_error_words, Kind::chunk_error, 0},
};

/// A whole message that cannot be decoded, and why.
struct MalformedVector {
	const char *name;
	const char *source;
	Words words;
	wire::Error error;
};

inline constexpr std::uint32_t empty_words[] = {0};
inline constexpr std::uint32_t three_fixed_fields_words[] = {0xfeedbeef, 1, 32};
inline constexpr std::uint32_t version_zero_words[] = {0xfeedbeef, 0, 32, 0, 0, 0, 0};
inline constexpr std::uint32_t version_three_words[] = {0xfeedbeef, 3, 32, 0, 0, 0, 0};
inline constexpr std::uint32_t version_three_error_words[] = {0xfeedbeef, 3, 32, 4, 2};
inline constexpr std::uint32_t version_three_error_without_code_words[] = {0xfeedbeef, 3, 32, 4};
inline constexpr std::uint32_t version_three_cut_error_words[] = {0xfeedbeef, 3, 32, 4, 1, 1};
inline constexpr std::uint32_t type_five_words[] = {0xfeedbeef, 1, 32, 5, 0, 0, 0};
inline constexpr std::uint32_t largest_type_words[] = {0xfeedbeef, 1, 32, 0xffffffff, 0, 0, 0};
inline constexpr std::uint32_t no_lists_words[] = {0xfeedbeef, 1, 32, 0};
inline constexpr std::uint32_t read_discriminator_words[] = {0xfeedbeef, 1, 32, 0, 2, 0, 0};
inline constexpr std::uint32_t write_discriminator_words[] = {0xfeedbeef, 1, 32, 0, 0, 0xffffffff, 0};
inline constexpr std::uint32_t reply_discriminator_words[] = {0xfeedbeef, 1, 32, 0, 0, 0, 3};
inline constexpr std::uint32_t endless_read_list_words[] = {
	0xfeedbeef, 1, 32,	   0, //
	1,	    4, 0x11111111, 1, 0, 0, //
	1,	    4, 0x11111111, 1, 0, 0,
};
inline constexpr std::uint32_t write_count_words[] = {
	0xfeedbeef, 1, 32, 0, //
	0,	    1, 2, //
	0xaaaaaaaa, 1, 0,  0, 0xbbbbbbbb, 1, 0,
};
inline constexpr std::uint32_t largest_write_count_words[] = {0xfeedbeef, 1, 32, 0, 0, 1, 0xffffffff, 0, 0, 0, 0, 0};
// Times 16, this count is zero in 32 bits.
inline constexpr std::uint32_t overflowing_write_count_words[] = {0xfeedbeef, 1, 32, 0, 0, 1, 0x10000000, 0, 0};
inline constexpr std::uint32_t reply_count_words[] = {0xfeedbeef, 1, 32, 1, 0, 0, 1, 0x80000000, 0, 0, 0, 0};
inline constexpr std::uint32_t error_code_zero_words[] = {0xfeedbeef, 1, 32, 4, 0, 1, 1};
inline constexpr std::uint32_t error_code_three_words[] = {0xfeedbeef, 1, 32, 4, 3, 1, 1};
inline constexpr std::uint32_t error_without_code_words[] = {0xfeedbeef, 1, 32, 4};
inline constexpr std::uint32_t version_error_without_range_words[] = {0xfeedbeef, 1, 32, 4, 1};

inline constexpr MalformedVector malformed_vectors[] = {
	{"OneWord", "rfc5666bis-04, 5.2", empty_words, wire::Error::truncated},
	{"ThreeFixedFields", "rfc5666bis-04, 5.2", three_fixed_fields_words, wire::Error::truncated},
	{"VersionZero", "rfc5666bis-04, 5.2.2", version_zero_words, wire::Error::unsupported_version},
	{"VersionThree", "rfc5666bis-04, 5.2.2", version_three_words, wire::Error::unsupported_version},
	{"VersionThreeChunkError", "rfc5666bis-04, 5.1.3", version_three_error_words, wire::Error::unsupported_version},
	{"VersionThreeErrorWithoutCode", "rfc5666bis-04, 5.1.3", version_three_error_without_code_words,
	 wire::Error::truncated},
	{"VersionThreeCutVersionError", "rfc5666bis-04, 5.1.3", version_three_cut_error_words, wire::Error::truncated},
	{"TypeFive", "rfc5666bis-04, 5.1.4", type_five_words, wire::Error::unknown_type},
	{"LargestType", "rfc5666bis-04, 5.1.4", largest_type_words, wire::Error::unknown_type},
	{"NoLists", "rfc5666bis-04, 5.3", no_lists_words, wire::Error::truncated},
	{"ReadDiscriminatorTwo", "RFC 4506, 4.19", read_discriminator_words, wire::Error::bad_discriminator},
	{"WriteDiscriminatorLargest", "RFC 4506, 4.19", write_discriminator_words, wire::Error::bad_discriminator},
	{"ReplyDiscriminatorThree", "RFC 4506, 4.19", reply_discriminator_words, wire::Error::bad_discriminator},
	{"EndlessReadList", "RFC 4506, 4.19", endless_read_list_words, wire::Error::truncated},
	{"WriteCountBeyondMessage", "RFC 4506, 4.13", write_count_words, wire::Error::bad_count},
	{"LargestWriteCount", "RFC 4506, 4.13", largest_write_count_words, wire::Error::bad_count},
	{"OverflowingWriteCount", "RFC 4506, 4.13", overflowing_write_count_words, wire::Error::bad_count},
	{"HugeReplyCount", "RFC 4506, 4.13", reply_count_words, wire::Error::bad_count},
	{"ErrorCodeZero", "rfc5666bis-04, 5.1.3", error_code_zero_words, wire::Error::unknown_error_code},
	{"ErrorCodeThree", "rfc5666bis-04, 5.1.3", error_code_three_words, wire::Error::unknown_error_code},
	{"ErrorWithoutCode", "rfc5666bis-04, 5.1.3", error_without_code_words, wire::Error::truncated},
	{"VersionErrorWithoutRange", "rfc5666bis-04, 5.1.3", version_error_without_range_words, wire::Error::truncated},
};

/// Private data as the CM delivers it, and what it says.
struct PrivateDataVector {
	const char *name;
	const char *source;
	std::span<const std::uint8_t> bytes;
	wire::PrivateData said;
};

inline constexpr std::uint8_t smallest_private_data[] = {0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 0};
inline constexpr std::uint8_t largest_private_data[] = {0xf6, 0xab, 0x0e, 0x18, 1, 1, 255, 255};
inline constexpr std::uint8_t usual_private_data[] = {0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7};
inline constexpr std::uint8_t reserved_bits_set[] = {0xf6, 0xab, 0x0e, 0x18, 1, 0xfe, 3, 7};
inline constexpr std::uint8_t all_flags_set[] = {0xf6, 0xab, 0x0e, 0x18, 1, 0xff, 3, 7};
inline constexpr std::uint8_t behind_mpa[] = {0x40, 0x10, 0x80, 0x10, 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7};
inline constexpr std::uint8_t at_odd_offset[] = {9, 9, 9, 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7, 0, 0};
inline constexpr std::uint8_t behind_false_start[] = {0xf6, 0xab, 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7};
inline constexpr std::uint8_t behind_other_version[] = {0xf6, 0xab, 0x0e, 0x18, 2, 0, 9, 9,
							0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7};
inline constexpr std::uint8_t first_of_two[] = {0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7, 0xf6, 0xab, 0x0e, 0x18, 1, 0, 9, 9};
inline constexpr std::uint8_t other_version[] = {0xf6, 0xab, 0x0e, 0x18, 2, 1, 3, 7};
inline constexpr std::uint8_t version_zero[] = {0xf6, 0xab, 0x0e, 0x18, 0, 1, 3, 7};
inline constexpr std::uint8_t other_magic[] = {0xf6, 0xab, 0x0e, 0x19, 1, 1, 3, 7};
inline constexpr std::uint8_t cut_private_data[] = {0xf6, 0xab, 0x0e, 0x18, 1, 1, 3};
inline constexpr std::uint8_t cut_behind_padding[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3};

inline constexpr wire::PrivateData usual_sizes = {4096, 8192, true};

inline constexpr PrivateDataVector private_data_vectors[] = {
	{"SmallestSizes", "RFC 8797, 4.2", smallest_private_data, {1024, 1024, false}},
	{"LargestSizes", "RFC 8797, 4.2", largest_private_data, {262144, 262144, true}},
	{"Usual", "RFC 8797, 4", usual_private_data, usual_sizes},
	{"ReservedBitsAreIgnored", "RFC 8797, 4", reserved_bits_set, {4096, 8192, false}},
	{"AllFlags", "RFC 8797, 4", all_flags_set, usual_sizes},
	{"BehindMpa", "RFC 8797, 5.2", behind_mpa, usual_sizes},
	{"AtOddOffset", "RFC 8797, 5.2", at_odd_offset, usual_sizes},
	{"BehindFalseStart", "RFC 8797, 5.2", behind_false_start, usual_sizes},
	{"BehindOtherVersion", "RFC 8797, 5.2", behind_other_version, usual_sizes},
	{"FirstOfTwo", "RFC 8797, 5.2", first_of_two, usual_sizes},
	{"Absent", "RFC 8797, 5.1", {}, {}},
	{"OtherVersion", "RFC 8797, 5.2", other_version, {}},
	{"VersionZero", "RFC 8797, 5.2", version_zero, {}},
	{"OtherMagic", "RFC 8797, 5.2", other_magic, {}},
	{"Cut", "RFC 8797, 5.2", cut_private_data, {}},
	{"CutBehindPadding", "RFC 8797, 5.2", cut_behind_padding, {}},
};

} // namespace rpcordma::vectors
