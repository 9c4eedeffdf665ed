# SPDX-License-Identifier: GPL-2.0-only
"""Operations on files that a seed chooses, each compared with a model of what must be there.

    model.py DIRECTORY SEED STOP [direct] [locks]

Makes DIRECTORY and works in it until somebody creates the file STOP. Then it compares everything once more and prints
"done: N steps, N replayed", and "replayed at SECONDS" each time.
"direct" has it read and write without the client's cache, "locks" has it lock some files.
Each line "step N at SECONDS" is printed after an operation that the server has acknowledged, at that time since boot.
A line that begins with "wrong:" says what differs, and what was done last; the exit status is 1 then.

An operation that is not idempotent may be carried out twice where a server is restarted or a connection breaks: the
second time there is nothing to remove, or there is something already. That is no error, but is counted as replayed.
What is there afterwards must be right all the same.
"""

import errno
import fcntl
import mmap
import os
import random
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

MOST_FILES = 40
MOST_DIRECTORIES = 6
# Names come again when they are free: an operation that is carried out late would meet another file of that name.
FILE_NAMES = [f"f{number}" for number in range(2 * MOST_FILES)]
DIRECTORY_NAMES = [f"d{number}" for number in range(2 * MOST_DIRECTORIES)]
# The most bytes that a file has, and what a single write has, small ones more often.
LONGEST = 1 << 20
LENGTHS = (1, 37, 511, 4096, 4097, 16384, 65536, 200000)
# Lines of progress are at least so far apart, in seconds.
APART = 0.1
REMEMBERED = 30


class Wrong(Exception):
    """What is there is not what was put there."""


