// SPDX-License-Identifier: GPL-2.0-only
//
/// One COMPOUND of NFS version 4.1 (RFC 8881, section 16.2), as it is served.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "service/nfs4_attributes.hh"
#include "service/programs.hh"

namespace peer {

inline constexpr std::uint32_t PROC_NULL = 0;
inline constexpr std::uint32_t PROC_COMPOUND = 1;
inline constexpr std::uint32_t MINOR_VERSION = 1;
inline constexpr std::uint32_t AUTH_NONE_FLAVOUR = 0;
inline constexpr std::uint32_t AUTH_SYS_FLAVOUR = 1;
inline constexpr std::uint32_t RPCSEC_GSS_FLAVOUR = 6;

inline constexpr std::size_t SESSION_ID = 16;
inline constexpr std::size_t STATEID = 16;
inline constexpr std::size_t VERIFIER = 8;

// More than any client has use for; what makes clients, sessions and opens without end loses the oldest.
inline constexpr std::size_t MOST_CLIENTS = 64;
inline constexpr std::size_t MOST_SESSIONS = 64;
inline constexpr std::size_t MOST_OPENS = 4096;
inline constexpr std::uint32_t MOST_SLOTS = 32;
inline constexpr std::uint32_t MOST_OPERATIONS = 64;
inline constexpr std::uint32_t LEASE_SECONDS = 90;

enum Operation : std::uint32_t {
	OP_ACCESS = 3,
	OP_CLOSE = 4,
	OP_COMMIT = 5,
	OP_CREATE = 6,
	OP_DELEGRETURN = 8,
	OP_GETATTR = 9,
	OP_GETFH = 10,
	OP_LOOKUP = 15,
	OP_LOOKUPP = 16,
	OP_OPEN = 18,
	OP_OPEN_DOWNGRADE = 21,
	OP_PUTFH = 22,
	OP_PUTPUBFH = 23,
	OP_PUTROOTFH = 24,
	OP_READ = 25,
	OP_READDIR = 26,
	OP_READLINK = 27,
	OP_REMOVE = 28,
	OP_RENAME = 29,
	OP_RESTOREFH = 31,
	OP_SAVEFH = 32,
	OP_SECINFO = 33,
	OP_SETATTR = 34,
	OP_WRITE = 38,
	OP_BIND_CONN_TO_SESSION = 41,
	OP_EXCHANGE_ID = 42,
	OP_CREATE_SESSION = 43,
	OP_DESTROY_SESSION = 44,
	OP_FREE_STATEID = 45,
	OP_SECINFO_NO_NAME = 52,
	OP_SEQUENCE = 53,
	OP_TEST_STATEID = 55,
	OP_DESTROY_CLIENTID = 57,
	OP_RECLAIM_COMPLETE = 58,
	OP_ILLEGAL = 10044,
};
inline constexpr std::uint32_t FIRST_OPERATION = OP_ACCESS;
inline constexpr std::uint32_t LAST_OPERATION = OP_RECLAIM_COMPLETE;

/// A stateid of the peer's: its seqid, and a number that finds the open.
[[nodiscard]] Bytes stateid_of(std::uint32_t sequence, std::uint64_t number);
/// The number; none where the stateid is none of the peer's.
[[nodiscard]] std::optional<std::uint64_t> number_of(ByteView stateid);

inline bool same(ByteView a, ByteView b)
{
	return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// One COMPOUND.
class Compound {
    public:
	Compound(Nfs4 &program, XdrReader &in, std::uint64_t connection, const Settings &settings)
		: program_(program)
		, files_(program.files_)
		, in_(in)
		, connection_(connection)
		, settings_(settings)
	{
	}

	[[nodiscard]] ProgramResult serve();

    private:
	struct Known {
		const char *name;
		void (Compound::*serve)();
		// How much it says of what a COMPOUND is for.
		unsigned weight;
	};
	static const std::map<std::uint32_t, Known> OPERATIONS;

	[[nodiscard]] NfsStatus serve_next(std::uint32_t index, std::uint32_t count);
	void carry_out(std::uint32_t operation, std::uint32_t index, std::uint32_t count);
	[[nodiscard]] NfsStatus check_place(std::uint32_t operation, std::uint32_t index, std::uint32_t count) const;
	void name(std::uint32_t operation);
	[[nodiscard]] ProgramResult finish(std::uint32_t status, ByteView tag);

	// The current file, or that it is none.
	[[nodiscard]] File &current()
	{
		if (!current_)
			throw Failure{NFS4ERR_NOFILEHANDLE};
		return files_.find(*current_);
	}

	void go_to(const File &file)
	{
		current_ = file.id;
		path_ = file.path;
	}

	// A component4, of the current directory.
	[[nodiscard]] std::string read_name()
	{
		const std::string name = in_.string("component4");
		if (name.empty())
			throw Failure{NFSERR_INVAL};
		if (name == "." || name == "..")
			throw Failure{NFS4ERR_BADNAME};
		path_ = files_.path_of(current(), name);
		return name;
	}

	void write_change_info(std::uint64_t before, const File &directory)
	{
		out_.boolean(true);
		out_.u64(before);
		out_.u64(directory.change);
	}

	void write_attribute(XdrWriter &xdr, Attribute attribute, const File &file);
	void write_attributes(XdrWriter &xdr, const Bitmap &asked, const File &file);

	void sequence();
	void exchange_id();
	void create_session();
	void bind_conn_to_session();
	void destroy_session();
	void destroy_clientid();
	void reclaim_complete();
	void test_stateid();
	void free_stateid();

	void putrootfh();
	void putfh();
	void getfh();
	void savefh();
	void restorefh();
	void lookup();
	void lookupp();
	void secinfo();
	void secinfo_no_name();

	void access();
	void getattr();
	void setattr();
	void open();
	void close();
	void open_downgrade();
	void delegreturn();
	void read();
	void write();
	void commit();
	void create();
	void remove();
	void rename();
	void readdir();
	void readlink();

	// What of OPEN says how a file is to be made.
	struct Making {
		bool wanted = false;
		bool must_not_be_there = false;
		std::optional<std::uint64_t> verifier;
		Setting setting;
	};
	[[nodiscard]] Making read_making();
	[[nodiscard]] File &make(File &directory, const std::string &name, const Making &making, Bitmap &set);
	[[nodiscard]] Nfs4::Open &opened(const File &file, std::uint64_t client, const Bytes &owner);
	void write_security();
	void write_delegation(const File &file, std::uint64_t client, std::uint32_t access);

	Nfs4 &program_;
	Files &files_;
	XdrReader &in_;
	std::uint64_t connection_;
	const Settings &settings_;

	ResultWriter results_;
	ResultWriter out_; // of the operation being served
	std::uint32_t done_ = 0;
	std::optional<FileId> current_;
	std::optional<FileId> saved_;
	Nfs4::Session *session_ = nullptr;
	Nfs4::Slot *slot_ = nullptr;
	std::optional<ProgramResult> cached_;

	std::string path_; // of the file that the operation being served is about
	std::string name_ = "COMPOUND";
	std::string named_path_;
	unsigned weight_ = 0;
};

} // namespace peer
