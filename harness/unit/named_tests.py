#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fails if a row of Documentation/conformance.rst has no test, or names a test, or a case, that does not exist."""

import fnmatch
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
CONFORMANCE = TOP / "Documentation/conformance.rst"


def existing():
    for source in [*(TOP / "harness/unit").glob("*.cc"), *(TOP / "kunit").rglob("*.cc")]:
        for suite, test in re.findall(r"^TEST(?:_P)?\((\w+), (\w+)\)", source.read_text(), re.M):
            yield f"{suite}.{test}"
    for source in (TOP / "harness/tests").rglob("*.py"):
        yield from re.findall(r"^ *def (test_\w+)\(", source.read_text(), re.M)
    for version in ("", "version-2"):
        for side in ("client", "server"):
            for case in (TOP / "harness/peer/cases" / version / side).rglob("*.case"):
                yield f"{side}/{case.stem}"


def named(text):
    return set(re.findall(r"``([A-Z]\w+\.[A-Z]\w+|test_\w+|(?:client|server)/[\w*-]+)``", text))


def rows_without_tests(text):
    """Those of the tables that have no entry below Tests, and entries that are of no row."""
    rows = set(re.findall(r"^ +\* - ([A-Z]\d+)$", text, re.M))
    return rows ^ set(re.findall(r"^:([A-Z]\d+): \S", text, re.M))


def main():
    tests = list(existing())
    text = CONFORMANCE.read_text()
    missing = sorted(name for name in named(text) if not fnmatch.filter(tests, name))
    print(f"conformance.rst names {len(named(text))} tests, of which {len(missing)} do not exist")
    for name in missing:
        print(f"Documentation/conformance.rst: there is no test {name}")
    lonely = sorted(rows_without_tests(text))
    for row in lonely:
        print(f"Documentation/conformance.rst: {row} is a row without tests, or tests without a row")
    return 1 if missing or lonely else 0


if __name__ == "__main__":
    sys.exit(main())
