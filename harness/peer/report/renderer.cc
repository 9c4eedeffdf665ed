// SPDX-License-Identifier: GPL-2.0-only

#include "report/renderer.hh"

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace peer {

namespace {

// What a shell, and an emulator of processors, have where a program cannot be executed.
constexpr int NOT_EXECUTED = 127;

[[noreturn]] void fail(const std::string &what)
{
	throw RenderError(what + ": " + std::strerror(errno));
}

// A file in memory: neither end of it ever waits for the other one, or gets a signal when that has gone.
class MemoryFile {
    public:
	explicit MemoryFile(const char *name)
		: descriptor_(::memfd_create(name, MFD_CLOEXEC))
	{
		if (descriptor_ < 0)
			fail("no file in memory");
	}
	MemoryFile(const MemoryFile &) = delete;
	MemoryFile &operator=(const MemoryFile &) = delete;
	~MemoryFile() { ::close(descriptor_); }

	[[nodiscard]] int descriptor() const noexcept { return descriptor_; }

	// To be read from its beginning.
	void fill(std::string_view content)
	{
		while (!content.empty()) {
			const ::ssize_t count = ::write(descriptor_, content.data(), content.size());
			if (count < 0)
				fail("no room for a file in memory");
			content.remove_prefix(static_cast<std::size_t>(count));
		}
		::lseek(descriptor_, 0, SEEK_SET);
	}

	[[nodiscard]] std::string content()
	{
		std::string content;
		std::array<char, 65536> buffer;
		::lseek(descriptor_, 0, SEEK_SET);
		for (::ssize_t count; (count = ::read(descriptor_, buffer.data(), buffer.size())) > 0;)
			content.append(buffer.data(), static_cast<std::size_t>(count));
		return content;
	}

    private:
	int descriptor_;
};

struct Files {
	MemoryFile in{"view"};
	MemoryFile out{"document"};
	MemoryFile error{"complaint"};
};

// A group of processes of its own: what a terminal sends goes to those in front.
int start(::pid_t &process, std::vector<std::string> words, const Files &files)
{
	std::vector<char *> arguments;
	for (std::string &word : words)
		arguments.push_back(word.data());
	arguments.push_back(nullptr);

	::posix_spawn_file_actions_t actions;
	::posix_spawn_file_actions_init(&actions);
	::posix_spawn_file_actions_adddup2(&actions, files.in.descriptor(), STDIN_FILENO);
	::posix_spawn_file_actions_adddup2(&actions, files.out.descriptor(), STDOUT_FILENO);
	::posix_spawn_file_actions_adddup2(&actions, files.error.descriptor(), STDERR_FILENO);
	::posix_spawnattr_t attributes;
	::posix_spawnattr_init(&attributes);
	::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	const int error = ::posix_spawn(&process, arguments[0], &actions, &attributes, arguments.data(), environ);
	::posix_spawnattr_destroy(&attributes);
	::posix_spawn_file_actions_destroy(&actions);
	return error;
}

int status_of(::pid_t process)
{
	int status = 0;
	while (::waitpid(process, &status, 0) < 0)
		if (errno != EINTR)
			fail("render cannot be waited for");
	return status;
}

// Its first word is a script, which is there.
void complain_of_start(int error, const std::string &script)
{
	if (error == ENOENT)
		throw RenderError("needs python3 and python3-jinja2: apt install python3-jinja2");
	throw RenderError(script + " cannot be run: " + std::strerror(error));
}

void complain_of_end(int status, std::string complaint)
{
	complaint.erase(complaint.find_last_not_of('\n') + 1);
	if (!complaint.empty())
		throw RenderError(complaint);
	throw RenderError(WIFSIGNALED(status) ? "render was ended by signal " + std::to_string(WTERMSIG(status)) :
						"render ended with status " + std::to_string(WEXITSTATUS(status)));
}

std::string run(const std::filesystem::path &directory, std::vector<std::string> words, std::string_view input)
{
	const std::string script = directory / "render";
	if (::access(script.c_str(), F_OK) != 0)
		fail("the templates are not there: " + script);
	words.insert(words.begin(), script);

	Files files;
	files.in.fill(input);
	::pid_t process = 0;
	if (const int error = start(process, std::move(words), files); error != 0)
		complain_of_start(error, script);
	const int status = status_of(process);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_EXECUTED)
		complain_of_start(ENOENT, script);
	if (status != 0)
		complain_of_end(status, files.error.content());
	return files.out.content();
}

} // namespace

void Template::check() const
{
	run(directory, {"--check", name}, "");
}

std::string Template::render(const View &view) const
{
	return run(directory, {name}, view.dump());
}

} // namespace peer
