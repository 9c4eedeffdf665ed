// SPDX-License-Identifier: GPL-2.0-only

#include <algorithm>

#include "service/programs.hh"

namespace peer {

namespace {

// What distinguishes a handle of ours from any other bytes.
constexpr std::uint32_t MARK = 0x70656572;
// 1 and 2 are "." and ".."; of version 4, 0, 1 and 2 are reserved.
constexpr std::uint64_t FIRST_COOKIE = 2;

void check_directory(const File &file)
{
	if (file.kind != File::Kind::directory)
		throw Failure{NFSERR_NOTDIR};
}

void check_length(const std::string &name)
{
	if (name.size() > Files::LONGEST_NAME)
		throw Failure{NFSERR_NAMETOOLONG};
}

// Of a name that comes to be, or goes.
void check_name(const std::string &name)
{
	check_length(name);
	if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
	    name.find('\0') != std::string::npos)
		throw Failure{NFSERR_INVAL};
}

} // namespace

Bytes Files::handle(const File &file)
{
	XdrWriter xdr;
	xdr.u32(MARK);
	xdr.u64(file.id);
	return xdr.take();
}

File &Files::find(ByteView handle)
{
	constexpr std::size_t LENGTH = 12;
	XdrReader xdr(handle);
	if (handle.size() != LENGTH || xdr.u32("a handle") != MARK)
		throw Failure{NFSERR_BADHANDLE};
	return find(xdr.u64("a handle"));
}

File &Files::find(FileId id)
{
	File *const file = tree_.find(id);
	if (!file)
		throw Failure{NFSERR_STALE};
	return *file;
}

File &Files::look_up(const File &directory, const std::string &name)
{
	File *const file = look_up_if_there(directory, name);
	if (!file)
		throw Failure{NFSERR_NOENT};
	return *file;
}

File *Files::look_up_if_there(const File &directory, const std::string &name)
{
	check_directory(directory);
	check_length(name);
	if (name == ".")
		return tree_.find(directory.id);
	if (name == "..")
		return tree_.find(directory.parent);
	const auto entry = directory.entries.find(name);
	return entry == directory.entries.end() ? nullptr : tree_.find(entry->second);
}

std::vector<Files::Entry> Files::list(const File &directory, std::uint64_t cookie, bool with_dots)
{
	check_directory(directory);
	std::vector<Entry> entries;
	if (with_dots) {
		entries.push_back({1, ".", &directory});
		entries.push_back({2, "..", tree_.find(directory.parent)});
	}
	for (const auto &[name, id] : directory.entries)
		entries.push_back({FIRST_COOKIE + id, name, tree_.find(id)});
	std::erase_if(entries, [&](const Entry &entry) { return entry.cookie <= cookie; });
	std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) { return a.cookie < b.cookie; });
	return entries;
}

File &Files::make(File &directory, const std::string &name, File::Kind kind)
{
	check_directory(directory);
	check_name(name);
	if (directory.entries.contains(name))
		throw Failure{NFSERR_EXIST};
	if (tree_.used() + Tree::OVERHEAD > Tree::CAPACITY)
		throw Failure{NFSERR_NOSPC};
	return tree_.create(directory, name, kind);
}

File &Files::make_link(File &directory, const std::string &name, ByteView target)
{
	constexpr std::size_t LONGEST_TARGET = 4096;
	if (target.empty())
		throw Failure{NFSERR_INVAL};
	if (target.size() > LONGEST_TARGET)
		throw Failure{NFSERR_NAMETOOLONG};
	File &link = make(directory, name, File::Kind::link);
	link.content.assign(target.begin(), target.end());
	return link;
}

void Files::remove(File &directory, const std::string &name)
{
	check_name(name);
	if (look_up(directory, name).kind == File::Kind::directory)
		throw Failure{NFSERR_ISDIR};
	tree_.remove(directory, name);
}

void Files::remove_directory(File &directory, const std::string &name)
{
	check_name(name);
	const File &file = look_up(directory, name);
	check_directory(file);
	if (!file.entries.empty())
		throw Failure{NFSERR_NOTEMPTY};
	tree_.remove(directory, name);
}

