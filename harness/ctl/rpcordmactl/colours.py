# SPDX-License-Identifier: GPL-2.0-only
"""What stands out on a terminal: words for what is well, and for what is not."""

import os
import re
import sys

GREEN, YELLOW, RED = 32, 33, 31
# Each group of an expression is a word to paint, where the words before it are these.
PAINTED = tuple((re.compile(expression, re.M), colour) for expression, colour in (
    (r"^(warning:)", YELLOW),
    (r"^kernel .*: (lacks) the module$", YELLOW),
    (r"^link .* state (ACTIVE)\b", GREEN),
    (r"^link .* state (?!ACTIVE)(\w+)", RED),
    (r"\((lost)\)", RED),
    # The state in a table, and in the lines that "connections show" prints.
    (r"^ *\d+  (?:requester|responder) +(connected)\b", GREEN),
    (r"^ *\d+  (?:requester|responder) +(disconnected|connecting|ending)\b", YELLOW),
    (r"^state +(connected)$", GREEN),
    (r"^state +(disconnected|connecting|ending)$", YELLOW),
    # What the monitor says behind the time.
    (r"^[\d:.]+  (connected|listener-back)\b", GREEN),
    (r"^[\d:.]+  (disconnected|connect-failed|refused|listener-lost)\b", RED),
))


def are_wanted(when: str) -> bool:
    """On standard output. "auto": on a terminal that has them, unless NO_COLOR says otherwise (no-color.org)."""
    if when != "auto":
        return when == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def painted(text: str) -> str:
    """The same text, with colours."""
    for expression, colour in PAINTED:
        text = expression.sub(lambda found: paint(found, colour), text)
    return text


def paint(found: re.Match[str], colour: int) -> str:
    """What was found, with its group in colour."""
    start, end = (place - found.start() for place in found.span(1))
    whole = found[0]
    return f"{whole[:start]}\033[{colour}m{whole[start:end]}\033[0m{whole[end:]}"
