#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints which lines and branches of kmod/wire and kmod/proto have been executed, by gcov's counters.

Fails if a line was not executed, or a branch not taken, and says which; or, with --lines-at-least, if fewer were.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

MEASURED = ("kmod/wire/", "kmod/proto/")


def counters(directory):
    """gcov's records of each compiled file, one after the other."""
    for data in sorted(pathlib.Path(directory).rglob("*.gcda")):
        command = ["gcov", "--branch-probabilities", "--branch-counts", "--json-format", "--stdout", str(data)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for record in output.splitlines():
            yield from json.loads(record)["files"]


def merge(files):
    """Adds up what several compiled files say about the same line and the same branch."""
    lines = collections.Counter()
    branches = collections.Counter()
    for file in files:
        if not file["file"].startswith(MEASURED):
            continue
        for line in file["lines"]:
            place = (file["file"], line["line_number"])
            lines[place] += line["count"]
            for index, branch in enumerate(line["branches"]):
                branches[(*place, line.get("function_name"), index)] += branch["count"]
    return lines, branches


def figure(counts):
    executed = sum(1 for count in counts.values() if count)
    share = 100 * executed / len(counts) if counts else 100
    return f"{executed:4} of {len(counts):4} ({share:5.1f} %)"


def of_file(counts, name):
    return {place: count for place, count in counts.items() if place[0] == name}


def main(directory, share_of_lines):
    lines, branches = merge(counters(directory))
    for name in sorted({place[0] for place in lines}):
        print(f"  {name:28} lines {figure(of_file(lines, name))}  branches {figure(of_file(branches, name))}")
    print(f"  {'kmod/wire and kmod/proto':28} lines {figure(lines)}  branches {figure(branches)}")

    missed = [f"{file}:{line}: not executed" for (file, line), count in sorted(lines.items()) if not count]
    if share_of_lines is None:
        missed += sorted({f"{key[0]}:{key[1]}: branch not taken" for key, count in branches.items() if not count})
    for line in missed:
        print(line)
    if not lines:
        return 1
    if share_of_lines is None:
        return 1 if missed else 0
    return 1 if 100 * (len(lines) - len(missed)) < share_of_lines * len(lines) else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", help="where the programs were built, with --coverage")
    parser.add_argument("--lines-at-least", type=float, metavar="PERCENT", help="what is enough, of the lines alone")
    return parser.parse_args()


if __name__ == "__main__":
    given = arguments()
    sys.exit(main(given.directory, given.lines_at_least))