void Files::rename(File &from, const std::string &name, File &to, const std::string &new_name)
{
	check_name(name);
	check_name(new_name);
	const File &file = look_up(from, name);
	const File *const replaced = look_up_if_there(to, new_name);
	if (tree_.is_below(to, file))
		throw Failure{NFSERR_INVAL};
	if (replaced && replaced != &file) {
		const bool onto_directory = replaced->kind == File::Kind::directory;
		if (onto_directory != (file.kind == File::Kind::directory))
			throw Failure{onto_directory ? NFSERR_ISDIR : NFSERR_NOTDIR};
		if (!replaced->entries.empty())
			throw Failure{NFSERR_NOTEMPTY};
	}
	tree_.rename(from, name, to, new_name);
}

ByteView Files::read(const File &file, std::uint64_t offset, std::uint32_t count)
{
	if (file.kind != File::Kind::regular)
		throw Failure{file.kind == File::Kind::directory ? NFSERR_ISDIR : NFSERR_INVAL};
	const ByteView content = file.content;
	if (offset >= content.size())
		return {};
	return content.subspan(offset, std::min<std::uint64_t>(count, content.size() - offset));
}

ByteView Files::target(const File &link)
{
	if (link.kind != File::Kind::link)
		throw Failure{NFSERR_INVAL};
	return link.content;
}

void Files::write(File &file, std::uint64_t offset, ByteView data)
{
	if (file.kind != File::Kind::regular)
		throw Failure{file.kind == File::Kind::directory ? NFSERR_ISDIR : NFSERR_INVAL};
	if (data.empty())
		return;
	if (offset > LONGEST_FILE || data.size() > LONGEST_FILE - offset)
		throw Failure{NFSERR_FBIG};
	if (offset + data.size() > file.content.size())
		resize(file, offset + data.size());
	std::copy(data.begin(), data.end(), file.content.begin() + static_cast<std::ptrdiff_t>(offset));
	tree_.touch(file);
}

void Files::set(File &file, const Attributes &attributes)
{
	constexpr std::uint32_t PERMISSIONS = 07777;
	if (attributes.size) {
		if (file.kind != File::Kind::regular)
			throw Failure{file.kind == File::Kind::directory ? NFSERR_ISDIR : NFSERR_INVAL};
		resize(file, *attributes.size);
	}
	if (attributes.mode)
		file.mode = *attributes.mode & PERMISSIONS;
	if (attributes.acl)
		file.acl = *attributes.acl;
	tree_.touch(file);
}

void Files::resize(File &file, std::uint64_t size)
{
	if (size > LONGEST_FILE)
		throw Failure{NFSERR_FBIG};
	if (size > file.content.size() && tree_.used() + (size - file.content.size()) > Tree::CAPACITY)
		throw Failure{NFSERR_NOSPC};
	file.content.resize(size);
}

std::string Files::path_of(const File &directory, const std::string &name) const
{
	return directory.path == "/" ? "/" + name : directory.path + "/" + name;
}

std::uint64_t size_of(const File &file) noexcept
{
	return file.kind == File::Kind::directory ? Tree::OVERHEAD : file.content.size();
}

std::uint32_t links_of(const File &file, Tree &tree)
{
	if (file.kind != File::Kind::directory)
		return 1;
	const auto directories = std::count_if(file.entries.begin(), file.entries.end(), [&](const auto &entry) {
		return tree.find(entry.second)->kind == File::Kind::directory;
	});
	return 2 + static_cast<std::uint32_t>(directories);
}

FileType type_of(const File &file) noexcept
{
	switch (file.kind) {
	case File::Kind::directory:
		return TYPE_DIRECTORY;
	case File::Kind::link:
		return TYPE_LINK;
	case File::Kind::regular:
		break;
	}
	return TYPE_REGULAR;
}

Time time_of(const File &file) noexcept
{
	constexpr std::uint64_t FIRST_SECOND = 1600000000;
	constexpr std::uint64_t CHANGES_PER_SECOND = 1000;
	constexpr std::uint64_t NANOSECONDS_PER_CHANGE = 1000000;
	return {.seconds = static_cast<std::uint32_t>(FIRST_SECOND + file.change / CHANGES_PER_SECOND),
		.nanoseconds = static_cast<std::uint32_t>(file.change % CHANGES_PER_SECOND * NANOSECONDS_PER_CHANGE)};
}

} // namespace peer