class Model:
    """A tree of files, and what must be in it."""

    def __init__(self, top: Path, seed: str, direct: bool, locks: bool):
        self.top = top
        self.draw = random.Random(seed)
        self.direct = os.O_DIRECT if direct else 0
        self.locks = locks
        self.files: dict[str, bytearray] = {}
        self.directories: set[str] = {"."}
        # The file that is locked, its descriptor, and the step that unlocks it.
        self.locked: tuple[str, int, int] | None = None
        self.steps = 0
        self.replayed = 0
        self.told = 0.0
        self.done: deque[str] = deque(maxlen=REMEMBERED)

    # Progress

    def step(self) -> None:
        """One operation, chosen by the seed."""
        self.steps += 1
        if self.locked and self.locked[2] <= self.steps:
            self.unlock()
        operation = self.draw.choice(self.possible())
        operation()

    def possible(self) -> list[Callable[[], None]]:
        """What can be done now; what is there twice is done twice as often."""
        operations = [self.create, self.list_all]
        if len(self.directories) < MOST_DIRECTORIES:
            operations.append(self.make_directory)
        if len(self.directories) > 1:
            operations.append(self.remove_directory)
        if len(self.files) >= MOST_FILES:
            operations.remove(self.create)
        if self.files:
            operations += [self.write, self.write, self.write, self.append, self.read, self.read, self.read_again,
                           self.truncate, self.rename, self.look, self.remove]
            if not self.direct:
                operations += [self.write_mapped, self.read_mapped]
            if self.locks and not self.locked:
                operations.append(self.lock)
        return operations

    def acknowledged(self) -> None:
        """Says that the server has done something, not too often."""
        now = time.monotonic()
        if now - self.told >= APART:
            self.told = now
            print(f"step {self.steps} at {now:.2f}", flush=True)

    def note(self, text: str) -> None:
        """Remembers what is about to be done."""
        self.done.append(f"{self.steps}: {text}")

    def once(self, operation: Callable[[], None], error: type[OSError]) -> None:
        """Does what may find that it has been done already."""
        try:
            operation()
        except error:
            self.replayed += 1
            print(f"replayed at {time.monotonic():.2f}", flush=True)
        self.acknowledged()

    # What is chosen

    def any_file(self, but_locked: bool = False) -> str:
        """One of the files; where asked for, not the one that is locked, unless there is no other."""
        names = sorted(self.files)
        if but_locked and self.locked and len(names) > 1:
            names.remove(self.locked[0])
        return self.draw.choice(names)

    def new_name(self) -> str:
        """A name that nothing has yet, in some directory."""
        directory = self.draw.choice(sorted(self.directories))
        names = [f"{directory}/{name}" for name in FILE_NAMES]
        return self.draw.choice([name for name in names if name not in self.files])

    def some_bytes(self) -> bytes:
        """Something to write."""
        return self.draw.randbytes(self.draw.randint(1, self.draw.choice(LENGTHS)))

    def open(self, name: str, flags: int = os.O_RDWR) -> int:
        """Opens a file of the tree."""
        return os.open(self.top / name, flags | self.direct, 0o644)

    # Names

    def create(self) -> None:
        """A new file with something in it."""
        name, data = self.new_name(), self.some_bytes()
        self.note(f"create {name} {len(data)}")
        # Without O_EXCL: a server that has made it, and has forgotten so, would say that it is there.
        descriptor = self.open(name, os.O_RDWR | os.O_CREAT)
        put(descriptor, 0, data)
        self.sync(descriptor)
        self.files[name] = bytearray(data)

    def remove(self) -> None:
        """A file goes."""
        name = self.any_file(but_locked=True)
        if self.locked and self.locked[0] == name:
            self.unlock()
        self.note(f"remove {name}")
        self.once(lambda: os.unlink(self.top / name), FileNotFoundError)
        del self.files[name]

    def rename(self) -> None:
        """A file gets another name, maybe that of another file, which goes."""
        old = self.any_file()
        new = self.any_file(but_locked=True) if self.draw.random() < 0.3 else self.new_name()
        if new == old or (self.locked and new == self.locked[0]):
            return
        self.note(f"rename {old} {new}")
        self.once(lambda: os.rename(self.top / old, self.top / new), FileNotFoundError)
        self.files[new] = self.files.pop(old)
        if self.locked and self.locked[0] == old:
            self.locked = (new, *self.locked[1:])

    def make_directory(self) -> None:
        """A new directory in the top one."""
        name = self.draw.choice([name for name in DIRECTORY_NAMES if name not in self.directories])
        self.note(f"mkdir {name}")
        self.once(lambda: os.mkdir(self.top / name), FileExistsError)
        self.directories.add(name)

    def remove_directory(self) -> None:
        """A directory goes, if it is empty; it must not where it is not."""
        name = self.draw.choice(sorted(self.directories - {"."}))
        self.note(f"rmdir {name}")
        if any(file.startswith(f"{name}/") for file in self.files):
            try:
                os.rmdir(self.top / name)
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    return
                raise
            raise Wrong(f"{name} was removed with files in it")
        self.once(lambda: os.rmdir(self.top / name), FileNotFoundError)
        self.directories.remove(name)

    def list_all(self) -> None:
        """Every name that must be there, and no other."""
        self.note("list")
        there = {os.path.normpath(os.path.relpath(os.path.join(where, name), self.top))
                 for where, directories, files in os.walk(self.top) for name in directories + files}
        expected = {os.path.normpath(name) for name in {*self.files, *self.directories} - {"."}}
        # A file that is removed while it is open has such a name until it is closed.
        different = {name for name in there ^ expected if ".nfs" not in name}
        if different:
            raise Wrong(f"names that should or should not be there: {sorted(different)[:10]}")

    # Contents

    def write(self) -> None:
        """Bytes anywhere, also behind the end."""
        name = self.any_file()
        self.write_at(name, self.draw.randint(0, min(LONGEST, len(self.files[name]) * 5 // 4 + 1)))

    def append(self) -> None:
        """Bytes at the end."""
        name = self.any_file()
        if len(self.files[name]) < LONGEST:
            self.write_at(name, len(self.files[name]))

    def write_at(self, name: str, offset: int) -> None:
        """The bytes, there and in the model."""
        data = self.some_bytes()
        self.note(f"write {name} {offset} {len(data)}")
        descriptor = self.open(name)
        put(descriptor, offset, data)
        self.sync(descriptor)
        content = self.files[name]
        content.extend(bytes(max(0, offset - len(content))))
        content[offset:offset + len(data)] = data

    def sync(self, descriptor: int) -> None:
        """Closes a file that has been written to. What is cached is written then; now and then it is before."""
        if not self.direct and self.draw.random() < 0.5:
            os.fsync(descriptor)
        os.close(descriptor)
        self.acknowledged()

    def truncate(self) -> None:
        """Another length, mostly a smaller one."""
        name = self.any_file()
        content = self.files[name]
        length = self.draw.randint(0, len(content) * 9 // 8)
        self.note(f"truncate {name} {length}")
        os.truncate(self.top / name, length)
        self.acknowledged()
        del content[length:]
        content.extend(bytes(length - len(content)))

    def read(self) -> None:
        """Some bytes of a file."""
        name = self.any_file()
        offset = self.draw.randint(0, len(self.files[name]))
        length = self.draw.choice(LENGTHS)
        self.note(f"read {name} {offset} {length}")
        descriptor = self.open(name, os.O_RDONLY)
        data = take(descriptor, offset, length)
        os.close(descriptor)
        self.compare(name, offset, data, bytes(self.files[name][offset:offset + length]))
        if self.direct:
            self.acknowledged()

    def read_again(self) -> None:
        """All of a file, from the server."""
        self.check(self.any_file())

    def check(self, name: str) -> None:
        """The same of a named one."""
        self.note(f"check {name}")
        self.compare(name, 0, self.fetch(name), bytes(self.files[name]))
        self.acknowledged()

    def fetch(self, name: str) -> bytes:
        """All of a file, and not as the client has cached it."""
        descriptor = self.open(name, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        data = take(descriptor, 0, LONGEST * 2)
        os.close(descriptor)
        return data

    def look(self) -> None:
        """A file's size."""
        name = self.any_file()
        self.note(f"stat {name}")
        size = os.stat(self.top / name).st_size
        if size != len(self.files[name]):
            raise Wrong(f"{name} is {size} bytes long, not {len(self.files[name])}")

    def write_mapped(self) -> None:
        """Bytes within a file, through a mapping."""
        name = self.any_file()
        content = self.files[name]
        if not content:
            return
        offset = self.draw.randrange(len(content))
        data = self.some_bytes()[:len(content) - offset]
        self.note(f"write mapped {name} {offset} {len(data)}")
        descriptor = self.open(name)
        with mmap.mmap(descriptor, len(content)) as mapping:
            mapping[offset:offset + len(data)] = data
            mapping.flush()
        os.close(descriptor)
        self.acknowledged()
        content[offset:offset + len(data)] = data

    def read_mapped(self) -> None:
        """All of a file, through a mapping."""
        name = self.any_file()
        if not self.files[name]:
            return
        self.note(f"read mapped {name}")
        descriptor = self.open(name, os.O_RDONLY)
        with mmap.mmap(descriptor, len(self.files[name]), prot=mmap.PROT_READ) as mapping:
            data = mapping[:]
        os.close(descriptor)
        self.compare(name, 0, data, bytes(self.files[name]))

    def compare(self, name: str, offset: int, data: bytes, expected: bytes) -> None:
        """Fails where they differ, and says where."""
        if data == expected:
            return
        place = first_difference(data, expected)
        length = first_difference(data[place:][::-1], expected[place:][::-1])
        raise Wrong(f"{name} differs at {offset + place} (read from {offset}: {len(data)} bytes, of which "
                    f"{data[place:place + 16].hex()} there; expected {len(expected)} bytes and "
                    f"{expected[place:place + 16].hex()}; the last {length} bytes are the same). "
                    f"Read anew from the server, {self.seen_at_the_server(name)}")

    def seen_at_the_server(self, name: str) -> str:
        """What all of the file is like there, for who has read something wrong: the client's cache may be to blame."""
        try:
            data, expected = self.fetch(name), bytes(self.files[name])
        except OSError as error:
            return f"it cannot be read: {error}"
        if data == expected:
            return "all of it is right"
        return f"it differs at {first_difference(data, expected)}, and has {len(data)} bytes"

    # Locks

    def lock(self) -> None:
        """A lock on a file, for some steps to come. The kernel says so when it was lost (EIO)."""
        name = self.any_file()
        self.note(f"lock {name}")
        descriptor = self.open(name)
        fcntl.lockf(descriptor, fcntl.LOCK_EX)
        self.acknowledged()
        self.locked = (name, descriptor, self.steps + self.draw.randint(1, 40))

    def unlock(self) -> None:
        """Writes with the lock, and lets go of it."""
        assert self.locked
        name, descriptor, _ = self.locked
        self.note(f"unlock {name}")
        data = self.draw.randbytes(16)
        put(descriptor, 0, data)
        os.fsync(descriptor)
        fcntl.lockf(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
        self.files[name][:len(data)] = data
        self.locked = None
        self.acknowledged()

    # The end

    def check_all(self) -> None:
        """Everything once more, from the server."""
        if self.locked:
            self.unlock()
        self.list_all()
        for name in sorted(self.files):
            self.check(name)


def first_difference(data: bytes, expected: bytes) -> int:
    """Where they begin to differ; where one of them ends, if they do not before."""
    return next((at for at, (one, other) in enumerate(zip(data, expected)) if one != other),
                min(len(data), len(expected)))


def put(descriptor: int, offset: int, data: bytes) -> None:
    """Writes all of it."""
    written = 0
    while written < len(data):
        written += os.pwrite(descriptor, data[written:], offset + written)


def take(descriptor: int, offset: int, length: int) -> bytes:
    """Reads so much, or up to the end of the file."""
    data = bytearray()
    while len(data) < length and (more := os.pread(descriptor, length - len(data), offset + len(data))):
        data += more
    return bytes(data)


def main() -> int:
    """Works until it is told to stop."""
    top, seed, stop, *words = sys.argv[1:]
    model = Model(Path(top), seed, "direct" in words, "locks" in words)
    try:
        os.makedirs(model.top)
        while not os.path.exists(stop):
            model.step()
        model.check_all()
    except (Wrong, OSError) as error:
        print(f"wrong: {type(error).__name__}: {error}; the last operations:", *model.done, sep="\n    ", flush=True)
        return 1
    print(f"done: {model.steps} steps, {model.replayed} replayed", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
