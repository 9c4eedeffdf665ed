// SPDX-License-Identifier: GPL-2.0-only

#include "engine/frame.hh"

#include <algorithm>
#include <charconv>
#include <map>
#include <variant>

namespace peer {

namespace {

const std::map<std::string, std::uint64_t> CONSTANTS = {
	{"MSG", RDMA_MSG},
	{"NOMSG", RDMA_NOMSG},
	{"MSGP", RDMA_MSGP},
	{"DONE", RDMA_DONE},
	{"ERROR", RDMA_ERROR},
	{"VERS", ERR_VERS},
	{"CHUNK", ERR_CHUNK},
	{"max", 0xffffffff},
	// Of version 2.
	{"OPTIONAL", RDMA2_OPTIONAL},
	{"BAD_HEADER", ERR_BAD_HEADER},
	{"INVAL_OPTION", ERR_INVAL_OPTION},
	{"CALL", DIRECTION_CALL},
	{"REPLY", DIRECTION_REPLY},
};

std::optional<std::uint64_t> number(const std::string &word)
{
	const bool hex = word.starts_with("0x");
	std::uint64_t value = 0;
	const char *const first = word.data() + (hex ? 2 : 0);
	const char *const last = word.data() + word.size();
	const auto [end, error] = std::from_chars(first, last, value, hex ? 16 : 10);
	if (error != std::errc{} || end != last || first == last)
		return std::nullopt;
	return value;
}

std::uint64_t evaluate_term(const std::string &term, const Names &names)
{
	if (const auto value = number(term))
		return *value;
	if (const auto constant = CONSTANTS.find(term); constant != CONSTANTS.end())
		return constant->second;
	if (names.value)
		if (const auto value = names.value(term))
			return *value;
	throw ScriptError("'" + term + "' has no value here");
}

// "write[0][1].length" taken apart.
struct FieldName {
	std::string base;
	std::vector<std::size_t> indices;
	std::string member;
};

FieldName take_apart(const std::string &name)
{
	FieldName parts;
	const std::size_t dot = name.find('.');
	if (dot != std::string::npos)
		parts.member = name.substr(dot + 1);
	std::string rest = name.substr(0, dot);
	parts.base = rest.substr(0, rest.find('['));
	for (std::size_t open; (open = rest.find('[')) != std::string::npos;) {
		const std::size_t close = rest.find(']', open);
		const auto index = close == std::string::npos ? std::nullopt :
								number(rest.substr(open + 1, close - open - 1));
		if (!index)
			throw ScriptError("'" + name + "' has an index that is no number");
		parts.indices.push_back(*index);
		rest = rest.substr(close + 1);
	}
	return parts;
}

// A place in a header that a line can set.
using Place = std::variant<std::uint32_t *, std::uint64_t *>;

std::optional<Place> member_of(Segment &segment, const std::string &member)
{
	if (member == "handle")
		return &segment.handle;
	if (member == "length")
		return &segment.length;
	if (member == "offset")
		return &segment.offset;
	return std::nullopt;
}

Segment *segment_of(Chunk &chunk, std::size_t index)
{
	return index < chunk.size() ? &chunk[index] : nullptr;
}

std::optional<Place> place_in_lists(Header &header, const FieldName &name)
{
	Segment *segment = nullptr;
	if (name.base == "read" && name.indices.size() == 1 && name.indices[0] < header.reads.size()) {
		if (name.member == "position")
			return &header.reads[name.indices[0]].position;
		segment = &header.reads[name.indices[0]].target;
	}
	if (name.base == "write" && name.indices.size() == 2 && name.indices[0] < header.writes.size())
		segment = segment_of(header.writes[name.indices[0]], name.indices[1]);
	if (name.base == "reply" && name.indices.size() == 1 && header.reply)
		segment = segment_of(*header.reply, name.indices[0]);
	return segment ? member_of(*segment, name.member) : std::nullopt;
}

std::optional<Place> place(Header &header, const std::string &name)
{
	const std::map<std::string, std::uint32_t *> scalars = {
		{"xid", &header.xid},		{"version", &header.version},
		{"credits", &header.credits},	{"type", &header.type},
		{"align", &header.align},	{"threshold", &header.threshold},
		{"error", &header.error},	{"low", &header.version_low},
		{"high", &header.version_high}, {"direction", &header.direction},
		{"opttype", &header.option},
	};
	if (const auto scalar = scalars.find(name); scalar != scalars.end())
		return scalar->second;
	return place_in_lists(header, take_apart(name));
}

void put_word(Bytes &bytes, std::size_t at, std::uint32_t value)
{
	for (std::size_t i = 0; i < 4; i++)
		bytes[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

std::uint32_t get_word(const Bytes &bytes, std::size_t at)
{
	return XdrReader(ByteView(bytes).subspan(at, 4)).u32("word");
}

std::uint64_t changed(std::uint64_t old, const std::string &operation, std::uint64_t operand)
{
	if (operation == "=")
		return operand;
	if (operation == "+=")
		return old + operand;
	if (operation == "-=")
		return old - operand;
	if (operation == "^=")
		return old ^ operand;
	throw ScriptError("'" + operation + "' is none of = += -= ^=");
}

void assign(Frame &frame, const Words &words, const Names &names)
{
	const std::string &name = words[0];
	const std::string &operation = words[1];
	const std::uint64_t operand = evaluate(words[2], names);
	const FieldName parts = take_apart(name);
	if (parts.base == "word" && parts.indices.size() == 1) {
		frame.damage.push_back([=](Bytes &bytes) { change_word(bytes, parts.indices[0], operation, operand); });
		return;
	}
	if (parts.base == "payload" && parts.indices.size() == 1)
		return change_word(frame.payload, parts.indices[0], operation, operand);

	const auto found = place(frame.header, name);
	if (!found)
		throw ScriptError("this message has no field '" + name + "'");
	std::visit(
		[&](auto *field) {
			*field = static_cast<std::remove_pointer_t<decltype(field)>>(
				changed(*field, operation, operand));
		},
		*found);
}

Chunk evaluate_chunk(const Words &words, std::size_t first, const Names &names)
{
	Chunk chunk;
	for (std::size_t i = first; i < words.size(); i++) {
		if (words[i] == "nothing")
			continue;
		const std::size_t star = words[i].find('*');
		Segment segment = evaluate_segment(words[i].substr(0, star), names);
		const std::uint64_t times = star == std::string::npos ? 1 : evaluate(words[i].substr(star + 1), names);
		for (std::uint64_t k = 0; k < times; k++, segment.offset += segment.length)
			chunk.push_back(segment);
	}
	return chunk;
}

template <typename T> void erase_at(std::vector<T> &from, std::size_t index, const std::string &name)
{
	if (index >= from.size())
		throw ScriptError("this message has no '" + name + "'");
	from.erase(from.begin() + static_cast<std::ptrdiff_t>(index));
}

void drop(Header &header, const std::string &name)
{
	const FieldName parts = take_apart(name);
	if (name == "reads")
		header.reads.clear();
	else if (name == "writes")
		header.writes.clear();
	else if (name == "reply")
		header.reply.reset();
	else if (parts.base == "read" && parts.indices.size() == 1)
		erase_at(header.reads, parts.indices[0], name);
	else if (parts.base == "write" && parts.indices.size() == 1)
		erase_at(header.writes, parts.indices[0], name);
	else if (parts.base == "write" && parts.indices.size() == 2 && parts.indices[0] < header.writes.size())
		erase_at(header.writes[parts.indices[0]], parts.indices[1], name);
	else if (parts.base == "reply" && parts.indices.size() == 1 && header.reply)
		erase_at(*header.reply, parts.indices[0], name);
	else
		throw ScriptError("this message has no '" + name + "'");
}

template <typename T> void swap_at(std::vector<T> &in, std::size_t a, std::size_t b)
{
	if (std::max(a, b) >= in.size())
		throw ScriptError("there are only " + std::to_string(in.size()) + " to swap");
	std::swap(in[a], in[b]);
}

void swap(Header &header, const std::string &a, const std::string &b)
{
	const FieldName first = take_apart(a);
	const FieldName second = take_apart(b);
	if (first.base != second.base || first.indices.size() != second.indices.size() || first.indices.empty())
		throw ScriptError("'" + a + "' and '" + b + "' cannot be swapped");
	const std::size_t i = first.indices.back();
	const std::size_t j = second.indices.back();
	if (first.base == "read")
		swap_at(header.reads, i, j);
	else if (first.base == "reply" && header.reply)
		swap_at(*header.reply, i, j);
	else if (first.indices.size() == 1)
		swap_at(header.writes, i, j);
	else
		swap_at(header.writes.at(first.indices[0]), i, j);
}

// "nothing" are no bytes.
Bytes from_hex(const std::string &digits)
{
	Bytes bytes;
	if (digits == "nothing")
		return bytes;
	for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
		const auto value = number("0x" + digits.substr(i, 2));
		if (!value)
			throw ScriptError("'" + digits + "' is not hexadecimal");
		bytes.push_back(static_cast<std::uint8_t>(*value));
	}
	if (digits.size() % 2)
		throw ScriptError("'" + digits + "' has half a byte");
	return bytes;
}

void add_reads(Header &header, const Words &words, const Names &names)
{
	const std::uint64_t position = evaluate(words.at(1), names);
	for (const Segment &segment : evaluate_chunk(words, 2, names))
		header.reads.push_back({static_cast<std::uint32_t>(position), segment});
}

// "write SEGMENT... [times N]"
void add_writes(Header &header, Words words, const Names &names)
{
	std::uint64_t times = 1;
	if (words.size() >= 4 && words[words.size() - 2] == "times") {
		times = evaluate(words.back(), names);
		words.resize(words.size() - 2);
	}
	header.writes.insert(header.writes.end(), times, evaluate_chunk(words, 1, names));
}

void set_length(Frame &frame, std::uint64_t length)
{
	frame.damage.push_back([length](Bytes &bytes) { bytes.resize(length); });
}

} // namespace

std::optional<std::uint64_t> value_of_memory(const std::string &name,
					     const std::function<std::optional<Segment>(const std::string &)> &find)
{
	const std::size_t dot = name.rfind('.');
	if (dot == std::string::npos)
		return std::nullopt;
	const std::string member = name.substr(dot + 1);
	if (member != "handle" && member != "offset" && member != "length")
		return std::nullopt;
	const auto memory = find(name.substr(0, dot));
	if (!memory)
		return std::nullopt;
	return member == "handle" ? memory->handle : member == "offset" ? memory->offset : memory->length;
}

void change_word(Bytes &bytes, std::size_t index, const std::string &operation, std::uint64_t operand)
{
	if (4 * index + 4 > bytes.size())
		throw ScriptError("there is no word " + std::to_string(index) + " in " + std::to_string(bytes.size()) +
				  " bytes");
	const std::uint64_t value = changed(get_word(bytes, 4 * index), operation, operand);
	put_word(bytes, 4 * index, static_cast<std::uint32_t>(value));
}

std::uint64_t evaluate(const std::string &expression, const Names &names)
{
	std::uint64_t sum = 0;
	char sign = '+';
	for (std::size_t at = 0; at <= expression.size();) {
		const std::size_t end = std::min(expression.find_first_of("+-", at), expression.size());
		const std::uint64_t term = evaluate_term(expression.substr(at, end - at), names);
		sum = sign == '+' ? sum + term : sum - term;
		if (end == expression.size())
			return sum;
		sign = expression[end];
		at = end + 1;
	}
	return sum;
}

Segment evaluate_segment(const std::string &word, const Names &names)
{
	const std::size_t slash = word.find('/');
	const std::string place = word.substr(0, slash);
	Segment segment;
	if (const std::size_t colon = place.find(':'); colon != std::string::npos) {
		segment.handle = static_cast<std::uint32_t>(evaluate(place.substr(0, colon), names));
		segment.offset = evaluate(place.substr(colon + 1), names);
	} else {
		const std::size_t plus = place.find('+');
		const auto memory = names.memory ? names.memory(place.substr(0, plus)) : std::nullopt;
		if (!memory)
			throw ScriptError("there is no memory called '" + place.substr(0, plus) + "'");
		const std::uint64_t offset = plus == std::string::npos ? 0 : evaluate(place.substr(plus + 1), names);
		segment = {memory->handle, static_cast<std::uint32_t>(memory->length - offset),
			   memory->offset + offset};
	}
	if (slash != std::string::npos)
		segment.length = static_cast<std::uint32_t>(evaluate(word.substr(slash + 1), names));
	return segment;
}

Bytes Frame::bytes() const
{
	Bytes message = encode(header);
	message.insert(message.end(), payload.begin(), payload.end());
	for (const auto &hurt : damage)
		hurt(message);
	return message;
}

void apply(Frame &frame, const Line &line, const Names &names)
{
	const Words &words = line.words;
	const std::string &verb = words[0];
	if (words.size() == 3 && words[1].ends_with('='))
		assign(frame, words, names);
	else if (verb == "read" && words.size() >= 3)
		add_reads(frame.header, words, names);
	else if (verb == "write" && words.size() >= 2)
		add_writes(frame.header, words, names);
	else if (verb == "reply" && words.size() >= 2)
		frame.header.reply = evaluate_chunk(words, 1, names);
	else if (verb == "drop" && words.size() == 2)
		drop(frame.header, words[1]);
	else if (verb == "swap" && words.size() == 3)
		swap(frame.header, words[1], words[2]);
	else if (verb == "cut" && words.size() == 2)
		set_length(frame, evaluate(words[1], names));
	else if (verb == "grow" && words.size() == 2)
		set_length(frame, evaluate(words[1], names));
	else if (verb == "payload" && words.size() == 2)
		frame.payload = from_hex(words[1]);
	else if (verb == "optinfo" && words.size() == 2)
		frame.header.option_info = from_hex(words[1]);
	else if (verb == "invalidate" && words.size() == 2)
		frame.invalidate = static_cast<std::uint32_t>(evaluate(words[1], names));
	else
		throw ScriptError("'" + verb + "' does not say what to do to a message");
}

std::optional<std::uint64_t> field(const Header &header, const std::string &name)
{
	Header copy = header;
	if (name == "reads")
		return header.reads.size();
	if (name == "writes")
		return header.writes.size();
	if (name == "replies")
		return header.reply ? 1 : 0;
	if (name == "optinfo.length")
		return header.option_info.size();
	const FieldName parts = take_apart(name);
	if (parts.base == "write" && parts.indices.size() == 1 && parts.indices[0] < header.writes.size()) {
		const Chunk &chunk = header.writes[parts.indices[0]];
		return parts.member == "segments" ? chunk.size() : length_of(chunk);
	}
	if (parts.base == "reply" && parts.indices.empty() && header.reply)
		return parts.member == "segments" ? header.reply->size() : length_of(*header.reply);
	const auto found = place(copy, name);
	if (!found)
		return std::nullopt;
	return std::visit([](auto *value) { return std::uint64_t{*value}; }, *found);
}

namespace {

bool compares(std::uint64_t found, const std::string &operation, std::uint64_t wanted)
{
	const std::map<std::string, bool> outcomes = {
		{"=", found == wanted},	 {"!=", found != wanted}, {"<", found < wanted},
		{"<=", found <= wanted}, {">", found > wanted},	  {">=", found >= wanted},
	};
	const auto outcome = outcomes.find(operation);
	if (outcome == outcomes.end())
		throw ScriptError("'" + operation + "' is none of = != < <= > >=");
	return outcome->second;
}

} // namespace

std::optional<std::string> check(const Line &line, const Names &fields, const Names &names)
{
	const Words &words = line.words;
	if (words.size() < 3 || words.size() % 2 == 0)
		throw ScriptError("an expectation is \"FIELD OPERATOR VALUE [or VALUE]\"");
	const auto found = fields.value(words[0]);
	if (!found)
		return "there is no " + words[0];
	for (std::size_t i = 2; i < words.size(); i += 2)
		if (compares(*found, words[1], evaluate(words[i], names)))
			return std::nullopt;
	return words[0] + " is " + std::to_string(*found) + ", not " + text_of(Words(words.begin() + 1, words.end()));
}

} // namespace peer
