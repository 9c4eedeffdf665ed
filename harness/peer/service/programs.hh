// SPDX-License-Identifier: GPL-2.0-only
//
// The programs behind a Service: what they share, and how each is asked.

#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "service/service.hh"

namespace peer {

/// nfsstat3 and nfsstat4, which agree in what both have; mountstat3 where it has them too.
enum NfsStatus : std::uint32_t {
	NFS_OK = 0,
	NFSERR_NOENT = 2,
	NFSERR_EXIST = 17,
	NFSERR_NOTDIR = 20,
	NFSERR_ISDIR = 21,
	NFSERR_INVAL = 22,
	NFSERR_FBIG = 27,
	NFSERR_NOSPC = 28,
	NFSERR_NAMETOOLONG = 63,
	NFSERR_NOTEMPTY = 66,
	NFSERR_STALE = 70,
	NFSERR_BADHANDLE = 10001,
	NFSERR_NOTSUPP = 10004,
	NFSERR_TOOSMALL = 10005,
	NFSERR_BADTYPE = 10007,
	NFS4ERR_NOFILEHANDLE = 10020,
	NFS4ERR_MINOR_VERS_MISMATCH = 10021,
	NFS4ERR_STALE_CLIENTID = 10022,
	NFS4ERR_BAD_STATEID = 10025,
	NFS4ERR_SYMLINK = 10029,
	NFS4ERR_ATTRNOTSUPP = 10032,
	NFS4ERR_BADXDR = 10036,
	NFS4ERR_BADNAME = 10041,
	NFS4ERR_OP_ILLEGAL = 10044,
	NFS4ERR_BADSESSION = 10052,
	NFS4ERR_BADSLOT = 10053,
	NFS4ERR_SEQ_MISORDERED = 10063,
	NFS4ERR_SEQUENCE_POS = 10064,
	NFS4ERR_TOO_MANY_OPS = 10070,
	NFS4ERR_OP_NOT_IN_SESSION = 10071,
	NFS4ERR_CLIENTID_BUSY = 10074,
	NFS4ERR_NOT_ONLY_OP = 10081,
};

/// A procedure or operation fails.
struct Failure {
	NfsStatus status;
};

/// What a program makes of a Call: what follows the Reply's header, and the DDP-eligible items in that.
struct ProgramResult {
	ReplyHeader header;
	Payload results;
	std::string operation;
	std::string path;
};

/// What both versions of NFS do with files. All of them throw Failure.
class Files {
    public:
	static constexpr std::size_t LONGEST_NAME = 255;
	static constexpr std::uint64_t LONGEST_FILE = 64 << 20;

	explicit Files(Tree &tree)
		: tree_(tree)
	{
	}

	/// Attributes that a client has set. Owners and times are accepted, and stay what they are.
	struct Attributes {
		std::optional<std::uint32_t> mode;
		std::optional<std::uint64_t> size;
		std::optional<Bytes> acl;
	};

	/// An entry as a directory lists it, "." and ".." included.
	struct Entry {
		std::uint64_t cookie = 0;
		std::string name;
		const File *file = nullptr;
	};

	[[nodiscard]] static Bytes handle(const File &file);
	[[nodiscard]] File &find(ByteView handle);
	[[nodiscard]] File &find(FileId id);
	/// A directory's entry, "." and ".." included.
	[[nodiscard]] File &look_up(const File &directory, const std::string &name);
	[[nodiscard]] File *look_up_if_there(const File &directory, const std::string &name);
	/// The entries behind a cookie, in the order in which they keep their cookies whatever comes and goes.
	[[nodiscard]] std::vector<Entry> list(const File &directory, std::uint64_t cookie, bool with_dots);
	[[nodiscard]] File &make(File &directory, const std::string &name, File::Kind kind);
	File &make_link(File &directory, const std::string &name, ByteView target);
	void remove(File &directory, const std::string &name);
	void remove_directory(File &directory, const std::string &name);
	void rename(File &from, const std::string &name, File &to, const std::string &new_name);
	[[nodiscard]] static ByteView read(const File &file, std::uint64_t offset, std::uint32_t count);
	[[nodiscard]] static ByteView target(const File &link);
	void write(File &file, std::uint64_t offset, ByteView data);
	void set(File &file, const Attributes &attributes);

	[[nodiscard]] std::string path_of(const File &directory, const std::string &name) const;
	[[nodiscard]] Tree &tree() noexcept { return tree_; }

    private:
	void resize(File &file, std::uint64_t size);

