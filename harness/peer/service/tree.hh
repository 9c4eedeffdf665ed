// SPDX-License-Identifier: GPL-2.0-only
//
// A small file tree in memory: what the responder serves.

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "codec/xdr.hh"

namespace peer {

using FileId = std::uint64_t;
constexpr FileId ROOT = 1;

/// One object of the tree: a directory, a regular file, or a symbolic link.
struct File {
	enum class Kind { directory, regular, link };

	FileId id = 0;
	Kind kind = Kind::regular;
	std::uint32_t mode = 0644;
	std::string path; // from the root, "/" for it, "/cases/x/data"; for people and for scripts to name a file by
	FileId parent = ROOT;
	Bytes content; // a link's is its target
	Bytes acl; // NFSv4's, as it is on the wire; nothing where none has been set
	std::map<std::string, FileId> entries; // a directory's
	std::uint64_t change = 0; // grows with every change: the NFSv4 change attribute, and the times
};

/// The tree. All of it belongs to root, and everybody may do everything.
class Tree {
    public:
	Tree();

	[[nodiscard]] File *find(FileId id);
	/// "cases/x/data", with or without a leading slash; nullptr where there is none.
	[[nodiscard]] File *find(const std::string &path);

	/// Makes a file and the directories that lead to it, or replaces its content; what is there and of another kind
	/// goes.
	File &put(const std::string &path, Bytes content);
	File &put_directory(const std::string &path);
	File &put_link(const std::string &path, const std::string &target);
	void remove(const std::string &path);
	/// @name is new in @directory.
	File &create(File &directory, const std::string &name, File::Kind kind);
	/// Takes an entry away, and the file and all below it.
	void remove(File &directory, const std::string &name);
	/// Moves an entry; what had the new name goes. Not into the file itself: ask is_below() first.
	void rename(File &from, const std::string &name, File &to, const std::string &new_name);
	/// Whether @file is @directory or anywhere below it.
	[[nodiscard]] bool is_below(const File &file, const File &directory);
	/// Says that a file has changed.
	void touch(File &file) noexcept;

	/// How many bytes all of it takes. Who serves the tree keeps that below CAPACITY.
	[[nodiscard]] std::uint64_t used() const noexcept;
	[[nodiscard]] std::size_t count() const noexcept { return files_.size(); }
	static constexpr std::uint64_t CAPACITY = 256 << 20;
	/// What a file takes without its content.
	static constexpr std::uint64_t OVERHEAD = 4096;

    private:
	/// The directory of that path, which is made where there is none.
	File &directory_at(const std::string &path);
	File &put_kind(const std::string &path, File::Kind kind);
	void update_paths(File &file);

	std::map<FileId, File> files_;
	FileId next_ = ROOT;
	std::uint64_t changes_ = 0;
};

} // namespace peer
