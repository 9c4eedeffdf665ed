// SPDX-License-Identifier: GPL-2.0-only
/// Test vectors of RPC-over-RDMA version 2, written by hand from the XDR of draft-cel-nfsv4-rpcrdma-version-two-01, 4.2. Chunks are
/// those of rpcrdma_v1.hh, and all of it is used in the same way.
#pragma once

#include "harness/vectors/rpcrdma_v1.hh"

namespace rpcordma::vectors::v2 {

/// What a whole message is.
enum class Kind : std::uint8_t { msg, nomsg, version_error, bad_header, invalid_option, optional };

/// What an optional message holds beside its direction.
struct OptionalVector {
	std::uint32_t type;
	std::span<const std::uint8_t> info;
};

/// A whole message of version 2 that can be decoded. Its XID is 0xfeedbeef and its credits are 32.
struct MessageVector {
	const char *name;
	const char *source;
	Words words;
	Kind kind;
	/// The size of the Payload stream, in words.
	std::uint32_t payload;
	/// An error has none.
	std::optional<std::uint32_t> direction;
	Lists lists;
	OptionalVector optional;
};

inline constexpr std::uint32_t call = 0;
inline constexpr std::uint32_t reply = 1;

// A Call of a NULL procedure: XID, CALL, RPC version 2, program, version, procedure, AUTH_NONE twice.
inline constexpr std::uint32_t short_call_words[] = {
	0xfeedbeef, 2, 32, 0, //
	0, // CALL
	0,	    0, 0, //
	0xfeedbeef, 0, 2,  100003, 4, 0, 0, 0, 0, 0, //
};
// Its Reply: XID, REPLY, accepted, AUTH_NONE, success.
inline constexpr std::uint32_t short_reply_words[] = {
	0xfeedbeef, 2, 32, 0, //
	1, // REPLY
	0,	    0, 0, //
	0xfeedbeef, 1, 0,  0, 0, 0, //
};
inline constexpr std::uint32_t call_with_all_lists_words[] = {
	0xfeedbeef, 2,	    32,		0, //
	0, // CALL
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
	0xfeedbeef, 0,	    2,		100003,	    3,		7,	    0, 0, 0, 0,
};
// The Write chunk comes back with 0x8123 bytes in two of its three segments.
inline constexpr wire::Segment written_segments[] = {
	{Handle{0xaaaaaaaa}, 0x4000, 0x00000000a0000000},
	{Handle{0xbbbbbbbb}, 0x4123, 0x00000001b0000000},
	{Handle{0xcccccccc}, 0x0000, 0xf0000002c0000000},
};
inline constexpr wire::SegmentArray written_chunk[] = {written_segments};
inline constexpr std::uint32_t chunked_reply_words[] = {
	0xfeedbeef, 2,	    32,		0, //
	1, // REPLY
	0,	    1,	    3, //
	0xaaaaaaaa, 0x4000, 0x00000000, 0xa0000000, //
	0xbbbbbbbb, 0x4123, 0x00000001, 0xb0000000, //
	0xcccccccc, 0x0000, 0xf0000002, 0xc0000000, //
	0,	    0, //
	0xfeedbeef, 1,	    0,		0,	    0, 0,
};
// A Long Call: a Position Zero Read chunk.
inline constexpr wire::ReadSegment position_zero_segment[] = {
	{Position{0}, {Handle{0x11111111}, 0x1000, 0x0102030405060708}},
};
inline constexpr std::uint32_t long_call_words[] = {
	0xfeedbeef, 2, 32,	   1, //
	0, // CALL
	1,	    0, 0x11111111, 0x1000, 0x01020304, 0x05060708, 0, 0, 0, //
};
inline constexpr std::uint32_t long_call_with_all_lists_words[] = {
	0xfeedbeef, 2,	    32,		1, //
	0, // CALL
	1,	    0,	    0x11111111, 0x1000,	    0x01020304, 0x05060708, //
	1,	    140,    0x22222222, 0x2000,	    0x11121314, 0x15161718, //
	0, //
	1,	    3, //
	0xaaaaaaaa, 0x4000, 0x00000000, 0xa0000000, //
	0xbbbbbbbb, 0x5000, 0x00000001, 0xb0000000, //
	0xcccccccc, 0x6000, 0xf0000002, 0xc0000000, //
	1,	    2, //
	0xdddddddd, 0x7000, 0x00000003, 0xd0000000, //
	0xeeeeeeee, 0x0000, 0x00000004, 0xe0000000, //
	0, //
	1,	    2, //
	0xdddddddd, 0x7000, 0x00000003, 0xd0000000, //
	0xeeeeeeee, 0x0000, 0x00000004, 0xe0000000, //
};
// A Long Reply: a Reply chunk with 0x3000 bytes.
inline constexpr wire::Segment filled_segments[] = {
	{Handle{0xdddddddd}, 0x3000, 0x00000003d0000000},
	{Handle{0xeeeeeeee}, 0x0000, 0x00000004e0000000},
};
inline constexpr std::uint32_t long_reply_words[] = {
	0xfeedbeef, 2,	    32,		1, //
	1, // REPLY
	0,	    0,	    1,		2, //
	0xdddddddd, 0x3000, 0x00000003, 0xd0000000, //
	0xeeeeeeee, 0x0000, 0x00000004, 0xe0000000, //
};

// No direction stands in an error.
inline constexpr std::uint32_t version_error_words[] = {0xfeedbeef, 2, 32, 4, 1, 1, 2};
inline constexpr std::uint32_t bad_header_words[] = {0xfeedbeef, 2, 32, 4, 2};
inline constexpr std::uint32_t invalid_option_words[] = {0xfeedbeef, 2, 32, 4, 3};

// Direction, type of the option, size of the information, the information and its padding, a payload.
inline constexpr std::uint32_t bare_optional_words[] = {0xfeedbeef, 2, 32, 5, 0, 0x0badcafe, 0};
inline constexpr std::uint32_t bare_optional_reply_words[] = {0xfeedbeef, 2, 32, 5, 1, 0xffffffff, 0};
inline constexpr std::uint32_t optional_with_payload_words[] = {
	0xfeedbeef, 2, 32, 5, 0, 7, 0, //
	0xfeedbeef, 0, 2,
};
inline constexpr std::uint8_t five_bytes[] = {0x11, 0x12, 0x13, 0x14, 0x21};
inline constexpr std::uint32_t optional_with_info_words[] = {
	0xfeedbeef, 2, 32, 5, 1, 7, 5, 0x11121314, 0x21000000,
};
inline constexpr std::uint8_t six_bytes[] = {0x11, 0x12, 0x13, 0x14, 0x21, 0x22};
inline constexpr std::uint32_t optional_with_info_and_payload_words[] = {
	0xfeedbeef, 2, 32, 5, 0, 7, 6, 0x11121314, 0x21220000, //
	0xfeedbeef, 0, 2,
};
inline constexpr std::uint8_t eight_bytes[] = {0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24};
inline constexpr std::uint32_t optional_with_whole_words_words[] = {
	0xfeedbeef, 2, 32, 5, 1, 7, 8, 0x11121314, 0x21222324, //
	0xfeedbeef,
};
// One byte of information, and padding that is not zero.
inline constexpr std::uint8_t one_byte[] = {0x11};
inline constexpr std::uint32_t optional_with_padding_set_words[] = {
	0xfeedbeef, 2, 32, 5, 1, 7, 1, 0x11ffffff,
};

inline constexpr MessageVector message_vectors[] = {
	{"ShortCall", "4.2.1", short_call_words, Kind::msg, 10, call, {}, {}},
	{"ShortReply", "4.2.1", short_reply_words, Kind::msg, 6, reply, {}, {}},
	{"CallWithAllLists",
	 "4.2",
	 call_with_all_lists_words,
	 Kind::msg,
	 10,
	 call,
	 {read_chunk_of_three, one_write_chunk, wire::SegmentArray(two_segments)},
	 {}},
	{"ChunkedReply", "4.2", chunked_reply_words, Kind::msg, 6, reply, {{}, written_chunk, {}}, {}},
	{"LongCall", "4.2", long_call_words, Kind::nomsg, 0, call, {position_zero_segment, {}, {}}, {}},
	{"LongCallWithAllLists",
	 "4.2",
	 long_call_with_all_lists_words,
	 Kind::nomsg,
	 0,
	 call,
	 {two_read_chunks, two_write_chunks, wire::SegmentArray(two_segments)},
	 {}},
	{"LongReply", "4.2", long_reply_words, Kind::nomsg, 0, reply, {{}, {}, wire::SegmentArray(filled_segments)}, {}},
	{"VersionError", "4.2", version_error_words, Kind::version_error, 0, {}, {}, {}},
	{"BadHeader", "4.2", bad_header_words, Kind::bad_header, 0, {}, {}, {}},
	{"InvalidOption", "3.1", invalid_option_words, Kind::invalid_option, 0, {}, {}, {}},
	{"BareOptional", "4.2.2", bare_optional_words, Kind::optional, 0, call, {}, {0x0badcafe, {}}},
	{"BareOptionalReply", "4.2.2", bare_optional_reply_words, Kind::optional, 0, reply, {}, {0xffffffff, {}}},
	{"OptionalWithPayload", "4.2.1", optional_with_payload_words, Kind::optional, 3, call, {}, {7, {}}},
	{"OptionalWithInfo", "4.2", optional_with_info_words, Kind::optional, 0, reply, {}, {7, five_bytes}},
	{"OptionalWithInfoAndPayload",
	 "4.2.1",
	 optional_with_info_and_payload_words,
	 Kind::optional,
	 3,
	 call,
	 {},
	 {7, six_bytes}},
	{"OptionalWithWholeWords",
	 "RFC 4506, 4.10",
	 optional_with_whole_words_words,
	 Kind::optional,
	 1,
	 reply,
	 {},
	 {7, eight_bytes}},
	{"OptionalWithPaddingSet",
	 "RFC 4506, 4.10",
	 optional_with_padding_set_words,
	 Kind::optional,
	 0,
	 reply,
	 {},
	 {7, one_byte}},
};

/// A whole message that cannot be decoded, and why.
struct MalformedVector {
	const char *name;
	const char *source;
	Words words;
	wire::Error error;
	/// So many bytes are cut off at the end.
	std::uint32_t cut = 0;
};

inline constexpr std::uint32_t direction_two_words[] = {0xfeedbeef, 2, 32, 0, 2, 0, 0, 0, 0xfeedbeef, 0};
inline constexpr std::uint32_t largest_direction_words[] = {0xfeedbeef, 2, 32, 0, 0xffffffff, 0, 0, 0, 0xfeedbeef, 1};
inline constexpr std::uint32_t direction_two_of_nomsg_words[] = {0xfeedbeef, 2, 32, 1, 2, 0, 0, 0};
inline constexpr std::uint32_t largest_direction_of_nomsg_words[] = {0xfeedbeef, 2, 32, 1, 0xffffffff, 0, 0, 0};
inline constexpr std::uint32_t direction_two_of_optional_words[] = {0xfeedbeef, 2, 32, 5, 2, 7, 0};
inline constexpr std::uint32_t largest_direction_of_optional_words[] = {0xfeedbeef, 2, 32, 5, 0xffffffff, 7, 0};
// The header types 2 and 3 of version 1 do not exist.
inline constexpr std::uint32_t type_two_words[] = {0xfeedbeef, 2, 32, 2, 512, 4096, 0, 0, 0};
inline constexpr std::uint32_t type_three_words[] = {0xfeedbeef, 2, 32, 3, 0, 0, 0};
inline constexpr std::uint32_t type_six_words[] = {0xfeedbeef, 2, 32, 6, 0, 0, 0, 0};
inline constexpr std::uint32_t largest_type_words[] = {0xfeedbeef, 2, 32, 0xffffffff, 0, 0, 0, 0};
inline constexpr std::uint32_t error_code_zero_words[] = {0xfeedbeef, 2, 32, 4, 0, 1, 2};
inline constexpr std::uint32_t error_code_four_words[] = {0xfeedbeef, 2, 32, 4, 4, 1, 2};
inline constexpr std::uint32_t largest_error_code_words[] = {0xfeedbeef, 2, 32, 4, 0xffffffff, 1, 2};
inline constexpr std::uint32_t error_without_code_words[] = {0xfeedbeef, 2, 32, 4};
inline constexpr std::uint32_t version_error_without_range_words[] = {0xfeedbeef, 2, 32, 4, 1};
inline constexpr std::uint32_t version_error_without_highest_words[] = {0xfeedbeef, 2, 32, 4, 1, 1};
inline constexpr std::uint32_t no_direction_words[] = {0xfeedbeef, 2, 32, 0};
inline constexpr std::uint32_t no_lists_words[] = {0xfeedbeef, 2, 32, 0, 0};
inline constexpr std::uint32_t no_lists_of_nomsg_words[] = {0xfeedbeef, 2, 32, 1, 1};
// A header of version 1, with the number of version 2: there is a list fewer.
inline constexpr std::uint32_t header_of_version_one_words[] = {0xfeedbeef, 2, 32, 1, 0, 0, 0};
inline constexpr std::uint32_t read_discriminator_words[] = {0xfeedbeef, 2, 32, 0, 0, 2, 0, 0};
inline constexpr std::uint32_t reply_discriminator_words[] = {0xfeedbeef, 2, 32, 1, 1, 0, 0, 3};
inline constexpr std::uint32_t write_count_words[] = {
	0xfeedbeef, 2, 32, 0, //
	0,	    0, 1,  2, //
	0xaaaaaaaa, 1, 0,  0, 0xbbbbbbbb, 1, 0,
};
inline constexpr std::uint32_t reply_count_words[] = {0xfeedbeef, 2, 32, 1, 1, 0, 0, 1, 0x80000000, 0, 0, 0, 0};
inline constexpr std::uint32_t optional_without_type_words[] = {0xfeedbeef, 2, 32, 5, 0};
inline constexpr std::uint32_t optional_without_size_words[] = {0xfeedbeef, 2, 32, 5, 0, 7};
inline constexpr std::uint32_t info_beyond_the_message_words[] = {0xfeedbeef, 2, 32,	     5,		0,
								  7,	      9, 0x11121314, 0x21222324};
inline constexpr std::uint32_t info_of_nothing_words[] = {0xfeedbeef, 2, 32, 5, 1, 7, 1};
// With its padding, this size is zero in 32 bits.
inline constexpr std::uint32_t largest_info_words[] = {0xfeedbeef, 2, 32, 5, 0, 7, 0xffffffff, 0, 0, 0, 0};
inline constexpr std::uint32_t overflowing_info_words[] = {0xfeedbeef, 2, 32, 5, 0, 7, 0xfffffffd, 0, 0, 0, 0};

inline constexpr MalformedVector malformed_vectors[] = {
	{"DirectionTwo", "4.2", direction_two_words, wire::Error::bad_direction},
	{"LargestDirection", "4.2", largest_direction_words, wire::Error::bad_direction},
	{"DirectionTwoOfNoMsg", "4.2", direction_two_of_nomsg_words, wire::Error::bad_direction},
	{"LargestDirectionOfNoMsg", "4.2", largest_direction_of_nomsg_words, wire::Error::bad_direction},
	{"DirectionTwoOfOptional", "4.2", direction_two_of_optional_words, wire::Error::bad_direction},
	{"LargestDirectionOfOptional", "4.2", largest_direction_of_optional_words, wire::Error::bad_direction},
	{"TypeTwo", "4.2", type_two_words, wire::Error::unknown_type},
	{"TypeThree", "4.2", type_three_words, wire::Error::unknown_type},
	{"TypeSix", "4.2", type_six_words, wire::Error::unknown_type},
	{"LargestType", "4.2", largest_type_words, wire::Error::unknown_type},
	{"ErrorCodeZero", "4.2", error_code_zero_words, wire::Error::unknown_error_code},
	{"ErrorCodeFour", "4.2", error_code_four_words, wire::Error::unknown_error_code},
	{"LargestErrorCode", "4.2", largest_error_code_words, wire::Error::unknown_error_code},
	{"ErrorWithoutCode", "4.2", error_without_code_words, wire::Error::truncated},
	{"VersionErrorWithoutRange", "4.2", version_error_without_range_words, wire::Error::truncated},
	{"VersionErrorWithoutHighest", "4.2", version_error_without_highest_words, wire::Error::truncated},
	{"NoDirection", "4.2", no_direction_words, wire::Error::truncated},
	{"NoLists", "4.2", no_lists_words, wire::Error::truncated},
	{"NoListsOfNoMsg", "4.2", no_lists_of_nomsg_words, wire::Error::truncated},
	{"HeaderOfVersionOne", "4.2", header_of_version_one_words, wire::Error::truncated},
	{"ReadDiscriminatorTwo", "RFC 4506, 4.19", read_discriminator_words, wire::Error::bad_discriminator},
	{"ReplyDiscriminatorThree", "RFC 4506, 4.19", reply_discriminator_words, wire::Error::bad_discriminator},
	{"WriteCountBeyondMessage", "RFC 4506, 4.13", write_count_words, wire::Error::bad_count},
	{"HugeReplyCount", "RFC 4506, 4.13", reply_count_words, wire::Error::bad_count},
	{"OptionalWithoutType", "4.2", optional_without_type_words, wire::Error::truncated},
	{"OptionalWithoutSize", "4.2", optional_without_size_words, wire::Error::truncated},
	{"InfoBeyondMessage", "RFC 4506, 4.10", info_beyond_the_message_words, wire::Error::bad_count},
	{"InfoOfNothing", "RFC 4506, 4.10", info_of_nothing_words, wire::Error::bad_count},
	{"LargestInfo", "RFC 4506, 4.10", largest_info_words, wire::Error::bad_count},
	{"OverflowingInfo", "RFC 4506, 4.10", overflowing_info_words, wire::Error::bad_count},
	{"InfoPaddingCutByOne", "RFC 4506, 4.10", optional_with_info_words, wire::Error::bad_count, 1},
	{"InfoPaddingCutByTwo", "RFC 4506, 4.10", optional_with_info_words, wire::Error::bad_count, 2},
	{"InfoPaddingCutAway", "RFC 4506, 4.10", optional_with_info_words, wire::Error::bad_count, 3},
	{"InfoCut", "RFC 4506, 4.10", optional_with_info_words, wire::Error::bad_count, 4},
};

} // namespace rpcordma::vectors::v2
