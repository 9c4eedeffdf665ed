#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fails if a file of the module or of the peer includes one that the documentation does not let its folder use.

A table of the documentation has a row for each folder. Its last column names the folders that it may use, which make no
circle.
"""

import pathlib
import re
import sys
from graphlib import CycleError, TopologicalSorter

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
TABLES = {"kmod": "Documentation/architecture.rst", "harness/peer": "Documentation/testing.rst"}
SOURCES = {".c", ".h", ".cc", ".hh"}


def layers(below, page):
    """What each folder may use, from the page's table: folders, and single files of folders."""
    for row in re.split(r"^   \* - ", (TOP / page).read_text(), flags=re.M)[1:]:
        cells = re.split(r"^     - ", row, flags=re.M)
        if len(cells) == 3 and (place := re.match(rf"``{below}/(\w+)/``", cells[0])):
            yield place[1], set(re.findall(r"``(\w+)/([\w.]*)``", cells[2]))


def complaints(below, page, allowed):
    """Each include that is not allowed, each folder that the table lacks, and a circle."""
    for source in sorted((TOP / below).glob("*/*")):
        if source.suffix not in SOURCES:
            continue
        folder = source.parent.name
        if folder not in allowed:
            yield f"{below}/{folder}/: {page} does not say what it may use"
            continue
        for number, line in enumerate(source.read_text().splitlines(), 1):
            included = re.match(r'\s*#\s*include "(\w+)/([^"]*)"', line)
            if not included or included[1] == folder:
                continue
            if not {(included[1], ""), included.groups()} & allowed[folder]:
                yield f"{source.relative_to(TOP)}:{number}: {folder}/ may not use {included[1]}/{included[2]}"
    try:
        TopologicalSorter({folder: {place for place, _ in may} for folder, may in allowed.items()}).prepare()
    except CycleError as circle:
        yield f"{page}: a circle: {' -> '.join(circle.args[1])}"


def main():
    """Says all of them."""
    wrong = False
    for below, page in TABLES.items():
        allowed = dict(layers(below, page))
        print(f"{len(allowed)} folders of {below}/ say what they may use")
        for complaint in complaints(below, page, allowed):
            print(complaint)
            wrong = True
        wrong |= not allowed
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
