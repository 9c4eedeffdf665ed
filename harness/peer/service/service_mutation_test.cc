// SPDX-License-Identifier: GPL-2.0-only
//
// Good Calls, cut off at every byte and with bytes changed: whatever comes, there is a Reply, or there was no Call. What
// the sanitizers do not see is checked here: a Reply's items are in it.

#include <functional>
#include <memory>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "nfs/nfs.hh"
#include "service/service.hh"

namespace peer {
namespace {

constexpr unsigned SEED = 20261121;
constexpr std::size_t MUTANTS_OF_EACH = 300;

// A service with something in it, a session, and Calls that all succeed.
struct World {
	World()
	{
		tree.put("/d/data", Bytes(5000, 1));
		tree.put_link("/link", "target");
		for (int i = 0; i < 20; i++)
			tree.put("/d/name-" + std::to_string(i), {});
		service.delegations(true);
		nfs4::take_exchange_id(session, answer(nfs4::exchange_id(1, "owner")));
		nfs4::take_create_session(session, answer(nfs4::create_session(2, session, true)));
		root = nfs3::mount(3, "/").read(answer(nfs3::mount(3, "/"))).handle;
		directory = look_up(root, "d");
		data = look_up(directory, "data");
		link = look_up(root, "link");
	}

	Bytes answer(const NfsCall &call) { return service.serve(call.call.stream, 1).reply.stream; }

	FileHandle look_up(const FileHandle &in, const std::string &name)
	{
		const NfsCall call = nfs3::lookup(4, in, name);
		return call.read(answer(call)).handle;
	}

	// A Call of version 3 without a maker: its procedure's number and its arguments.
	static Bytes bare(std::uint32_t procedure, const std::function<void(XdrWriter &)> &arguments)
	{
		XdrWriter xdr;
		write(xdr, CallHeader{.xid = 5, .program = NFS_PROGRAM, .version = 3, .procedure = procedure});
		arguments(xdr);
		return xdr.take();
	}

	// A COMPOUND of SEQUENCE, PUTFH of the directory, and the operations.
	Bytes compound(std::uint32_t count, const std::function<void(XdrWriter &)> &operations)
	{
		constexpr std::ptrdiff_t GETATTR = 12;
		const Bytes whole = nfs4::getattr(6, session, directory).call.stream;
		Bytes stream(whole.begin(), whole.end() - GETATTR);
		XdrReader xdr(stream);
		static_cast<void>(read_call(xdr));
		stream[xdr.offset() + 4 + 4 + 3] = static_cast<std::uint8_t>(2 + count);
		XdrWriter more;
		operations(more);
		const Bytes tail = more.take();
		stream.insert(stream.end(), tail.begin(), tail.end());
		return stream;
	}

	// The Calls. What they would do to the session's slot is left to whoever sends one.
	std::vector<Bytes> calls()
	{
		std::vector<Bytes> all;
		const auto add = [&](const NfsCall &call) { all.push_back(call.call.stream); };
		const nfs4::Session before = session;
		const auto next = [&]() -> nfs4::Session & { return session = before; };
		add(nfs3::null(9));
		add(nfs3::mount(9, "/d"));
		add(nfs3::getattr(9, data));
		add(nfs3::create(9, directory, "new"));
		add(nfs3::remove(9, directory, "name-1"));
		add(nfs3::mkdir(9, directory, "sub"));
		add(nfs3::symlink(9, directory, "l", "target"));
		add(nfs3::readlink(9, link));
		add(nfs3::read(9, data, 0, 4096));
		add(nfs3::write(9, data, 0, Bytes(100)));
		add(nfs3::readdir(9, directory, 4096));
		add(nfs4::exchange_id(9, "other"));
		add(nfs4::lookup(9, next(), "/d/data"));
		add(nfs4::read(9, next(), data, 0, 4096));
		add(nfs4::write(9, next(), data, 0, Bytes(10), Bytes(10)));
		add(nfs4::readdir(9, next(), directory, 4096));
		add(nfs4::readlink(9, next(), link));
		add(nfs4::open(9, next(), directory, "data"));
		next().create_sequence++;
		add(nfs4::create_session(9, session, true));
		for (const std::uint32_t procedure :
		     {4U, 18U, 19U, 20U, 21U}) // ACCESS, FSSTAT, FSINFO, PATHCONF, COMMIT
			all.push_back(bare(procedure, [&](XdrWriter &xdr) {
				xdr.opaque(data);
				xdr.u64(0);
				xdr.u32(0);
			}));
		all.push_back(bare(2, [&](XdrWriter &xdr) { // SETATTR of mode and size
			xdr.opaque(data);
			for (const std::uint32_t word : {1U, 0600U, 0U, 0U, 1U, 0U, 100U, 1U, 2U, 0U, 0U, 0U})
				xdr.u32(word);
		}));
		all.push_back(bare(14, [&](XdrWriter &xdr) { // RENAME
			xdr.opaque(directory);
			xdr.string("name-2");
			xdr.opaque(root);
			xdr.string("renamed");
		}));
		all.push_back(bare(17, [&](XdrWriter &xdr) { // READDIRPLUS
			xdr.opaque(directory);
			for (const std::uint32_t word : {0U, 0U, 0U, 0U, 4096U, 4096U})
				xdr.u32(word);
		}));
		next();
		all.push_back(compound(3, [](XdrWriter &xdr) { // OPEN that makes a file, GETATTR of all, CLOSE
			for (const std::uint32_t word : {18U, 0U, 3U, 0U, 0U, 1U})
				xdr.u32(word);
			xdr.string("owner");
			for (const std::uint32_t word : {1U, 0U, 2U, 0U, 2U, 4U, 0600U, 0U})
				xdr.u32(word);
			xdr.string("made");
			for (const std::uint32_t word : {9U, 3U, 0xffffffffU, 0xffffffffU, 0xffffffffU, 4U})
				xdr.u32(word);
			xdr.fixed(Bytes(20));
		}));
		next();
		all.push_back(compound(4, [](XdrWriter &xdr) { // SAVEFH, RENAME, REMOVE, TEST_STATEID
			xdr.u32(32);
			xdr.u32(29);
			xdr.string("name-3");
			xdr.string("name-4");
			xdr.u32(28);
			xdr.string("name-5");
			xdr.u32(55);
			xdr.u32(1);
			xdr.fixed(Bytes(16));
		}));
		next();
		all.push_back(compound(2, [](XdrWriter &xdr) { // SETATTR, CREATE of a link
			xdr.u32(34);
			xdr.fixed(Bytes(16));
			for (const std::uint32_t word : {2U, 0U, 1U << 1, 4U, 0755U, 6U, 5U})
				xdr.u32(word);
			xdr.string("target");
			xdr.string("another");
			xdr.u32(0);
			xdr.u32(0);
		}));
		next();
		return all;
	}

