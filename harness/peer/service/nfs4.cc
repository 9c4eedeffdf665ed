// SPDX-License-Identifier: GPL-2.0-only
//
// NFS version 4.1 (RFC 8881), as a responder speaks it: sessions with their reply caches as the RFC wants them; opens
// given to whoever asks, and no locks.

#include <algorithm>

#include "service/programs.hh"

namespace peer {

namespace {

constexpr std::uint32_t PROC_NULL = 0;
constexpr std::uint32_t PROC_COMPOUND = 1;
constexpr std::uint32_t MINOR_VERSION = 1;
constexpr std::uint32_t AUTH_NONE_FLAVOUR = 0;
constexpr std::uint32_t AUTH_SYS_FLAVOUR = 1;
constexpr std::uint32_t RPCSEC_GSS_FLAVOUR = 6;

constexpr std::size_t SESSION_ID = 16;
constexpr std::size_t STATEID = 16;
constexpr std::size_t VERIFIER = 8;

// More than any client has use for; what makes clients, sessions and opens without end loses the oldest.
constexpr std::size_t MOST_CLIENTS = 64;
constexpr std::size_t MOST_SESSIONS = 64;
constexpr std::size_t MOST_OPENS = 4096;
constexpr std::uint32_t MOST_SLOTS = 32;
constexpr std::uint32_t MOST_OPERATIONS = 64;
constexpr std::uint32_t LEASE_SECONDS = 90;

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
constexpr std::uint32_t FIRST_OPERATION = OP_ACCESS;
constexpr std::uint32_t LAST_OPERATION = OP_RECLAIM_COMPLETE;

enum Attribute : unsigned {
	SUPPORTED_ATTRS = 0,
	TYPE = 1,
	FH_EXPIRE_TYPE = 2,
	CHANGE = 3,
	SIZE = 4,
	LINK_SUPPORT = 5,
	SYMLINK_SUPPORT = 6,
	NAMED_ATTR = 7,
	FSID = 8,
	UNIQUE_HANDLES = 9,
	LEASE_TIME = 10,
	RDATTR_ERROR = 11,
	ACL = 12,
	ACLSUPPORT = 13,
	CANSETTIME = 15,
	CASE_INSENSITIVE = 16,
	CASE_PRESERVING = 17,
	CHOWN_RESTRICTED = 18,
	FILEHANDLE = 19,
	FILEID = 20,
	FILES_AVAIL = 21,
	FILES_FREE = 22,
	FILES_TOTAL = 23,
	HOMOGENEOUS = 26,
	MAXFILESIZE = 27,
	MAXLINK = 28,
	MAXNAME = 29,
	MAXREAD = 30,
	MAXWRITE = 31,
	MODE = 33,
	NO_TRUNC = 34,
	NUMLINKS = 35,
	OWNER = 36,
	OWNER_GROUP = 37,
	RAWDEV = 41,
	SPACE_AVAIL = 42,
	SPACE_FREE = 43,
	SPACE_TOTAL = 44,
	SPACE_USED = 45,
	TIME_ACCESS = 47,
	TIME_ACCESS_SET = 48,
	TIME_DELTA = 51,
	TIME_METADATA = 52,
	TIME_MODIFY = 53,
	TIME_MODIFY_SET = 54,
	MOUNTED_ON_FILEID = 55,
	SUPPATTR_EXCLCREAT = 75,
};

// A set of attributes, as it is on the wire: bit n % 32 of word n / 32.
class Bitmap {
    public:
	constexpr Bitmap() = default;
	constexpr Bitmap(std::initializer_list<Attribute> attributes)
	{
		for (const Attribute attribute : attributes)
			set(attribute);
	}

	constexpr void set(unsigned attribute) { words_.at(attribute / 32) |= 1U << attribute % 32; }

	[[nodiscard]] constexpr bool has(unsigned attribute) const
	{
		return words_.at(attribute / 32) & 1U << attribute % 32;
	}

	[[nodiscard]] constexpr Bitmap operator&(const Bitmap &other) const
	{
		Bitmap both;
		for (std::size_t i = 0; i < WORDS; i++)
			both.words_.at(i) = words_.at(i) & other.words_.at(i);
		return both;
	}

	[[nodiscard]] constexpr bool operator==(const Bitmap &) const = default;

	// Attributes beyond those that have a place here are none that anybody knows.
	static Bitmap read(XdrReader &xdr)
	{
		Bitmap bitmap;
		const std::uint32_t words = xdr.u32("the length of a bitmap");
		for (std::uint32_t i = 0; i < words; i++) {
			const std::uint32_t word = xdr.u32("a bitmap");
			if (i < WORDS)
				bitmap.words_.at(i) = word;
			else
				bitmap.unknown_ = bitmap.unknown_ || word != 0;
		}
		return bitmap;
	}

	void write(XdrWriter &xdr) const
	{
		std::size_t used = WORDS;
		while (used > 0 && words_.at(used - 1) == 0)
			used--;
		xdr.u32(static_cast<std::uint32_t>(used));
		for (std::size_t i = 0; i < used; i++)
			xdr.u32(words_.at(i));
	}

	[[nodiscard]] bool unknown() const noexcept { return unknown_; }

	static constexpr unsigned ATTRIBUTES = 96;

