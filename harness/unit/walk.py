#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fails if Documentation/architecture.rst walks an RPC through what does not exist, or through files in circles.

A walk is a table. Its first column names a file below kmod/, its second functions in that file, ``like_this()``, or
operations in the file's tables, ``.like_this``. A walk does not come back to a file that it has left.
"""

import pathlib
import re
import sys
from itertools import groupby

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = TOP / "Documentation/architecture.rst"


def walks():
    """The title of each walk, and its steps: a file and the functions in it."""
    for table in re.split(r"^\.\. list-table:: ", PAGE.read_text(), flags=re.M)[1:]:
        title, _, body = table.partition("\n")
        body = re.split(r"\n(?=\S)", body)[0]
        rows = re.split(r"^   \* - ", body, flags=re.M)[1:]
        steps = []
        for row in rows:
            cells = re.split(r"^     - ", row, flags=re.M)
            if file := re.fullmatch(r"``([a-z]+/\w+\.\w+)``\s*", cells[0]):
                steps.append((file[1], re.findall(r"``([\w:]+(?=\(\))|\.\w+)(?:\(\))?``", cells[1])))
        if steps:
            yield title, steps


def defines(source, function):
    """Whether a file has that function, as itself or, in a header, as a member of its class; or that operation."""
    if function.startswith("."):
        return re.search(rf"\{function} = ", source) is not None
    scope, _, name = function.rpartition("::")
    if scope and re.search(rf"\b{scope}::{name}\(", source):
        return True
    if scope and not re.search(rf"^\s*(?:class|struct|namespace) (?:\w+::)*{scope}\b", source, flags=re.M):
        return False
    return re.search(rf"\b{name}\(", source) is not None


def complaints(title, steps):
    """What is wrong with one walk."""
    for file, functions in steps:
        path = TOP / "kmod" / file
        if not path.exists():
            yield f"{title}: there is no kmod/{file}"
            continue
        if not functions:
            yield f"{title}: nothing is named in kmod/{file}"
        for function in functions:
            if not defines(path.read_text(), function):
                yield f"{title}: kmod/{file} has no {function}()"
    files = [file for file, _ in groupby(file for file, _ in steps)]
    for file in sorted({file for file in files if files.count(file) > 1}):
        yield f"{title}: comes back to kmod/{file}"


def main():
    """Says all of it."""
    found = list(walks())
    steps = sum(len(functions) for _, walk in found for _, functions in walk)
    print(f"{len(found)} walks through {steps} functions")
    wrong = [complaint for title, walk in found for complaint in complaints(title, walk)]
    for complaint in wrong:
        print(f"Documentation/architecture.rst: {complaint}")
    return 1 if wrong or len(found) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
