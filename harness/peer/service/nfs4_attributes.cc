// SPDX-License-Identifier: GPL-2.0-only
//
// The attributes of files: GETATTR and SETATTR.

#include "service/nfs4_attributes.hh"

#include <algorithm>

#include "service/compound.hh"

namespace peer {

namespace {

void write_time(XdrWriter &xdr, Time time)
{
	xdr.u64(time.seconds);
	xdr.u32(time.nanoseconds);
}

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

} // namespace

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

} // namespace peer
