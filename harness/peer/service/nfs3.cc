// SPDX-License-Identifier: GPL-2.0-only
//
// NFS version 3 (RFC 1813), as a responder speaks it.

#include <algorithm>

#include "service/programs.hh"

namespace peer {

namespace {

enum CreateMode : std::uint32_t { UNCHECKED = 0, GUARDED = 1, EXCLUSIVE = 2 };
enum SetTime : std::uint32_t { DONT_CHANGE = 0, TO_SERVER_TIME = 1, TO_CLIENT_TIME = 2 };

constexpr std::size_t TIME = 8;
// How many of the Calls that must not be carried out twice are remembered.
constexpr std::size_t REMEMBERED = 64;

void write_time(XdrWriter &xdr, Time time)
{
	xdr.u32(time.seconds);
	xdr.u32(time.nanoseconds);
}

Files::Attributes read_sattr(XdrReader &xdr)
{
	Files::Attributes set;
	if (xdr.boolean("set_mode3"))
		set.mode = xdr.u32("mode");
	if (xdr.boolean("set_uid3"))
		xdr.skip(4, "uid");
	if (xdr.boolean("set_gid3"))
		xdr.skip(4, "gid");
	if (xdr.boolean("set_size3"))
		set.size = xdr.u64("size");
	for (const char *const field : {"set_atime", "set_mtime"}) {
		const std::uint32_t how = xdr.u32(field);
		if (how > TO_CLIENT_TIME)
			throw Malformed(std::string(field) + " is " + std::to_string(how) +
					", where 0 to 2 are defined");
		if (how == TO_CLIENT_TIME)
			xdr.skip(TIME, field);
	}
	return set;
}

} // namespace

// One Call of version 3.
class Nfs3Call {
    public:
	Nfs3Call(Nfs3 &program, XdrReader &in, const Settings &settings)
		: files_(program.files_)
		, verifiers_(program.verifiers_)
		, in_(in)
		, settings_(settings)
	{
	}

	struct Procedure {
		const char *name;
		void (Nfs3Call::*serve)();
		// What a failure is followed by: as many absent attributes, pre_op_attr and post_op_attr alike.
		unsigned absent = 0;
		// Whether to do it twice is something else than to do it once.
		bool once = false;
	};
	// By procedure number; those without a function are not supported.
	static const std::array<Procedure, 22> PROCEDURES;

	[[nodiscard]] ProgramResult serve(const Procedure &procedure)
	{
		ProgramResult outcome;
		outcome.operation = procedure.name;
		try {
			out_.u32(NFS_OK);
			(this->*procedure.serve)();
		} catch (const Failure &failure) {
			out_ = {};
			out_.u32(failure.status);
			for (unsigned i = 0; i < procedure.absent; i++)
				out_.boolean(false);
		}
		outcome.path = path_;
		outcome.results = out_.payload();
		return outcome;
	}

    private:
	// A file as it was, for wcc_data.
	struct Before {
		std::uint64_t size;
		Time time;
	};

	File &file()
	{
		File &file = files_.find(in_.opaque("nfs_fh3"));
		path_ = file.path;
		return file;
	}

	// diropargs3: the path is that of the name in the directory.
	File &directory_and(std::string &name)
	{
		const ByteView handle = in_.opaque("the directory's nfs_fh3");
		name = in_.string("filename3");
		File &directory = files_.find(handle);
		path_ = files_.path_of(directory, name);
		return directory;
	}

	static Before before(const File &file) { return {size_of(file), time_of(file)}; }

	void write_attributes(XdrWriter &xdr, const File &file)
	{
		xdr.u32(type_of(file));
		xdr.u32(file.mode);
		xdr.u32(links_of(file, files_.tree()));
		xdr.u64(0); // uid and gid
		xdr.u64(size_of(file));
		xdr.u64(size_of(file)); // used
		xdr.u64(0); // rdev
		xdr.u64(FILE_SYSTEM);
		xdr.u64(file.id);
		for (int time = 0; time < 3; time++)
			write_time(xdr, time_of(file));
	}

