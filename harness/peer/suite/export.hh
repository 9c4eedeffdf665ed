// SPDX-License-Identifier: GPL-2.0-only
//
// What the cases use of a server under test: a directory of their own below its export, made over the transport under
// test, and taken away again.

#pragma once

#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "engine/client.hh"

namespace peer {

/// The byte at an offset of a file whose content is known.
[[nodiscard]] std::uint8_t pattern_at(std::uint64_t offset, unsigned seed) noexcept;
[[nodiscard]] Bytes pattern(std::uint64_t offset, std::size_t length, unsigned seed = 0);

/// The server does not let this machine work below what --path names; the text says why.
class NotExported : public std::runtime_error {
	using runtime_error::runtime_error;
};

class Export {
    public:
	static constexpr std::size_t DATA_SIZE = 128 * 1024;
	static constexpr std::size_t SCRATCH_SIZE = 128 * 1024;
	static constexpr unsigned ENTRIES = 120;
	static constexpr std::size_t LINK_LENGTH = 1000;

	/// Asks the server's mount daemon for the export where need be, and fills a directory below it. What has been made
	/// when this fails is removed. Throws VerbsError, NotExported, Violation.
	Export(const Target &target, Patience patience);
	/// Removes the directory.
	~Export();

	/// The directory, its path below the export, and what is in it: a file of DATA_SIZE bytes of the pattern, a file
	/// to be written to, a directory with many entries, and a symbolic link.
	FileHandle directory;
	std::string name;
	FileHandle data;
	FileHandle scratch;
	FileHandle many;
	FileHandle link;
	std::string link_target;

	[[nodiscard]] const Target &target() const noexcept { return target_; }
	/// The server as a well-behaved requester finds it.
	[[nodiscard]] const Encounter &encounter() const noexcept { return encounter_; }

	/// Whether the server serves a well-behaved requester on a new connection: NULL, attributes, and 8 KiB each way.
	/// The text says what does not work.
	[[nodiscard]] std::optional<std::string> health();

	/// Makes one more file, which goes with the directory; its name.
	[[nodiscard]] std::string make_file();
	/// A client of version 4 opens such a file, under this name. What it holds then keeps the file from being removed until
	/// the server is told that the client has lost it.
	void opened_by(const std::string &owner);

	/// The first bytes of the scratch file, on a connection of their own.
	[[nodiscard]] Bytes scratch_content(std::size_t length);
	void clear_scratch();

    private:
	Export(const Target &target, Patience patience, FileHandle root);

	void make_directory(Client &client);
	void fill(Client &client);
	void end_opens(Client &client);
	void remove_all();

	Target target_;
	Patience patience_;
	FileHandle root_;
	Encounter encounter_;
	unsigned checks_ = 0;
	unsigned made_ = 0;
	std::set<std::string> owners_;
};

/// The handle of what the target exports: its own, or what its mount daemon says. A server that cannot be reached is
/// told before its mount daemon is asked, which takes long where there is none. Throws NotConnected, VerbsError, NotExported,
/// Violation.
[[nodiscard]] FileHandle find_root(const Target &target, Patience patience);

/// Asks a mount daemon (MOUNT version 3 over TCP, found through rpcbind) for the root of an export. Throws NotConnected,
/// NotExported, Violation.
[[nodiscard]] FileHandle mount_over_tcp(const std::string &host, const std::string &path);

} // namespace peer
