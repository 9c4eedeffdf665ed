#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fails if Documentation/conformance.rst names a test, or a case of the peer's, that does not exist."""

import fnmatch
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


def existing():
    for source in [*(TOP / "harness/unit").glob("*.cc"), *(TOP / "kunit").rglob("*.cc")]:
        for suite, test in re.findall(r"^TEST(?:_P)?\((\w+), (\w+)\)", source.read_text(), re.M):
            yield f"{suite}.{test}"
    for source in (TOP / "harness/tests").rglob("*.py"):
        yield from re.findall(r"^ *def (test_\w+)\(", source.read_text(), re.M)
    for side in (TOP / "harness/peer/cases").iterdir():
        for case in side.rglob("*.case"):
            yield f"{side.name}/{case.stem}"


def named():
    text = (TOP / "Documentation/conformance.rst").read_text()
    return set(re.findall(r"``([A-Z]\w+\.[A-Z]\w+|test_\w+|(?:client|server)/[\w*-]+)``", text))


def main():
    tests = list(existing())
    missing = sorted(name for name in named() if not fnmatch.filter(tests, name))
    print(f"conformance.rst names {len(named())} tests, of which {len(missing)} do not exist")
    for name in missing:
        print(f"Documentation/conformance.rst: there is no test {name}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
