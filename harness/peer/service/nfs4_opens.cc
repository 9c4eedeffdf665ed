// SPDX-License-Identifier: GPL-2.0-only
//
// Opens and delegations, and the stateids that stand for them.

#include "service/compound.hh"

#include <algorithm>

namespace peer {

namespace {

// The other part of a stateid is a number of ours, and what tells it from anybody else's.
constexpr std::uint32_t STATEID_MARK = 0x70656572;

} // namespace

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

} // namespace peer