	// Has the slot take a number that it has not had, whatever has been sent with the next one. False where the session
	// is no more.
	bool settle()
	{
		answer(nfs4::lookup(1, session, "/"));
		const NfsCall call = nfs4::lookup(1, session, "/");
		return call.read(answer(call)).status == 0;
	}

	Tree tree;
	Service service{tree};
	nfs4::Session session;
	FileHandle root;
	FileHandle directory;
	FileHandle data;
	FileHandle link;
};

// Whether the Call was carried out without a complaint, of RPC or of NFS.
bool serve(World &world, const Bytes &call)
{
	try {
		const Served served = world.service.serve(call, 1);
		for (const Item &item : served.reply.items)
			EXPECT_LE(item.offset + item.length + roundup_of(item.length), served.reply.stream.size());
		XdrReader xdr(served.reply.stream);
		const ReplyHeader reply = read_reply(xdr);
		EXPECT_EQ(reply.xid, served.call.xid);
		EXPECT_EQ(served.reply.stream.size() % 4, 0U);
		return reply.accepted && reply.status == RPC_SUCCESS && (xdr.rest().empty() || xdr.u32("status") == 0);
	} catch (const Malformed &) {
		return false;
	}
}

// Serves mutants of each Call, made by @mutate from the Call and the mutant's number, until that has no more. The
// Calls of version 4 are always those that the slot expects.
void serve_mutants(const std::function<std::optional<Bytes>(const Bytes &call, std::size_t number)> &mutate)
{
	const std::size_t count = World().calls().size();
	for (std::size_t which = 0; which < count; which++) {
		auto world = std::make_unique<World>();
		for (std::size_t number = 0;; number++) {
			const std::optional<Bytes> mutant = mutate(world->calls()[which], number);
			if (!mutant)
				break;
			serve(*world, *mutant);
			if (!world->settle())
				world = std::make_unique<World>();
		}
	}
}

TEST(ServiceMutation, EachCallIsGoodToBeginWith)
{
	const std::size_t count = World().calls().size();
	for (std::size_t which = 0; which < count; which++) {
		World world;
		EXPECT_TRUE(serve(world, world.calls()[which])) << which;
	}
}

TEST(ServiceMutation, ACallMayBeCutOffAtAnyByte)
{
	serve_mutants([](const Bytes &call, std::size_t length) -> std::optional<Bytes> {
		if (length >= call.size())
			return std::nullopt;
		return Bytes(call.begin(), call.begin() + static_cast<std::ptrdiff_t>(length));
	});
}

TEST(ServiceMutation, AnyBytesOfACallMayBeOthers)
{
	std::mt19937 random(SEED);
	serve_mutants([&](const Bytes &call, std::size_t number) -> std::optional<Bytes> {
		static constexpr std::uint8_t FAVOURITES[] = {0, 1, 2, 3, 0x7f, 0x80, 0xff};
		if (number == MUTANTS_OF_EACH)
			return std::nullopt;
		Bytes changed = call;
		for (std::size_t changes = 1 + random() % 4; changes > 0; changes--)
			changed[random() % changed.size()] = random() % 2 ?
								     FAVOURITES[random() % std::size(FAVOURITES)] :
								     static_cast<std::uint8_t>(random());
		return changed;
	});
}

TEST(ServiceMutation, AnyWordOfACallMayBeExtreme)
{
	static constexpr std::uint32_t EXTREMES[] = {0, 1, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff};
	serve_mutants([](const Bytes &call, std::size_t number) -> std::optional<Bytes> {
		const std::size_t at = number / std::size(EXTREMES) * 4;
		if (at + 4 > call.size())
			return std::nullopt;
		XdrWriter word;
		word.u32(EXTREMES[number % std::size(EXTREMES)]);
		const Bytes bytes = word.take();
		Bytes changed = call;
		std::copy(bytes.begin(), bytes.end(), changed.begin() + static_cast<std::ptrdiff_t>(at));
		return changed;
	});
}

} // namespace
} // namespace peer