	Tree &tree_;
};

/// What a file takes; what it is called in either version.
[[nodiscard]] std::uint64_t size_of(const File &file) noexcept;
[[nodiscard]] std::uint32_t links_of(const File &file, Tree &tree);
enum FileType : std::uint32_t { TYPE_REGULAR = 1, TYPE_DIRECTORY = 2, TYPE_LINK = 5 };
[[nodiscard]] FileType type_of(const File &file) noexcept;
/// A file's times: all three are that of its last change, and later the more has changed.
struct Time {
	std::uint32_t seconds = 0;
	std::uint32_t nanoseconds = 0;
};
[[nodiscard]] Time time_of(const File &file) noexcept;

constexpr std::uint64_t FILE_SYSTEM = 0x7065657200000001;
/// Nothing is lost as long as the tree is there.
constexpr std::uint64_t WRITE_VERIFIER = 0x7065657200000002;

/// Results with DDP-eligible items.
class ResultWriter : public XdrWriter {
    public:
	void item(ByteView data)
	{
		items_.push_back({.offset = size() + 4, .length = data.size()});
		opaque(data);
	}

	/// Appends what another has written.
	void append(const Payload &other)
	{
		for (const Item &item : other.items)
			items_.push_back({.offset = size() + item.offset, .length = item.length});
		fixed(other.stream);
	}

	[[nodiscard]] Payload payload() noexcept { return {.stream = take(), .items = std::move(items_)}; }

    private:
	std::vector<Item> items_;
};

/// The settings of a Service.
struct Settings {
	std::uint32_t transfer_size = 65536;
	bool delegations = false;
};

/// Asks the MOUNT program. Without a tree there is only its root.
[[nodiscard]] ProgramResult serve_mount(const CallHeader &call, XdrReader &arguments, Tree *tree);
/// Serves a Call of the MOUNT program, and of no other, without a tree; the Reply. Throws Malformed where there is no
/// Call.
[[nodiscard]] Bytes serve_mount_alone(ByteView stream);

/// NFS version 3.
class Nfs3 {
    public:
	explicit Nfs3(Tree &tree)
		: files_(tree)
	{
	}

	[[nodiscard]] ProgramResult serve(const CallHeader &call, XdrReader &arguments, ByteView stream,
					  const Settings &settings);

    private:
	friend class Nfs3Call;
	/// Calls that must not be carried out twice, and what came of them: a client that has lost a connection sends them
	/// again.
	struct Done {
		Bytes call;
		ProgramResult outcome;
	};

	Files files_;
	std::deque<Done> done_;
	/// The verifiers with which files were created exclusively.
	std::map<FileId, std::uint64_t> verifiers_;
};

/// NFS version 4.1.
class Nfs4 {
    public:
	explicit Nfs4(Tree &tree)
		: files_(tree)
	{
	}

	[[nodiscard]] ProgramResult serve(const CallHeader &call, XdrReader &arguments, std::uint64_t connection,
					  const Settings &settings);
	void forget(std::uint64_t connection);

	[[nodiscard]] const std::vector<Service::Backchannel> &backchannels() const noexcept { return backchannels_; }
	[[nodiscard]] const std::vector<Service::Delegation> &delegations() const noexcept { return delegations_; }

    private:
	friend class Compound;

	struct Client {
		std::uint64_t id = 0;
		Bytes owner;
		std::uint64_t verifier = 0;
		bool confirmed = false;
		std::uint32_t sequence = 0; // of the last CREATE_SESSION
		Bytes created; // what that resulted in
	};
	struct Slot {
		std::uint32_t sequence = 0;
		std::optional<ProgramResult> outcome;
	};
	struct Session {
		Bytes id;
		std::uint64_t client = 0;
		std::vector<Slot> slots;
		bool wants_backchannel = false;
		std::uint32_t callback_program = 0;
	};
	struct Open {
		std::uint64_t client = 0;
		Bytes owner;
		FileId file = 0;
		std::uint64_t number = 0; // in the stateid
		std::uint32_t sequence = 0;
		std::uint32_t access = 0;
	};

	[[nodiscard]] Client *find_client(std::uint64_t id);
	[[nodiscard]] Session *find_session(ByteView id);
	[[nodiscard]] Open *find_open(ByteView stateid);
	[[nodiscard]] bool has_backchannel(const Bytes &session) const;
	void drop_client(std::uint64_t id);
	void drop_session(const Bytes &id);

	Files files_;
	std::deque<Client> clients_;
	std::deque<Session> sessions_;
	std::deque<Open> opens_;
	std::vector<Service::Backchannel> backchannels_;
	std::vector<Service::Delegation> delegations_;
	std::map<FileId, std::uint64_t> verifiers_;
	std::uint64_t next_ = 1;
};

} // namespace peer