    private:
	static constexpr std::size_t WORDS = ATTRIBUTES / 32;
	std::array<std::uint32_t, WORDS> words_{};
	bool unknown_ = false;
};

constexpr Bitmap SETTABLE = {SIZE, ACL, MODE, OWNER, OWNER_GROUP, TIME_ACCESS_SET, TIME_MODIFY_SET};
// clang-format off
constexpr Bitmap READABLE = {
	SUPPORTED_ATTRS, TYPE, FH_EXPIRE_TYPE, CHANGE, SIZE, LINK_SUPPORT, SYMLINK_SUPPORT, NAMED_ATTR, FSID,
	UNIQUE_HANDLES, LEASE_TIME, RDATTR_ERROR, ACL, ACLSUPPORT, CANSETTIME, CASE_INSENSITIVE, CASE_PRESERVING,
	CHOWN_RESTRICTED, FILEHANDLE, FILEID, FILES_AVAIL, FILES_FREE, FILES_TOTAL, HOMOGENEOUS, MAXFILESIZE, MAXLINK, MAXNAME, MAXREAD,
	MAXWRITE, MODE, NO_TRUNC, NUMLINKS, OWNER, OWNER_GROUP, RAWDEV, SPACE_AVAIL, SPACE_FREE, SPACE_TOTAL,
	SPACE_USED, TIME_ACCESS, TIME_DELTA, TIME_METADATA, TIME_MODIFY, MOUNTED_ON_FILEID, SUPPATTR_EXCLCREAT,
};
// clang-format on

constexpr Bitmap supported()
{
	Bitmap all = READABLE;
	for (const Attribute attribute : {TIME_ACCESS_SET, TIME_MODIFY_SET})
		all.set(attribute);
	return all;
}

void write_time(XdrWriter &xdr, Time time)
{
	xdr.u64(time.seconds);
	xdr.u32(time.nanoseconds);
}

// What a client sets: which attributes, and their values.
struct Setting {
	Bitmap which;
	Files::Attributes values;
};

// The entries are nobody's business here: they are kept as they are.
Bytes read_acl(XdrReader &xdr)
{
	constexpr std::size_t LONGEST_ACL = 65536;
	constexpr std::size_t TYPE_FLAG_AND_MASK = 12;
	const ByteView rest = xdr.rest();
	const std::size_t begin = xdr.offset();
	for (std::uint32_t left = xdr.u32("the number of entries"); left > 0; left--) {
		xdr.skip(TYPE_FLAG_AND_MASK, "an entry");
		static_cast<void>(xdr.opaque("who an entry is about"));
	}
	const ByteView acl = rest.first(xdr.offset() - begin);
	if (acl.size() > LONGEST_ACL)
		throw Failure{NFSERR_INVAL};
	return {acl.begin(), acl.end()};
}

Setting read_fattr(XdrReader &xdr)
{
	constexpr std::uint32_t TO_CLIENT_TIME = 1;
	constexpr std::size_t TIME = 12;
	Setting setting;
	setting.which = Bitmap::read(xdr);
	XdrReader values(xdr.opaque("attr_vals"));
	if (setting.which.unknown() || (setting.which & SETTABLE) != setting.which)
		throw Failure{NFS4ERR_ATTRNOTSUPP};
	if (setting.which.has(SIZE))
		setting.values.size = values.u64("size");
	if (setting.which.has(ACL))
		setting.values.acl = read_acl(values);
	if (setting.which.has(MODE))
		setting.values.mode = values.u32("mode");
	for (const Attribute owner : {OWNER, OWNER_GROUP})
		if (setting.which.has(owner))
			static_cast<void>(values.opaque("owner"));
	for (const Attribute time : {TIME_ACCESS_SET, TIME_MODIFY_SET})
		if (setting.which.has(time) && values.u32("settime4") == TO_CLIENT_TIME)
			values.skip(TIME, "a time");
	return setting;
}

// What a channel of a session may carry.
struct Channel {
	std::uint32_t padding = 0;
	std::uint32_t longest_request = 0;
	std::uint32_t longest_reply = 0;
	std::uint32_t longest_cached = 0;
	std::uint32_t operations = 0;
	std::uint32_t requests = 0;
};

Channel read_channel(XdrReader &xdr)
{
	Channel channel;
	channel.padding = xdr.u32("ca_headerpadsize");
	channel.longest_request = xdr.u32("ca_maxrequestsize");
	channel.longest_reply = xdr.u32("ca_maxresponsesize");
	channel.longest_cached = xdr.u32("ca_maxresponsesize_cached");
	channel.operations = xdr.u32("ca_maxoperations");
	channel.requests = xdr.u32("ca_maxrequests");
	if (const std::uint32_t depths = xdr.u32("the length of ca_rdma_ird"); depths > 1)
		throw Malformed("ca_rdma_ird has " + std::to_string(depths) +
				" elements, where at most one is allowed");
	else
		xdr.skip(4 * depths, "ca_rdma_ird");
	return channel;
}

void write_channel(XdrWriter &xdr, const Channel &channel)
{
	xdr.u32(0); // no padding
	xdr.u32(channel.longest_request);
	xdr.u32(channel.longest_reply);
	xdr.u32(channel.longest_cached);
	xdr.u32(channel.operations);
	xdr.u32(channel.requests);
	xdr.u32(0); // no ca_rdma_ird
}

void skip_callback_security(XdrReader &xdr)
{
	for (std::uint32_t left = xdr.u32("the length of csa_sec_parms"); left > 0; left--) {
		const std::uint32_t flavour = xdr.u32("cb_secflavor");
		switch (flavour) {
		case AUTH_NONE_FLAVOUR:
			break;
		case AUTH_SYS_FLAVOUR:
			xdr.skip(4, "stamp");
			static_cast<void>(xdr.opaque("machinename"));
			xdr.skip(8, "uid and gid");
			for (std::uint32_t groups = xdr.u32("the number of gids"); groups > 0; groups--)
				xdr.skip(4, "gids");
			break;
		case RPCSEC_GSS_FLAVOUR:
			xdr.skip(4, "gcbp_service");
			static_cast<void>(xdr.opaque("gcbp_handle_from_server"));
			static_cast<void>(xdr.opaque("gcbp_handle_from_client"));
			break;
		default:
			throw Malformed("cb_secflavor is " + std::to_string(flavour));
		}
	}
}

Bytes bytes_of(ByteView view)
{
	return {view.begin(), view.end()};
}

bool same(ByteView a, ByteView b)
{
	return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// The other part of a stateid is a number of ours, and what tells it from anybody else's.
constexpr std::uint32_t STATEID_MARK = 0x70656572;

Bytes stateid_of(std::uint32_t sequence, std::uint64_t number)
{
	XdrWriter xdr;
	xdr.u32(sequence);
	xdr.u32(STATEID_MARK);
	xdr.u64(number);
	return xdr.take();
}

std::optional<std::uint64_t> number_of(ByteView stateid)
{
	XdrReader xdr(stateid);
	xdr.skip(4, "a stateid's seqid");
	if (xdr.u32("a stateid") != STATEID_MARK)
		return std::nullopt;
	return xdr.u64("a stateid");
}

} // namespace

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

const std::map<std::uint32_t, Compound::Known> Compound::OPERATIONS = {
	{OP_ACCESS, {"ACCESS", &Compound::access, 5}},
	{OP_CLOSE, {"CLOSE", &Compound::close, 9}},
	{OP_COMMIT, {"COMMIT", &Compound::commit, 9}},
	{OP_CREATE, {"CREATE", &Compound::create, 9}},
	{OP_DELEGRETURN, {"DELEGRETURN", &Compound::delegreturn, 8}},
	{OP_GETATTR, {"GETATTR", &Compound::getattr, 4}},
	{OP_GETFH, {"GETFH", &Compound::getfh, 3}},
	{OP_LOOKUP, {"LOOKUP", &Compound::lookup, 6}},
	{OP_LOOKUPP, {"LOOKUPP", &Compound::lookupp, 6}},
	{OP_OPEN, {"OPEN", &Compound::open, 9}},
	{OP_OPEN_DOWNGRADE, {"OPEN_DOWNGRADE", &Compound::open_downgrade, 9}},
	{OP_PUTFH, {"PUTFH", &Compound::putfh, 2}},
	{OP_PUTPUBFH, {"PUTPUBFH", &Compound::putrootfh, 2}},
	{OP_PUTROOTFH, {"PUTROOTFH", &Compound::putrootfh, 2}},
	{OP_READ, {"READ", &Compound::read, 9}},
	{OP_READDIR, {"READDIR", &Compound::readdir, 9}},
	{OP_READLINK, {"READLINK", &Compound::readlink, 9}},
	{OP_REMOVE, {"REMOVE", &Compound::remove, 9}},
	{OP_RENAME, {"RENAME", &Compound::rename, 9}},
	{OP_RESTOREFH, {"RESTOREFH", &Compound::restorefh, 2}},
	{OP_SAVEFH, {"SAVEFH", &Compound::savefh, 2}},
	{OP_SECINFO, {"SECINFO", &Compound::secinfo, 7}},
	{OP_SETATTR, {"SETATTR", &Compound::setattr, 8}},
	{OP_WRITE, {"WRITE", &Compound::write, 9}},
	{OP_BIND_CONN_TO_SESSION, {"BIND_CONN_TO_SESSION", &Compound::bind_conn_to_session, 9}},
	{OP_EXCHANGE_ID, {"EXCHANGE_ID", &Compound::exchange_id, 9}},
	{OP_CREATE_SESSION, {"CREATE_SESSION", &Compound::create_session, 9}},
	{OP_DESTROY_SESSION, {"DESTROY_SESSION", &Compound::destroy_session, 9}},
	{OP_FREE_STATEID, {"FREE_STATEID", &Compound::free_stateid, 9}},
	{OP_SECINFO_NO_NAME, {"SECINFO_NO_NAME", &Compound::secinfo_no_name, 7}},
	{OP_SEQUENCE, {"SEQUENCE", &Compound::sequence, 1}},
	{OP_TEST_STATEID, {"TEST_STATEID", &Compound::test_stateid, 9}},
	{OP_DESTROY_CLIENTID, {"DESTROY_CLIENTID", &Compound::destroy_clientid, 9}},
	{OP_RECLAIM_COMPLETE, {"RECLAIM_COMPLETE", &Compound::reclaim_complete, 9}},
};

ProgramResult Compound::serve()
{
	const ByteView tag = in_.opaque("the tag");
	const std::uint32_t minor_version = in_.u32("minorversion");
	const std::uint32_t count = in_.u32("the number of operations");
	if (minor_version != MINOR_VERSION)
		return finish(NFS4ERR_MINOR_VERS_MISMATCH, tag);
	if (count > MOST_OPERATIONS)
		return finish(NFS4ERR_TOO_MANY_OPS, tag);
	NfsStatus status = NFS_OK;
	for (std::uint32_t index = 0; index < count && status == NFS_OK && !cached_; index++)
		status = serve_next(index, count);
	if (cached_)
		return *cached_;
	ProgramResult outcome = finish(status, tag);
	if (slot_)
		slot_->outcome = outcome;
	return outcome;
}

NfsStatus Compound::serve_next(std::uint32_t index, std::uint32_t count)
{
	std::uint32_t operation = OP_ILLEGAL;
	NfsStatus status = NFS_OK;
	path_.clear();
	out_ = {};
	try {
		operation = in_.u32("argop");
		carry_out(operation, index, count);
	} catch (const Failure &failure) {
		status = failure.status;
	} catch (const Malformed &) {
		status = NFS4ERR_BADXDR;
	}
	name(operation);
	done_++;
	results_.u32(status == NFS4ERR_OP_ILLEGAL ? std::uint32_t{OP_ILLEGAL} : operation);
	results_.u32(status);
	if (status == NFS_OK)
		results_.append(out_.payload());
	else if (operation == OP_SETATTR)
		Bitmap().write(results_); // its attrsset is there in any case
	return status;
}

void Compound::carry_out(std::uint32_t operation, std::uint32_t index, std::uint32_t count)
{
	if (const NfsStatus status = check_place(operation, index, count); status != NFS_OK)
		throw Failure{status};
	const auto known = OPERATIONS.find(operation);
	if (known == OPERATIONS.end())
		throw Failure{NFSERR_NOTSUPP};
	if (const File *const file = current_ ? files_.tree().find(*current_) : nullptr)
		path_ = file->path;
	(this->*known->second.serve)();
}

// RFC 8881, 2.10.2.1 and 18.46.3: SEQUENCE comes first, and what makes and ends sessions comes alone.
NfsStatus Compound::check_place(std::uint32_t operation, std::uint32_t index, std::uint32_t count) const
{
	if (operation < FIRST_OPERATION || operation > LAST_OPERATION)
		return NFS4ERR_OP_ILLEGAL;
	const bool alone = operation == OP_EXCHANGE_ID || operation == OP_CREATE_SESSION ||
			   operation == OP_BIND_CONN_TO_SESSION || operation == OP_DESTROY_SESSION ||
			   operation == OP_DESTROY_CLIENTID;
	if (alone)
		return count == 1 ? NFS_OK : NFS4ERR_NOT_ONLY_OP;
	if (operation == OP_SEQUENCE)
		return index == 0 ? NFS_OK : NFS4ERR_SEQUENCE_POS;
	return session_ ? NFS_OK : NFS4ERR_OP_NOT_IN_SESSION;
}

// The weightiest operation, and of several such the last, gives the COMPOUND its name.
void Compound::name(std::uint32_t operation)
{
	const auto known = OPERATIONS.find(operation);
	if (known == OPERATIONS.end() || known->second.weight < weight_)
		return;
	weight_ = known->second.weight;
	name_ = known->second.name;
	named_path_ = path_;
}

ProgramResult Compound::finish(std::uint32_t status, ByteView tag)
{
	ProgramResult outcome;
	ResultWriter xdr;
	xdr.u32(status);
	xdr.opaque(tag);
	xdr.u32(done_);
	xdr.append(results_.payload());
	outcome.results = xdr.payload();
	outcome.operation = name_;
	outcome.path = named_path_;
	return outcome;
}

void Compound::write_attribute(XdrWriter &xdr, Attribute attribute, const File &file)
{
	const std::uint64_t used = files_.tree().used();
	const std::uint64_t free = Tree::CAPACITY - std::min(used, Tree::CAPACITY);
	switch (attribute) {
	case SUPPORTED_ATTRS:
		return supported().write(xdr);
	case TYPE:
		return xdr.u32(type_of(file));
	case FH_EXPIRE_TYPE: // FH4_PERSISTENT
	case RDATTR_ERROR:
		return xdr.u32(0);
	case CHANGE:
		return xdr.u64(file.change);
	case ACL:
		return file.acl.empty() ? xdr.u32(0) : xdr.fixed(file.acl);
	case ACLSUPPORT: // ACL4_SUPPORT_ALLOW_ACL
		return xdr.u32(1);
	case SIZE:
	case SPACE_USED:
		return xdr.u64(size_of(file));
	case LINK_SUPPORT:
	case NAMED_ATTR:
	case CASE_INSENSITIVE:
		return xdr.boolean(false);
	case SYMLINK_SUPPORT:
	case UNIQUE_HANDLES:
	case CANSETTIME:
	case CASE_PRESERVING:
	case CHOWN_RESTRICTED:
	case HOMOGENEOUS:
	case NO_TRUNC:
		return xdr.boolean(true);
	case FSID:
		xdr.u64(FILE_SYSTEM);
		return xdr.u64(0);
	case LEASE_TIME:
		return xdr.u32(LEASE_SECONDS);
	case FILEHANDLE:
		return xdr.opaque(Files::handle(file));
	case FILEID:
	case MOUNTED_ON_FILEID:
		return xdr.u64(file.id);
	case FILES_AVAIL:
	case FILES_FREE:
		return xdr.u64(free / Tree::OVERHEAD);
	case FILES_TOTAL:
		return xdr.u64(Tree::CAPACITY / Tree::OVERHEAD);
	case MAXFILESIZE:
		return xdr.u64(Files::LONGEST_FILE);
	case MAXLINK:
		return xdr.u32(1);
	case MAXNAME:
		return xdr.u32(Files::LONGEST_NAME);
	case MAXREAD:
	case MAXWRITE:
		return xdr.u64(settings_.transfer_size);
	case MODE:
		return xdr.u32(file.mode);
	case NUMLINKS:
		return xdr.u32(links_of(file, files_.tree()));
	case OWNER:
	case OWNER_GROUP:
		return xdr.string("0");
	case RAWDEV:
		return xdr.u64(0);
	case SPACE_AVAIL:
	case SPACE_FREE:
		return xdr.u64(free);
	case SPACE_TOTAL:
		return xdr.u64(Tree::CAPACITY);
	case TIME_ACCESS:
	case TIME_METADATA:
	case TIME_MODIFY:
		return write_time(xdr, time_of(file));
	case TIME_DELTA:
		return write_time(xdr, {.seconds = 0, .nanoseconds = 1});
	case SUPPATTR_EXCLCREAT:
		return SETTABLE.write(xdr);
	case TIME_ACCESS_SET:
	case TIME_MODIFY_SET:
		return; // these cannot be read
	}
}

void Compound::write_attributes(XdrWriter &xdr, const Bitmap &asked, const File &file)
{
	const Bitmap given = asked & READABLE;
	XdrWriter values;
	for (unsigned attribute = 0; attribute < Bitmap::ATTRIBUTES; attribute++)
		if (given.has(attribute))
			write_attribute(values, static_cast<Attribute>(attribute), file);
	given.write(xdr);
	xdr.opaque(values.take());
}

// Sessions

// RFC 8881, 2.10.6.1: a slot's next number is a new request, its last one a request that is made again.
void Compound::sequence()
{
	constexpr std::uint32_t CALLBACK_PATH_DOWN = 1;
	constexpr std::uint32_t CALLBACK_PATH_OF_SESSION_DOWN = 0x200;
	const ByteView id = in_.fixed(SESSION_ID, "sa_sessionid");
	const std::uint32_t number = in_.u32("sa_sequenceid");
	const std::uint32_t slot = in_.u32("sa_slotid");
	in_.skip(4, "sa_highest_slotid");
	static_cast<void>(in_.boolean("sa_cachethis"));

	Nfs4::Session *const session = program_.find_session(id);
	if (!session)
		throw Failure{NFS4ERR_BADSESSION};
	if (slot >= session->slots.size())
		throw Failure{NFS4ERR_BADSLOT};
	Nfs4::Slot &its = session->slots[slot];
	if (number == its.sequence && its.outcome) {
		cached_ = its.outcome;
		return;
	}
	if (number != its.sequence + 1)
		throw Failure{NFS4ERR_SEQ_MISORDERED};
	session_ = session;
	slot_ = &its;
	its.sequence = number;
	its.outcome.reset();

	const auto last = static_cast<std::uint32_t>(session->slots.size() - 1);
	const bool path_down = session->wants_backchannel && !program_.has_backchannel(session->id);
	out_.fixed(session->id);
	out_.u32(number);
	out_.u32(slot);
	out_.u32(last); // the highest slot
	out_.u32(last); // and the one to aim at
	out_.u32(path_down ? CALLBACK_PATH_DOWN | CALLBACK_PATH_OF_SESSION_DOWN : 0);
}

void Compound::exchange_id()
{
	constexpr std::uint32_t SP4_NONE = 0;
	constexpr std::uint32_t WITHOUT_PNFS = 0x00010000;
	constexpr std::uint32_t CONFIRMED = 0x80000000;
	const std::uint64_t verifier = in_.u64("eia_verifier");
	const ByteView owner = in_.opaque("eia_clientowner");
	in_.skip(4, "eia_flags");
	if (in_.u32("eia_state_protect") != SP4_NONE)
		throw Failure{NFSERR_INVAL};

	Nfs4::Client *client = nullptr;
	for (Nfs4::Client &known : program_.clients_)
		if (same(known.owner, owner))
			client = &known;
	if (client && client->verifier != verifier) {
		program_.drop_client(client->id);
		client = nullptr;
	}
	if (!client) {
		if (program_.clients_.size() == MOST_CLIENTS)
			program_.drop_client(program_.clients_.front().id);
		client = &program_.clients_.emplace_back();
		client->id = program_.next_++;
		client->owner = bytes_of(owner);
		client->verifier = verifier;
	}
	out_.u64(client->id);
	out_.u32(client->sequence + 1);
	out_.u32(WITHOUT_PNFS | (client->confirmed ? CONFIRMED : 0));
	out_.u32(SP4_NONE);
	out_.u64(0); // so_minor_id
	out_.string("rpcordma-peer"); // so_major_id
	out_.string("rpcordma-peer"); // eir_server_scope
	out_.u32(0); // no eir_server_impl_id
}

void Compound::create_session()
{
	constexpr std::uint32_t CONNECT_BACK_CHANNEL = 2;
	constexpr std::uint32_t LONGEST_MESSAGE = 2 << 20;
	const std::uint64_t id = in_.u64("csa_clientid");
	const std::uint32_t number = in_.u32("csa_sequence");
	const std::uint32_t flags = in_.u32("csa_flags");
	Channel fore = read_channel(in_);
	const Channel back = read_channel(in_);
	const std::uint32_t callback_program = in_.u32("csa_cb_program");
	skip_callback_security(in_);

	Nfs4::Client *const client = program_.find_client(id);
	if (!client)
		throw Failure{NFS4ERR_STALE_CLIENTID};
	if (number == client->sequence && !client->created.empty())
		return out_.fixed(client->created);
	if (number != client->sequence + 1)
		throw Failure{NFS4ERR_SEQ_MISORDERED};
	if (fore.requests == 0 || fore.operations == 0)
		throw Failure{NFSERR_INVAL};
	client->sequence = number;
	client->confirmed = true;

	fore.requests = std::min(fore.requests, MOST_SLOTS);
	fore.operations = std::min(fore.operations, MOST_OPERATIONS);
	fore.longest_request = std::min(fore.longest_request, LONGEST_MESSAGE);
	fore.longest_reply = std::min(fore.longest_reply, LONGEST_MESSAGE);
	if (program_.sessions_.size() == MOST_SESSIONS)
		program_.drop_session(Bytes(program_.sessions_.front().id));
	Nfs4::Session &session = program_.sessions_.emplace_back();
	XdrWriter made;
	made.u64(id);
	made.u64(program_.next_++);
	session.id = made.take();
	session.client = id;
	session.slots.resize(fore.requests);
	session.wants_backchannel = flags & CONNECT_BACK_CHANNEL;
	session.callback_program = callback_program;
	if (session.wants_backchannel)
		program_.backchannels_.push_back({connection_, callback_program, session.id});

	out_.fixed(session.id);
	out_.u32(number);
	out_.u32(flags & CONNECT_BACK_CHANNEL);
	write_channel(out_, fore);
	write_channel(out_, back);
	const Payload result = out_.payload();
	client->created = result.stream;
	out_.append(result);
}

void Compound::bind_conn_to_session()
{
	enum Direction : std::uint32_t { FORE = 1, BACK = 2, BOTH = 3, BACK_OR_BOTH = 7 };
	const ByteView id = in_.fixed(SESSION_ID, "bctsa_sessid");
	const std::uint32_t direction = in_.u32("bctsa_dir");
	static_cast<void>(in_.boolean("bctsa_use_conn_in_rdma_mode"));
	Nfs4::Session *const session = program_.find_session(id);
	if (!session)
		throw Failure{NFS4ERR_BADSESSION};
	if (direction != FORE && direction != BACK && direction != BOTH && direction != BACK_OR_BOTH)
		throw Failure{NFSERR_INVAL};
	if (direction != FORE) {
		session->wants_backchannel = true;
		std::erase_if(program_.backchannels_, [&](const Service::Backchannel &channel) {
			return channel.connection == connection_ && channel.session == session->id;
		});
		program_.backchannels_.push_back({connection_, session->callback_program, session->id});
	}
	out_.fixed(session->id);
	out_.u32(direction == BACK_OR_BOTH ? std::uint32_t{BOTH} : direction);
	out_.boolean(false);
}

void Compound::destroy_session()
{
	const Bytes id = bytes_of(in_.fixed(SESSION_ID, "dsa_sessionid"));
	if (!program_.find_session(id))
		throw Failure{NFS4ERR_BADSESSION};
	program_.drop_session(id);
}

void Compound::destroy_clientid()
{
	const std::uint64_t id = in_.u64("dca_clientid");
	if (!program_.find_client(id))
		throw Failure{NFS4ERR_STALE_CLIENTID};
	for (const Nfs4::Session &session : program_.sessions_)
		if (session.client == id)
			throw Failure{NFS4ERR_CLIENTID_BUSY};
	program_.drop_client(id);
}

void Compound::reclaim_complete()
{
	static_cast<void>(in_.boolean("rca_one_fs"));
}

void Compound::test_stateid()
{
	const std::uint32_t count = in_.u32("the number of ts_stateids");
	ResultWriter statuses;
	for (std::uint32_t i = 0; i < count; i++) {
		const ByteView stateid = in_.fixed(STATEID, "ts_stateids");
		const bool delegated = std::any_of(program_.delegations_.begin(), program_.delegations_.end(),
						   [&](const auto &delegation) {
							   return number_of(delegation.stateid) == number_of(stateid);
						   });
		statuses.u32(delegated || program_.find_open(stateid) ? NFS_OK : NFS4ERR_BAD_STATEID);
	}
	out_.u32(count);
	out_.append(statuses.payload());
}

void Compound::free_stateid()
{
	in_.skip(STATEID, "fsa_stateid");
}

// Where the file handles are

void Compound::putrootfh()
{
	go_to(files_.find(ROOT));
}

void Compound::putfh()
{
	go_to(files_.find(in_.opaque("nfs_fh4")));
}

void Compound::getfh()
{
	out_.opaque(Files::handle(current()));
}

void Compound::savefh()
{
	saved_ = current().id;
}

void Compound::restorefh()
{
	if (!saved_)
		throw Failure{NFS4ERR_NOFILEHANDLE};
	go_to(files_.find(*saved_));
}

void Compound::lookup()
{
	const std::string name = read_name();
	const File &directory = current();
	if (directory.kind == File::Kind::link)
		throw Failure{NFS4ERR_SYMLINK};
	go_to(files_.look_up(directory, name));
}

void Compound::lookupp()
{
	const File &directory = current();
	if (directory.id == ROOT)
		throw Failure{NFSERR_NOENT};
	go_to(files_.look_up(directory, ".."));
}

void Compound::secinfo()
{
	const std::string name = read_name();
	static_cast<void>(files_.look_up(current(), name));
	write_security();
}

void Compound::secinfo_no_name()
{
	in_.skip(4, "secinfo_style4");
	static_cast<void>(current());
	write_security();
}

// RFC 8881, 2.6.3.1.1.8: the file handle is used up.
void Compound::write_security()
{
	current_.reset();
	out_.u32(1);
	out_.u32(AUTH_SYS_FLAVOUR);
}

// Files

void Compound::access()
{
	constexpr std::uint32_t ALL = 0x3f;
	const std::uint32_t asked = in_.u32("access");
	static_cast<void>(current());
	out_.u32(asked & ALL);
	out_.u32(asked & ALL);
}

void Compound::getattr()
{
	const Bitmap asked = Bitmap::read(in_);
	write_attributes(out_, asked, current());
}

void Compound::setattr()
{
	in_.skip(STATEID, "stateid");
	const Setting setting = read_fattr(in_);
	files_.set(current(), setting.values);
	setting.which.write(out_);
}

Compound::Making Compound::read_making()
{
	enum CreateMode : std::uint32_t { UNCHECKED = 0, GUARDED = 1, EXCLUSIVE = 2, EXCLUSIVE_1 = 3 };
	Making making;
	making.wanted = in_.boolean("opentype4");
	if (!making.wanted)
		return making;
	const std::uint32_t mode = in_.u32("createmode4");
	if (mode > EXCLUSIVE_1)
		throw Malformed("createmode4 is " + std::to_string(mode) + ", where 0 to 3 are defined");
	making.must_not_be_there = mode != UNCHECKED;
	if (mode == EXCLUSIVE || mode == EXCLUSIVE_1)
		making.verifier = in_.u64("createverf4");
	if (mode != EXCLUSIVE)
		making.setting = read_fattr(in_);
	return making;
}

File &Compound::make(File &directory, const std::string &name, const Making &making, Bitmap &set)
{
	File *file = files_.look_up_if_there(directory, name);
	if (file && making.must_not_be_there) {
		const auto verifier = program_.verifiers_.find(file->id);
		if (!making.verifier || verifier == program_.verifiers_.end() || verifier->second != *making.verifier)
			throw Failure{NFSERR_EXIST};
		return *file;
	}
	if (file) {
		// What is there keeps its attributes, but for a size of none.
		if (making.setting.which.has(SIZE) && file->kind == File::Kind::regular) {
			files_.set(*file, {.mode = {}, .size = making.setting.values.size});
			set.set(SIZE);
		}
		return *file;
	}
	file = &files_.make(directory, name, File::Kind::regular);
	files_.set(*file, making.setting.values);
	set = making.setting.which;
	if (making.verifier)
		program_.verifiers_[file->id] = *making.verifier;
	return *file;
}

void Compound::open()
{
	enum Claim : std::uint32_t {
		CLAIM_NULL = 0,
		CLAIM_PREVIOUS = 1,
		CLAIM_DELEGATE_CUR = 2,
		CLAIM_FH = 4,
		CLAIM_DELEG_CUR_FH = 5,
	};
	constexpr std::uint32_t ACCESS_BOTH = 3;
	in_.skip(4, "seqid");
	const std::uint32_t access = in_.u32("share_access") & ACCESS_BOTH;
	in_.skip(4, "share_deny");
	in_.skip(8, "the owner's clientid");
	const Bytes owner = bytes_of(in_.opaque("the open owner"));
	const Making making = read_making();
	const std::uint32_t claim = in_.u32("open_claim_type4");
	if (access == 0)
		throw Failure{NFSERR_INVAL};

	File &directory = current();
	const std::uint64_t before = directory.change;
	File *file = &directory;
	Bitmap set;
	switch (claim) {
	case CLAIM_DELEGATE_CUR:
		in_.skip(STATEID, "delegate_stateid");
		[[fallthrough]];
	case CLAIM_NULL: {
		const std::string name = read_name();
		file = making.wanted ? &make(directory, name, making, set) : &files_.look_up(directory, name);
		break;
	}
	case CLAIM_PREVIOUS:
		in_.skip(4, "delegate_type");
		break;
	case CLAIM_FH:
		break;
	case CLAIM_DELEG_CUR_FH:
		in_.skip(STATEID, "oc_delegate_stateid");
		break;
	default:
		throw Failure{NFSERR_NOTSUPP};
	}
	if (file->kind != File::Kind::regular)
		throw Failure{file->kind == File::Kind::directory ? NFSERR_ISDIR : NFS4ERR_SYMLINK};
	go_to(*file);

	Nfs4::Open &open = opened(*file, session_->client, owner);
	open.access |= access;
	out_.fixed(stateid_of(open.sequence, open.number));
	write_change_info(before, directory);
	out_.u32(0); // rflags
	set.write(out_);
	write_delegation(*file, session_->client, access);
}

// An open owner has one stateid for a file, whose seqid grows.
Nfs4::Open &Compound::opened(const File &file, std::uint64_t client, const Bytes &owner)
{
	for (Nfs4::Open &open : program_.opens_) {
		if (open.client == client && open.file == file.id && open.owner == owner) {
			open.sequence++;
			return open;
		}
	}
	if (program_.opens_.size() == MOST_OPENS)
		program_.opens_.pop_front();
	Nfs4::Open &open = program_.opens_.emplace_back();
	open.client = client;
	open.owner = owner;
	open.file = file.id;
	open.number = program_.next_++;
	open.sequence = 1;
	return open;
}

// Whoever only reads gets the file delegated, unless somebody writes to it or it is delegated to the client already.
void Compound::write_delegation(const File &file, std::uint64_t client, std::uint32_t access)
{
	enum Delegation : std::uint32_t { NONE = 0, READ = 1 };
	constexpr std::uint32_t ACCESS_READ = 1;
	constexpr std::uint32_t ACCESS_WRITE = 2;
	const bool written = std::any_of(program_.opens_.begin(), program_.opens_.end(), [&](const Nfs4::Open &open) {
		return open.file == file.id && (open.access & ACCESS_WRITE);
	});
	const bool has =
		std::any_of(program_.delegations_.begin(), program_.delegations_.end(), [&](const auto &delegation) {
			return delegation.file == file.id && delegation.client == client;
		});
	if (!settings_.delegations || access != ACCESS_READ || written || has ||
	    !program_.has_backchannel(session_->id))
		return out_.u32(NONE);
	const Service::Delegation delegation = {.file = file.id,
						.handle = Files::handle(file),
						.stateid = stateid_of(1, program_.next_++),
						.client = client};
	out_.u32(READ);
	out_.fixed(delegation.stateid);
	out_.boolean(false); // not recalled at once
	for (int zero = 0; zero < 3; zero++)
		out_.u32(0); // an ACE that allows nothing: who else opens the file asks
	out_.string("");
	program_.delegations_.push_back(delegation);
}

void Compound::close()
{
	constexpr std::uint32_t INVALID = 0xffffffff;
	in_.skip(4, "seqid");
	const ByteView stateid = in_.fixed(STATEID, "open_stateid");
	static_cast<void>(current());
	if (const Nfs4::Open *const open = program_.find_open(stateid))
		std::erase_if(program_.opens_,
			      [number = open->number](const Nfs4::Open &other) { return other.number == number; });
	// RFC 8881, 18.2.4: the special stateid that nothing can be done with.
	out_.u32(INVALID);
	out_.fixed(Bytes(STATEID - 4));
}

void Compound::open_downgrade()
{
	const ByteView stateid = in_.fixed(STATEID, "open_stateid");
	in_.skip(4, "seqid");
	const std::uint32_t access = in_.u32("share_access");
	in_.skip(4, "share_deny");
	static_cast<void>(current());
	Nfs4::Open *const open = program_.find_open(stateid);
	if (!open)
		throw Failure{NFS4ERR_BAD_STATEID};
	open->access = access;
	out_.fixed(stateid_of(++open->sequence, open->number));
}

void Compound::delegreturn()
{
	const ByteView stateid = in_.fixed(STATEID, "deleg_stateid");
	static_cast<void>(current());
	std::erase_if(program_.delegations_,
		      [&](const auto &delegation) { return number_of(delegation.stateid) == number_of(stateid); });
}

void Compound::read()
{
	in_.skip(STATEID, "stateid");
	const std::uint64_t offset = in_.u64("offset");
	const std::uint32_t count = std::min(in_.u32("count"), settings_.transfer_size);
	const File &file = current();
	const ByteView data = Files::read(file, offset, count);
	out_.boolean(offset + data.size() >= file.content.size());
	out_.item(data);
}

void Compound::write()
{
	constexpr std::uint32_t FILE_SYNC = 2;
	in_.skip(STATEID, "stateid");
	const std::uint64_t offset = in_.u64("offset");
	const std::uint32_t stable = in_.u32("stable");
	const ByteView data = in_.opaque("data");
	if (stable > FILE_SYNC)
		throw Malformed("stable is " + std::to_string(stable) + ", where 0 to 2 are defined");
	files_.write(current(), offset, data);
	out_.u32(static_cast<std::uint32_t>(data.size()));
	out_.u32(stable);
	out_.u64(WRITE_VERIFIER);
}

void Compound::commit()
{
	in_.skip(8 + 4, "COMMIT's offset and count");
	static_cast<void>(current());
	out_.u64(WRITE_VERIFIER);
}

void Compound::create()
{
	enum Type : std::uint32_t { BLOCK = 3, CHARACTER = 4 };
	const std::uint32_t type = in_.u32("nfs_ftype4");
	ByteView target;
	if (type == TYPE_LINK)
		target = in_.opaque("linkdata");
	else if (type == BLOCK || type == CHARACTER)
		in_.skip(8, "specdata4");
	const std::string name = read_name();
	const Setting setting = read_fattr(in_);
	if (type != TYPE_LINK && type != TYPE_DIRECTORY)
		throw Failure{NFSERR_BADTYPE};
	File &directory = current();
	const std::uint64_t before = directory.change;
	File &made = type == TYPE_LINK ? files_.make_link(directory, name, target) :
					 files_.make(directory, name, File::Kind::directory);
	files_.set(made, {.mode = setting.values.mode, .size = {}});
	write_change_info(before, directory);
	setting.which.write(out_);
	go_to(made);
}

void Compound::remove()
{
	const std::string name = read_name();
	File &directory = current();
	const std::uint64_t before = directory.change;
	if (files_.look_up(directory, name).kind == File::Kind::directory)
		files_.remove_directory(directory, name);
	else
		files_.remove(directory, name);
	write_change_info(before, directory);
}

void Compound::rename()
{
	const std::string name = in_.string("oldname");
	const std::string new_name = in_.string("newname");
	if (!saved_)
		throw Failure{NFS4ERR_NOFILEHANDLE};
	File &from = files_.find(*saved_);
	File &to = current();
	path_ = files_.path_of(from, name);
	const std::uint64_t from_before = from.change;
	const std::uint64_t to_before = to.change;
	files_.rename(from, name, to, new_name);
	write_change_info(from_before, from);
	write_change_info(to_before, to);
}

void Compound::readdir()
{
	constexpr std::size_t END = 8; // no further entry, eof
	const std::uint64_t cookie = in_.u64("cookie");
	in_.skip(VERIFIER, "cookieverf");
	in_.skip(4, "dircount");
	const std::size_t longest = std::min(in_.u32("maxcount"), settings_.transfer_size);
	const Bitmap asked = Bitmap::read(in_);
	const std::vector<Files::Entry> entries = files_.list(current(), cookie, false);
	out_.u64(0); // cookieverf
	std::size_t listed = 0;
	for (; listed < entries.size(); listed++) {
		XdrWriter entry;
		entry.boolean(true);
		entry.u64(entries[listed].cookie);
		entry.string(entries[listed].name);
		write_attributes(entry, asked, *entries[listed].file);
		if (out_.size() + entry.size() + END > longest)
			break;
		out_.fixed(entry.take());
	}
	if (listed == 0 && !entries.empty())
		throw Failure{NFSERR_TOOSMALL};
	out_.boolean(false);
	out_.boolean(listed == entries.size());
}

void Compound::readlink()
{
	out_.item(Files::target(current()));
}

// What outlives a COMPOUND

ProgramResult Nfs4::serve(const CallHeader &call, XdrReader &arguments, std::uint64_t connection,
			  const Settings &settings)
{
	if (call.procedure == PROC_COMPOUND)
		return Compound(*this, arguments, connection, settings).serve();
	ProgramResult outcome;
	if (call.procedure == PROC_NULL)
		outcome.operation = "NULL";
	else
		outcome.header.status = RPC_PROC_UNAVAIL;
	return outcome;
}

void Nfs4::forget(std::uint64_t connection)
{
	std::erase_if(backchannels_,
		      [&](const Service::Backchannel &channel) { return channel.connection == connection; });
}

Nfs4::Client *Nfs4::find_client(std::uint64_t id)
{
	const auto found =
		std::find_if(clients_.begin(), clients_.end(), [&](const Client &client) { return client.id == id; });
	return found == clients_.end() ? nullptr : &*found;
}

Nfs4::Session *Nfs4::find_session(ByteView id)
{
	const auto found = std::find_if(sessions_.begin(), sessions_.end(),
					[&](const Session &session) { return same(session.id, id); });
	return found == sessions_.end() ? nullptr : &*found;
}

Nfs4::Open *Nfs4::find_open(ByteView stateid)
{
	const std::optional<std::uint64_t> number = number_of(stateid);
	const auto found =
		std::find_if(opens_.begin(), opens_.end(), [&](const Open &open) { return open.number == number; });
	return found == opens_.end() ? nullptr : &*found;
}

bool Nfs4::has_backchannel(const Bytes &session) const
{
	return std::any_of(backchannels_.begin(), backchannels_.end(),
			   [&](const Service::Backchannel &channel) { return channel.session == session; });
}

void Nfs4::drop_client(std::uint64_t id)
{
	std::vector<Bytes> doomed;
	for (const Session &session : sessions_)
		if (session.client == id)
			doomed.push_back(session.id);
	for (const Bytes &session : doomed)
		drop_session(session);
	std::erase_if(opens_, [&](const Open &open) { return open.client == id; });
	std::erase_if(delegations_, [&](const Service::Delegation &delegation) { return delegation.client == id; });
	std::erase_if(clients_, [&](const Client &client) { return client.id == id; });
}

void Nfs4::drop_session(const Bytes &id)
{
	std::erase_if(backchannels_, [&](const Service::Backchannel &channel) { return channel.session == id; });
	std::erase_if(sessions_, [&](const Session &session) { return session.id == id; });
}

} // namespace peer
