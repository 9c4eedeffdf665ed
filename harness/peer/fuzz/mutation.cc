// SPDX-License-Identifier: GPL-2.0-only

#include "fuzz/mutation.hh"

#include <algorithm>
#include <array>

namespace peer {

namespace {

constexpr std::size_t WORD = 4;
// Of a chunk, and of a list: more than any implementation is likely to take, and short enough for a message.
constexpr std::size_t MANY = 40;

// Headers

// Memory that the header has, or that may not exist.
Segment some_segment(const Header &header, Dice &dice)
{
	std::vector<Segment> known = {{.handle = dice.word(), .length = dice.telling_word(), .offset = dice.word()}};
	for (const ReadSegment &read : header.reads)
		known.push_back(read.target);
	for (const Chunk &chunk : header.writes)
		known.insert(known.end(), chunk.begin(), chunk.end());
	if (header.reply)
		known.insert(known.end(), header.reply->begin(), header.reply->end());
	return dice.one_of(known);
}

void change(Segment &segment, Dice &dice)
{
	switch (dice.below(4)) {
	case 0:
		segment.handle ^= 1U << dice.below(32);
		break;
	case 1:
		segment.length = dice.telling_word();
		break;
	case 2:
		segment.length = static_cast<std::uint32_t>(dice.below(segment.length + std::size_t{2}));
		break;
	default:
		segment.offset += dice.telling_word();
	}
}

Segment changed_segment(const Header &header, Dice &dice)
{
	Segment segment = some_segment(header, dice);
	if (dice.one_in(2))
		change(segment, dice);
	return segment;
}

// Mostly one where a message may have an item.
std::uint32_t some_position(Dice &dice)
{
	constexpr std::size_t WORDS_OF_A_CALL = 60;
	return dice.one_in(4) ? dice.telling_word() : static_cast<std::uint32_t>(dice.below(WORDS_OF_A_CALL) * WORD);
}

std::size_t some_count(Dice &dice)
{
	constexpr std::size_t FEW = 4;
	return dice.below(dice.one_in(4) ? MANY : FEW);
}

Chunk some_chunk(const Header &header, Dice &dice)
{
	Chunk chunk;
	for (std::size_t count = some_count(dice); count > 0; count--)
		chunk.push_back(changed_segment(header, dice));
	return chunk;
}

void change_reads(Header &header, Dice &dice)
{
	if (header.reads.empty() || dice.one_in(3)) {
		for (std::size_t count = 1 + some_count(dice); count > 0; count--)
			header.reads.insert(header.reads.begin() +
						    static_cast<std::ptrdiff_t>(dice.below(header.reads.size() + 1)),
					    {some_position(dice), changed_segment(header, dice)});
	} else if (dice.one_in(3)) {
		header.reads.erase(header.reads.begin() + static_cast<std::ptrdiff_t>(dice.below(header.reads.size())));
	} else if (dice.one_in(2)) {
		dice.one_of(header.reads).position = some_position(dice);
	} else {
		change(dice.one_of(header.reads).target, dice);
	}
}

void change_chunk(Chunk &chunk, const Header &header, Dice &dice)
{
	if (chunk.empty() || dice.one_in(3))
		chunk = some_chunk(header, dice);
	else
		change(dice.one_of(chunk), dice);
}

void change_writes(Header &header, Dice &dice)
{
	if (header.writes.empty() || dice.one_in(3))
		header.writes.push_back(some_chunk(header, dice));
	else if (dice.one_in(3))
		header.writes.pop_back();
	else
		change_chunk(dice.one_of(header.writes), Header(header), dice);
}

void change_reply(Header &header, Dice &dice)
{
	if (!header.reply)
		header.reply = some_chunk(header, dice);
	else if (dice.one_in(3))
		header.reply.reset();
	else
		change_chunk(*header.reply, Header(header), dice);
}

void change_type(Header &header, Dice &dice)
{
	constexpr std::size_t TYPES = 8; // two of which no version has
	header.type = dice.one_in(8) ? dice.word() : static_cast<std::uint32_t>(dice.below(TYPES));
	header.error = static_cast<std::uint32_t>(dice.below(5));
	header.version_low = dice.telling_word();
	header.version_high = dice.telling_word();
	header.option = dice.telling_word();
	header.option_info.assign(dice.below(MANY), static_cast<std::uint8_t>(dice.word()));
}

// Bytes

std::size_t some_place(const Bytes &message, std::size_t front, Dice &dice)
{
	const std::size_t beginning = std::min(front, message.size());
	return dice.below(beginning > 0 && !dice.one_in(4) ? beginning : message.size());
}

void put_word(Bytes &message, std::size_t at, std::uint32_t word)
{
	for (std::size_t i = 0; i < WORD && at + i < message.size(); i++)
		message[at + i] = static_cast<std::uint8_t>(word >> (24 - 8 * i));
}

std::uint32_t word_at(const Bytes &message, std::size_t at)
{
	std::uint32_t word = 0;
	for (std::size_t i = 0; i < WORD; i++)
		word = word << 8 | (at + i < message.size() ? message[at + i] : 0);
	return word;
}

// Of whole words, for most of XDR is.
std::size_t some_length(Dice &dice)
{
	return dice.one_in(4) ? 1 + dice.below(WORD) : WORD * (1 + dice.below(MANY / 2));
}

void flip_bit(Bytes &message, std::size_t at, Dice &dice)
{
	message[at] ^= static_cast<std::uint8_t>(1U << dice.below(8));
}

void replace_word(Bytes &message, std::size_t at, Dice &dice)
{
	put_word(message, at & ~(WORD - 1), dice.telling_word());
}

void count_word(Bytes &message, std::size_t at, Dice &dice)
{
	constexpr std::uint32_t FAR = 16;
	at &= ~(WORD - 1);
	put_word(message, at, word_at(message, at) + static_cast<std::uint32_t>(dice.below(2 * FAR + 1)) - FAR);
}

void cut_end(Bytes &message, std::size_t at, Dice &)
{
	message.resize(at);
}

void cut_out(Bytes &message, std::size_t at, Dice &dice)
{
	const std::size_t length = std::min(some_length(dice), message.size() - at);
	message.erase(message.begin() + static_cast<std::ptrdiff_t>(at),
		      message.begin() + static_cast<std::ptrdiff_t>(at + length));
}

void repeat(Bytes &message, std::size_t at, Dice &dice)
{
	const ByteView all = message;
	const Bytes part = bytes_of(all.subspan(at, std::min(some_length(dice), message.size() - at)));
	message.insert(message.begin() + static_cast<std::ptrdiff_t>(dice.below(message.size() + 1)), part.begin(),
		       part.end());
}

void insert(Bytes &message, std::size_t at, Dice &dice)
{
	Bytes fresh(some_length(dice));
	for (std::uint8_t &byte : fresh)
		byte = static_cast<std::uint8_t>(dice.word());
	message.insert(message.begin() + static_cast<std::ptrdiff_t>(at), fresh.begin(), fresh.end());
}

} // namespace

void change(Header &header, Dice &dice)
{
	switch (dice.below(8)) {
	case 0:
		change_type(header, dice);
		break;
	case 1:
		header.version = dice.one_in(2) ? static_cast<std::uint32_t>(dice.below(4)) : dice.telling_word();
		break;
	case 2:
		header.credits = dice.telling_word();
		break;
	case 3:
		header.direction = dice.one_in(4) ? dice.telling_word() : header.direction ^ 1;
		break;
	case 4:
		change_reply(header, dice);
		break;
	case 5:
		change_writes(header, dice);
		break;
	default:
		change_reads(header, dice);
	}
}

void damage(Bytes &message, std::size_t front, Dice &dice)
{
	using Change = void (*)(Bytes &, std::size_t, Dice &);
	// The words of a header are what most of it is decided by.
	constexpr std::array<Change, 9> CHANGES = {flip_bit,   flip_bit, replace_word, replace_word, count_word,
						   count_word, cut_end,	 cut_out,      repeat};
	if (message.empty() || dice.one_in(CHANGES.size() + 1))
		insert(message, dice.below(message.size() + 1), dice);
	else
		dice.one_of(CHANGES)(message, some_place(message, front, dice), dice);
}

} // namespace peer
