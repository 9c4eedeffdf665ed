// SPDX-License-Identifier: GPL-2.0-only

#include <gtest/gtest.h>

#include "service/tree.hh"

namespace peer {
namespace {

TEST(Tree, BeginsWithItsRoot)
{
	Tree tree;
	const File *const root = tree.find(ROOT);
	ASSERT_TRUE(root);
	EXPECT_EQ(root->path, "/");
	EXPECT_EQ(root->kind, File::Kind::directory);
	for (const char *const path : {"", "/", "//"})
		EXPECT_EQ(tree.find(path), root);
	EXPECT_EQ(tree.find("/nothing"), nullptr);
}

TEST(Tree, PutMakesTheDirectoriesThatLeadThere)
{
	Tree tree;
	const FileId id = tree.put("cases/x/data", {1, 2}).id;
	for (const char *const path : {"cases/x/data", "/cases/x/data", "/cases//x/data"}) {
		ASSERT_TRUE(tree.find(path)) << path;
		EXPECT_EQ(tree.find(path)->id, id);
	}
	EXPECT_EQ(tree.find(id)->path, "/cases/x/data");
	EXPECT_EQ(tree.find("/cases/x")->kind, File::Kind::directory);
	EXPECT_EQ(tree.find(id)->parent, tree.find("/cases/x")->id);
	EXPECT_EQ(tree.find("/cases/x/data/below"), nullptr);
}

TEST(Tree, PutReplacesTheContentOfTheSameFile)
{
	Tree tree;
	const FileId id = tree.put("/data", {1}).id;
	const std::uint64_t change = tree.find(id)->change;
	EXPECT_EQ(tree.put("/data", {2, 3}).id, id);
	EXPECT_EQ(tree.find(id)->content, (Bytes{2, 3}));
	EXPECT_GT(tree.find(id)->change, change);
}

TEST(Tree, PutReplacesWhatIsOfAnotherKind)
{
	Tree tree;
	const FileId id = tree.put("/name", {1}).id;
	EXPECT_EQ(tree.put_link("/name", "target").kind, File::Kind::link);
	EXPECT_EQ(tree.find(id), nullptr);
	EXPECT_EQ(tree.find("/name")->content.size(), 6U);
	EXPECT_EQ(tree.put_directory("/name").kind, File::Kind::directory);
	EXPECT_EQ(tree.put("/name/below", {}).path, "/name/below");
}

TEST(Tree, RemoveTakesEverythingBelow)
{
	Tree tree;
	const FileId data = tree.put("/a/b/data", {1}).id;
	const FileId directory = tree.find("/a")->id;
	tree.remove("/a");
	EXPECT_EQ(tree.find("/a"), nullptr);
	EXPECT_EQ(tree.find(data), nullptr);
	EXPECT_EQ(tree.find(directory), nullptr);
	EXPECT_EQ(tree.count(), 1U);
	tree.remove("/a");
	tree.remove("/");
	EXPECT_EQ(tree.count(), 1U);
}

TEST(Tree, RenameTellsAllBelowTheirNewPaths)
{
	Tree tree;
	const FileId data = tree.put("/a/b/data", {1}).id;
	File &to = tree.put_directory("/c");
	tree.rename(*tree.find("/"), "a", to, "d");
	EXPECT_EQ(tree.find(data)->path, "/c/d/b/data");
	EXPECT_EQ(tree.find("/c/d/b/data")->id, data);
	EXPECT_EQ(tree.find("/a"), nullptr);
	EXPECT_EQ(tree.find("/c/d")->parent, to.id);
}

TEST(Tree, RenameReplacesWhatHadTheName)
{
	Tree tree;
	const FileId kept = tree.put("/a", {1}).id;
	const FileId lost = tree.put("/b", {2}).id;
	File &root = *tree.find(ROOT);
	tree.rename(root, "a", root, "b");
	EXPECT_EQ(tree.find(lost), nullptr);
	EXPECT_EQ(tree.find("/b")->id, kept);
	tree.rename(root, "b", root, "b");
	EXPECT_EQ(tree.find("/b")->id, kept);
}

TEST(Tree, KnowsWhatIsBelowWhat)
{
	Tree tree;
	const File &data = tree.put("/a/b/data", {});
	EXPECT_TRUE(tree.is_below(data, *tree.find("/a")));
	EXPECT_TRUE(tree.is_below(data, data));
	EXPECT_TRUE(tree.is_below(data, *tree.find("/")));
	EXPECT_FALSE(tree.is_below(*tree.find("/a"), data));
}

TEST(Tree, EveryChangeHasAHigherNumber)
{
	Tree tree;
	const std::uint64_t before = tree.find(ROOT)->change;
	const File &file = tree.put("/data", {});
	const std::uint64_t with = tree.find(ROOT)->change;
	EXPECT_GT(with, before);
	EXPECT_GT(file.change, before);
	tree.remove("/data");
	EXPECT_GT(tree.find(ROOT)->change, with);
}

TEST(Tree, CountsWhatItTakes)
{
	Tree tree;
	const std::uint64_t before = tree.used();
	tree.put("/data", Bytes(1000));
	EXPECT_EQ(tree.used(), before + Tree::OVERHEAD + 1000);
}

} // namespace
} // namespace peer