	void write_post_op(XdrWriter &xdr, const File &file)
	{
		xdr.boolean(true);
		write_attributes(xdr, file);
	}

	void write_wcc(const Before &before, const File &file)
	{
		out_.boolean(true);
		out_.u64(before.size);
		write_time(out_, before.time); // mtime
		write_time(out_, before.time); // ctime
		write_post_op(out_, file);
	}

	// What CREATE, MKDIR and SYMLINK result in.
	void write_made(const File &made, const Before &before, const File &directory)
	{
		out_.boolean(true);
		out_.opaque(Files::handle(made));
		write_post_op(out_, made);
		write_wcc(before, directory);
	}

	void getattr() { write_attributes(out_, file()); }

	void setattr()
	{
		const ByteView handle = in_.opaque("nfs_fh3");
		const Files::Attributes set = read_sattr(in_);
		if (in_.boolean("sattrguard3"))
			in_.skip(TIME, "the guard's ctime");
		File &file = files_.find(handle);
		path_ = file.path;
		const Before was = before(file);
		files_.set(file, set);
		write_wcc(was, file);
	}

	void lookup()
	{
		std::string name;
		const File &directory = directory_and(name);
		const File &found = files_.look_up(directory, name);
		path_ = found.path;
		out_.opaque(Files::handle(found));
		write_post_op(out_, found);
		write_post_op(out_, directory);
	}

	void access()
	{
		constexpr std::uint32_t ALL = 0x3f;
		const File &there = file();
		const std::uint32_t asked = in_.u32("access");
		write_post_op(out_, there);
		out_.u32(asked & ALL);
	}

	void readlink()
	{
		const File &link = file();
		const ByteView target = Files::target(link);
		write_post_op(out_, link);
		out_.item(target);
	}

	void read()
	{
		const File &there = file();
		const std::uint64_t offset = in_.u64("offset");
		const std::uint32_t count = std::min(in_.u32("count"), settings_.transfer_size);
		const ByteView data = Files::read(there, offset, count);
		write_post_op(out_, there);
		out_.u32(static_cast<std::uint32_t>(data.size()));
		out_.boolean(offset + data.size() >= there.content.size());
		out_.item(data);
	}

	void write()
	{
		constexpr std::uint32_t FILE_SYNC = 2;
		File &there = file();
		const std::uint64_t offset = in_.u64("offset");
		const std::uint32_t count = in_.u32("count");
		const std::uint32_t stable = in_.u32("stable");
		const ByteView data = in_.opaque("data");
		if (stable > FILE_SYNC)
			throw Malformed("stable is " + std::to_string(stable) + ", where 0 to 2 are defined");
		if (count != data.size())
			throw Failure{NFSERR_INVAL};
		const Before was = before(there);
		files_.write(there, offset, data);
		write_wcc(was, there);
		out_.u32(count);
		out_.u32(stable);
		out_.u64(WRITE_VERIFIER);
	}

	void create()
	{
		std::string name;
		File &directory = directory_and(name);
		const std::uint32_t mode = in_.u32("createmode3");
		if (mode > EXCLUSIVE)
			throw Malformed("createmode3 is " + std::to_string(mode) + ", where 0 to 2 are defined");
		const Files::Attributes set = mode == EXCLUSIVE ? Files::Attributes{} : read_sattr(in_);
		const std::uint64_t verifier = mode == EXCLUSIVE ? in_.u64("createverf3") : 0;
		const Before was = before(directory);
		File *made = files_.look_up_if_there(directory, name);
		if (!made) {
			made = &files_.make(directory, name, File::Kind::regular);
			if (mode == EXCLUSIVE)
				verifiers_[made->id] = verifier;
		} else if (made->kind != File::Kind::regular || mode == GUARDED ||
			   (mode == EXCLUSIVE &&
			    (!verifiers_.contains(made->id) || verifiers_[made->id] != verifier))) {
			throw Failure{NFSERR_EXIST};
		}
		if (mode != EXCLUSIVE)
			files_.set(*made, set);
		write_made(*made, was, directory);
	}

