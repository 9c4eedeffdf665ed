// SPDX-License-Identifier: GPL-2.0-only
//
// Files and directories: what is found, read, written, made and removed.

#include <algorithm>

#include "service/compound.hh"

namespace peer {

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

} // namespace peer
