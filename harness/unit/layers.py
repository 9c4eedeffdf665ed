#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fails if a file below kmod/ includes one of a folder that Documentation/architecture.rst does not let its own use.

The table there has a row for each folder; the last column names the folders that it may use. They may make no circle.
"""

import pathlib
import re
import sys
from graphlib import CycleError, TopologicalSorter

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
TABLE = TOP / "Documentation/architecture.rst"
SOURCES = {".c", ".h", ".cc", ".hh"}


def layers():
    """What each folder of kmod/ may use, from the table."""
    for row in re.split(r"^   \* - ", TABLE.read_text(), flags=re.M)[1:]:
        cells = re.split(r"^     - ", row, flags=re.M)
        if len(cells) == 3 and (place := re.match(r"``kmod/(\w+)/``", cells[0])):
            yield place[1], set(re.findall(r"``(\w+)/``", cells[2]))


def complaints(allowed):
    """Each include that is not allowed, and each folder that the table lacks."""
    for source in sorted((TOP / "kmod").glob("*/*")):
        if source.suffix not in SOURCES:
            continue
        folder = source.parent.name
        if folder not in allowed:
            yield f"kmod/{folder}/: Documentation/architecture.rst does not say what it may use"
            continue
        for number, line in enumerate(source.read_text().splitlines(), 1):
            included = re.match(r'\s*#\s*include "(\w+)/', line)
            if included and included[1] not in allowed[folder] | {folder}:
                yield f"kmod/{folder}/{source.name}:{number}: {folder}/ may not use {included[1]}/"


def main():
    """Says all of them."""
    allowed = dict(layers())
    found = list(complaints(allowed))
    try:
        TopologicalSorter(allowed).prepare()
    except CycleError as circle:
        found.append(f"Documentation/architecture.rst: a circle: {' -> '.join(circle.args[1])}")
    print(f"{len(allowed)} folders of kmod/ say what they may use")
    for complaint in found:
        print(complaint)
    return 1 if found or not allowed else 0


if __name__ == "__main__":
    sys.exit(main())