	void mkdir()
	{
		std::string name;
		File &directory = directory_and(name);
		const Files::Attributes set = read_sattr(in_);
		const Before was = before(directory);
		File &made = files_.make(directory, name, File::Kind::directory);
		files_.set(made, {.mode = set.mode, .size = {}, .acl = {}});
		write_made(made, was, directory);
	}

	void symlink()
	{
		std::string name;
		File &directory = directory_and(name);
		read_sattr(in_);
		const ByteView target = in_.opaque("nfspath3");
		const Before was = before(directory);
		const File &made = files_.make_link(directory, name, target);
		write_made(made, was, directory);
	}

	void remove() { take_away(&Files::remove); }

	void rmdir() { take_away(&Files::remove_directory); }

	void take_away(void (Files::*how)(File &directory, const std::string &name))
	{
		std::string name;
		File &directory = directory_and(name);
		const Before was = before(directory);
		(files_.*how)(directory, name);
		write_wcc(was, directory);
	}

	void rename()
	{
		std::string name;
		File &from = directory_and(name);
		const std::string path = path_;
		std::string new_name;
		File &to = directory_and(new_name);
		path_ = path;
		const Before from_was = before(from);
		const Before to_was = before(to);
		files_.rename(from, name, to, new_name);
		write_wcc(from_was, from);
		write_wcc(to_was, to);
	}

	void readdir() { list(false); }

	void readdirplus() { list(true); }

	void list(bool plus)
	{
		constexpr std::size_t END = 8; // no further entry, eof
		const File &directory = file();
		const std::uint64_t cookie = in_.u64("cookie");
		in_.skip(8, "cookieverf3");
		if (plus)
			in_.skip(4, "dircount");
		const std::size_t longest = std::min(in_.u32("count"), settings_.transfer_size);
		const std::vector<Files::Entry> entries = files_.list(directory, cookie, true);
		const std::size_t start = out_.size();
		write_post_op(out_, directory);
		out_.u64(0); // cookieverf3
		std::size_t listed = 0;
		for (; listed < entries.size(); listed++) {
			const Bytes entry = entry_of(entries[listed], plus);
			if (out_.size() - start + entry.size() + END > longest)
				break;
			out_.fixed(entry);
		}
		if (listed == 0 && !entries.empty())
			throw Failure{NFSERR_TOOSMALL};
		out_.boolean(false);
		out_.boolean(listed == entries.size());
	}

	Bytes entry_of(const Files::Entry &entry, bool plus)
	{
		XdrWriter xdr;
		xdr.boolean(true);
		xdr.u64(entry.file->id);
		xdr.string(entry.name);
		xdr.u64(entry.cookie);
		if (plus) {
			write_post_op(xdr, *entry.file);
			xdr.boolean(true);
			xdr.opaque(Files::handle(*entry.file));
		}
		return xdr.take();
	}

	void fsstat()
	{
		write_post_op(out_, file());
		const std::uint64_t used = files_.tree().used();
		const std::uint64_t free = Tree::CAPACITY - std::min(used, Tree::CAPACITY);
		out_.u64(Tree::CAPACITY);
		out_.u64(free);
		out_.u64(free);
		out_.u64(Tree::CAPACITY / Tree::OVERHEAD);
		out_.u64(free / Tree::OVERHEAD);
		out_.u64(free / Tree::OVERHEAD);
		out_.u32(0); // invarsec
	}

