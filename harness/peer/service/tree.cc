// SPDX-License-Identifier: GPL-2.0-only

#include "service/tree.hh"

#include <algorithm>
#include <vector>

#include "nfs/path.hh"

namespace peer {

namespace {

std::string path_below(const File &directory, const std::string &name)
{
	return directory.path == "/" ? "/" + name : directory.path + "/" + name;
}

std::uint32_t usual_mode(File::Kind kind)
{
	switch (kind) {
	case File::Kind::directory:
		return 0755;
	case File::Kind::link:
		return 0777;
	case File::Kind::regular:
		break;
	}
	return 0644;
}

} // namespace

Tree::Tree()
{
	File &root = files_[next_];
	root.id = next_++;
	root.kind = File::Kind::directory;
	root.mode = usual_mode(root.kind);
	root.path = "/";
	touch(root);
}

File *Tree::find(FileId id)
{
	const auto found = files_.find(id);
	return found == files_.end() ? nullptr : &found->second;
}

File *Tree::find(const std::string &path)
{
	File *file = find(ROOT);
	for (const std::string &part : parts_of(path)) {
		const auto entry = file->entries.find(part);
		if (entry == file->entries.end())
			return nullptr;
		file = find(entry->second);
	}
	return file;
}

File &Tree::put(const std::string &path, Bytes content)
{
	File &file = put_kind(path, File::Kind::regular);
	file.content = std::move(content);
	return file;
}

File &Tree::put_directory(const std::string &path)
{
	return directory_at(path);
}

File &Tree::put_link(const std::string &path, const std::string &target)
{
	File &link = put_kind(path, File::Kind::link);
	link.content.assign(target.begin(), target.end());
	return link;
}

File &Tree::put_kind(const std::string &path, File::Kind kind)
{
	const std::size_t slash = path.rfind('/');
	File &directory = directory_at(slash == std::string::npos ? "" : path.substr(0, slash));
	const std::string name = path.substr(slash + 1);
	const auto entry = directory.entries.find(name);
	if (entry != directory.entries.end()) {
		File &file = files_.at(entry->second);
		if (file.kind == kind) {
			touch(file);
			return file;
		}
		remove(directory, name);
	}
	return create(directory, name, kind);
}

File &Tree::directory_at(const std::string &path)
{
	File *directory = find(ROOT);
	for (const std::string &part : parts_of(path)) {
		const auto entry = directory->entries.find(part);
		File *next = entry == directory->entries.end() ? nullptr : find(entry->second);
		if (next && next->kind != File::Kind::directory) {
			remove(*directory, part);
			next = nullptr;
		}
		directory = next ? next : &create(*directory, part, File::Kind::directory);
	}
	return *directory;
}

File &Tree::create(File &directory, const std::string &name, File::Kind kind)
{
	const FileId id = next_++;
	File &file = files_[id];
	file.id = id;
	file.kind = kind;
	file.mode = usual_mode(kind);
	file.path = path_below(directory, name);
	file.parent = directory.id;
	directory.entries[name] = id;
	touch(file);
	touch(directory);
	return file;
}

void Tree::remove(const std::string &path)
{
	const File *const file = find(path);
	if (!file || file->id == ROOT)
		return;
	File &directory = files_.at(file->parent);
	for (const auto &[name, id] : directory.entries) {
		if (id != file->id)
			continue;
		remove(directory, std::string(name));
		return;
	}
}

void Tree::remove(File &directory, const std::string &name)
{
	const auto entry = directory.entries.find(name);
	if (entry == directory.entries.end())
		return;
	std::vector<FileId> doomed = {entry->second};
	directory.entries.erase(entry);
	touch(directory);
	while (!doomed.empty()) {
		const auto file = files_.find(doomed.back());
		doomed.pop_back();
		for (const auto &[child_name, child] : file->second.entries)
			doomed.push_back(child);
		files_.erase(file);
	}
}

void Tree::rename(File &from, const std::string &name, File &to, const std::string &new_name)
{
	const FileId id = from.entries.at(name);
	const auto replaced = to.entries.find(new_name);
	if (replaced != to.entries.end()) {
		if (replaced->second == id)
			return;
		remove(to, new_name);
	}
	from.entries.erase(name);
	to.entries[new_name] = id;
	File &file = files_.at(id);
	file.parent = to.id;
	file.path = path_below(to, new_name);
	update_paths(file);
	touch(file);
	touch(from);
	touch(to);
}

void Tree::update_paths(File &top)
{
	std::vector<File *> left = {&top};
	while (!left.empty()) {
		const File &directory = *left.back();
		left.pop_back();
		for (const auto &[name, id] : directory.entries) {
			File &child = files_.at(id);
			child.path = path_below(directory, name);
			left.push_back(&child);
		}
	}
}

bool Tree::is_below(const File &file, const File &directory)
{
	for (const File *at = &file;; at = find(at->parent)) {
		if (at->id == directory.id)
			return true;
		if (at->id == ROOT)
			return false;
	}
}

void Tree::touch(File &file) noexcept
{
	file.change = ++changes_;
}

std::uint64_t Tree::used() const noexcept
{
	std::uint64_t used = 0;
	for (const auto &[id, file] : files_)
		used += OVERHEAD + file.content.size();
	return used;
}

} // namespace peer