	void fsinfo()
	{
		constexpr std::uint32_t MULTIPLE = 4096;
		constexpr std::uint32_t SYMLINKS = 2;
		constexpr std::uint32_t HOMOGENEOUS = 8;
		write_post_op(out_, file());
		for (int direction = 0; direction < 2; direction++) { // reading, then writing
			out_.u32(settings_.transfer_size);
			out_.u32(settings_.transfer_size);
			out_.u32(MULTIPLE);
		}
		out_.u32(settings_.transfer_size); // dtpref
		out_.u64(Files::LONGEST_FILE);
		out_.u32(0); // time_delta
		out_.u32(1);
		out_.u32(SYMLINKS | HOMOGENEOUS);
	}

	void pathconf()
	{
		write_post_op(out_, file());
		out_.u32(1); // linkmax
		out_.u32(Files::LONGEST_NAME);
		out_.boolean(true); // no_trunc
		out_.boolean(true); // chown_restricted
		out_.boolean(false); // case_insensitive
		out_.boolean(true); // case_preserving
	}

	void commit()
	{
		File &there = file();
		in_.skip(8 + 4, "COMMIT's offset and count");
		write_wcc(before(there), there);
		out_.u64(WRITE_VERIFIER);
	}

	void unsupported() { throw Failure{NFSERR_NOTSUPP}; }

	Files &files_;
	std::map<FileId, std::uint64_t> &verifiers_;
	XdrReader &in_;
	const Settings &settings_;
	ResultWriter out_;
	std::string path_;
};

const std::array<Nfs3Call::Procedure, 22> Nfs3Call::PROCEDURES = {{
	{"NULL", nullptr},
	{"GETATTR", &Nfs3Call::getattr},
	{"SETATTR", &Nfs3Call::setattr, 2, true},
	{"LOOKUP", &Nfs3Call::lookup, 1},
	{"ACCESS", &Nfs3Call::access, 1},
	{"READLINK", &Nfs3Call::readlink, 1},
	{"READ", &Nfs3Call::read, 1},
	{"WRITE", &Nfs3Call::write, 2},
	{"CREATE", &Nfs3Call::create, 2, true},
	{"MKDIR", &Nfs3Call::mkdir, 2, true},
	{"SYMLINK", &Nfs3Call::symlink, 2, true},
	{"MKNOD", &Nfs3Call::unsupported, 2},
	{"REMOVE", &Nfs3Call::remove, 2, true},
	{"RMDIR", &Nfs3Call::rmdir, 2, true},
	{"RENAME", &Nfs3Call::rename, 4, true},
	{"LINK", &Nfs3Call::unsupported, 3},
	{"READDIR", &Nfs3Call::readdir, 1},
	{"READDIRPLUS", &Nfs3Call::readdirplus, 1},
	{"FSSTAT", &Nfs3Call::fsstat, 1},
	{"FSINFO", &Nfs3Call::fsinfo, 1},
	{"PATHCONF", &Nfs3Call::pathconf, 1},
	{"COMMIT", &Nfs3Call::commit, 2},
}};

ProgramResult Nfs3::serve(const CallHeader &call, XdrReader &arguments, ByteView stream, const Settings &settings)
{
	ProgramResult outcome;
	if (call.procedure >= Nfs3Call::PROCEDURES.size()) {
		outcome.header.status = RPC_PROC_UNAVAIL;
		return outcome;
	}
	const Nfs3Call::Procedure &procedure = Nfs3Call::PROCEDURES.at(call.procedure);
	if (!procedure.serve) {
		outcome.operation = procedure.name;
		return outcome;
	}
	if (!procedure.once)
		return Nfs3Call(*this, arguments, settings).serve(procedure);

	const auto before = std::find_if(done_.begin(), done_.end(), [&](const Done &done) {
		return std::equal(done.call.begin(), done.call.end(), stream.begin(), stream.end());
	});
	if (before != done_.end())
		return before->outcome;
	outcome = Nfs3Call(*this, arguments, settings).serve(procedure);
	done_.push_back({{stream.begin(), stream.end()}, outcome});
	if (done_.size() > REMEMBERED)
		done_.pop_front();
	return outcome;
}

} // namespace peer
