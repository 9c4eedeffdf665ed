# SPDX-License-Identifier: GPL-2.0-only
"""The pages that rpcordma-peer makes of reports, in a real browser: wide and narrow, light and dark.

Pictures of them are left in build/pages. Without a browser (Debian's chromium or chromium-headless-shell), the tests
are skipped.
"""

import itertools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.browser import Browser, find_program
from lab.paths import CHECKOUT
from lab.peer import build_peer, directory_of
from lab.system import NATIVE
from sample_report import report, result

PICTURES = CHECKOUT / "build" / "pages"
COMPLAINTS = (Path(__file__).parent / "complaints.js").read_text(encoding="utf-8")
WIDE, NARROW = 1280, 400
FORMS = [(width, scheme) for width in (WIDE, NARROW) for scheme in ("light", "dark")]
PAGES = ("report", "matrix", "requirements")
OPEN_ALL = "for (const details of document.querySelectorAll('details')) details.open = true"
SECTIONS = ("RFC 8166, 3.4.5", "RFC 8797, 4.1", "bis-04, 5.5.2", "version-two-01, 4.2.1")
# What a page has when something is wrong with it, and the complaint about that.
FAULTS = {
    "the page is too wide": ("</h1>", '</h1><div style="width: 1500px">wide</div>', "the page is 15"),
    "a title is cut": ("</style>", "summary span { overflow: hidden; white-space: nowrap }</style>", "text is cut"),
    "a word lies over the next column": ("</style>", "summary code { overflow-wrap: normal !important; width: 2rem }"
                                         "</style>", "lies over its box"),
    "grey on grey": ("</style>", ".quiet { color: light-dark(#999, #666) }</style>", "contrast is"),
    "a faint placeholder": ("</style>", "::placeholder { color: #888 }</style>", "Words to look for"),
    "a link without a section": ("#section-3.4.5", "", "a link to no section"),
    "an anchor is missing": ('id="server/b"', "", "a link to nothing here: #server/b"),
    "an anchor is there twice": ('id="server/b"', 'id="server/a"', "two elements with one id: server/a"),
    "a field is nameless": (' aria-label="Outcome"', "", "a field without a name: outcome"),
    "a script fails": ("<script>", "<script>nothing();</script><script>", "nothing is not defined"),
    "something is fetched": ("</h1>", '</h1><img src="https://example.org/a.png" alt="" />', "example.org"),
}


def awkward_report(name: str) -> dict:
    """One with what is hard to show: long titles and names, lines without a blank, and an outcome of each kind."""
    whole = report()
    long_words = "0123456789abcdef" * 20
    names = ["server/a", "server/b", "server/c", "server/read-chunk-of-what-is-not-eligible-behind-the-data"]
    outcomes = (("passed", "MUST"), ("failed", "MUST NOT"), ("skipped", "SHOULD"), ("passed", "hostile"),
                ("passed", "says"))
    whole["name"] = name
    whole["results"] = [
        {**result(names[index % len(names)] + "-x" * (index // len(names)), outcome, level),
         "section": section,
         "title": "a requester that has no Receive for the Replies to many READs, each of them in many segments, "
                  "loses the connection",
         "came": f"write=[{long_words}] came, and then {'the other end disconnected, ' * 10}",
         "trace": [f"-> MSG xid=0x4b20001 vers=1 credits=32 write=[{long_words}] payload=76"] * 3,
         "comparison": [{"what": "write[0].length", "expected": "4096", "came": "0", "differs": True},
                        {"what": "bytes", "expected": long_words, "came": long_words[1:], "differs": True},
                        {"what": "credits", "expected": "1", "came": "1", "differs": False}],
         "command": "/usr/bin/rpcordma-peer conform '[fd09::1]:20049' --path /srv/nfs/tmpfs --protocol 2 --strict "
                    "--patience 20 --only server/read-chunk-of-what-is-not-eligible-behind-the-data --trace"}
        for index, (section, (outcome, level)) in enumerate(itertools.product(SECTIONS, outcomes))]
    whole["requirements"] += [
        {**whole["requirements"][0], "identifier": "8166-3.4.4.2-1", "cases": [], "what": "registered memory has a tag "
         "of at most 32 bits, and addresses of at most 64", "seen": "no: the header has no room for more"},
        {**whole["requirements"][0], "identifier": "bis-5.5.2-s1", "cases": [names[3]], "same_as": "8166-3.4.5-1",
         "level": "says", "who": "requester"}]
    whole["settings"]["arguments"] = ["/usr/bin/rpcordma-peer", "conform", "[fd09::1]:20049", "--path", "/srv/nfs"]
    whole["planned"] = 331
    return whole


def other_report(name: str) -> dict:
    """One in which other cases failed."""
    other = awkward_report(name)
    for index, one in enumerate(other["results"]):
        one["outcome"] = "failed" if index % 3 == 0 else "passed"
    return other


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pages."""
    build_peer()
    folder = tmp_path_factory.mktemp("pages")
    reports = [awkward_report("Linux 6.12, in-tree"), other_report("Linux 7.3, in-tree"),
               awkward_report("somebody else's server, version 12.3.4-5")]
    files = [folder / f"{number}.json" for number in range(len(reports))]
    for file, content in zip(files, reports):
        file.write_text(json.dumps(content), encoding="utf-8")
    make_page(folder, "report", files[0])
    make_page(folder, "matrix", "--matrix", *files)
    make_page(folder, "requirements", "--matrix", "--requirements", *files)
    return folder


def make_page(folder: Path, name: str, *words: object) -> None:
    """Has the program make a page."""
    page = folder / f"{name}.html"
    subprocess.run([directory_of(NATIVE) / "rpcordma-peer", "report", *map(str, words), "--html", page], check=True)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser."""
    program = find_program()
    if not program:
        pytest.skip("no browser: apt-get install --no-install-recommends chromium-headless-shell")
    with Browser(program) as started:
        yield started


def complaints(browser: Browser) -> list[str]:
    """What a reader would complain of, of the page as it is and with all that can be opened, and the browser itself."""
    said = browser.evaluate(f"{COMPLAINTS}; complaints()")
    browser.evaluate(OPEN_ALL)
    said += browser.evaluate("complaints()")
    return said + [complaint for event in browser.events if (complaint := complaint_of(event))]


def complaint_of(event: dict) -> str:
    """What is wrong where the browser tells of this; nothing where all is well."""
    told = event["params"]
    match event["method"]:
        case "Runtime.exceptionThrown":
            return f"a script failed: {told['exceptionDetails']}"
        case "Runtime.consoleAPICalled" | "Log.entryAdded":
            return f"on the console: {told}"
        case "Network.requestWillBeSent" if told["request"]["url"] != told["documentURL"]:
            return f"something is fetched: {told['request']['url']}"
    return ""


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("width", "scheme"), FORMS)
def test_a_reader_has_nothing_to_complain_of(browser: Browser, folder: Path, page: str,
                                             width: int, scheme: str) -> None:
    """And the colours are those that are asked for."""
    browser.open((folder / f"{page}.html").as_uri(), width, scheme)
    PICTURES.mkdir(parents=True, exist_ok=True)
    browser.screenshot(PICTURES / f"{page}-{width}-{scheme}.png")
    assert complaints(browser) == []
    dark = browser.evaluate("luminanceOf(backgroundOf(document.body)) < 0.2")
    assert dark == (scheme == "dark")


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_is_complained_of(browser: Browser, folder: Path, fault: str) -> None:
    """The complaints are none because the pages are well."""
    good, bad, complaint = FAULTS[fault]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert good in page
    spoilt = folder / "spoilt.html"
    spoilt.write_text(page.replace(good, bad, 1), encoding="utf-8")
    browser.open(spoilt.as_uri(), WIDE, "dark")
    assert any(complaint in one for one in complaints(browser))


def test_each_section_and_requirement_has_its_link(browser: Browser, folder: Path) -> None:
    """To the specification."""
    browser.open((folder / "report.html").as_uri(), WIDE, "light")
    assert browser.evaluate("document.querySelectorAll('h2 a[href^=https]').length") == len(SECTIONS)
    assert browser.evaluate("document.querySelectorAll('.requirements td:first-child a[href^=https]').length") == 3
    browser.open((folder / "matrix.html").as_uri(), WIDE, "light")
    assert browser.evaluate("document.querySelectorAll('.title a[href^=https]').length") == 4 * 5


def test_failed_cases_are_open_and_others_can_be_opened(browser: Browser, folder: Path) -> None:
    """With a click."""
    browser.open((folder / "report.html").as_uri(), NARROW, "light")
    assert browser.evaluate("[...document.querySelectorAll('details')]"
                            ".every(one => one.open === (one.dataset.outcome === 'failed'))")
    browser.evaluate("document.querySelector('details:not([open]) summary').click()")
    assert browser.evaluate("document.querySelector('details').open")


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_link_to_a_case_shows_it(browser: Browser, folder: Path, width: int) -> None:
    """Opened, and not below something else."""
    browser.open((folder / "report.html").as_uri() + "#server/a-x-x-x", width, "light")
    assert browser.evaluate("""(() => {
        const row = document.getElementById("server/a-x-x-x"), { left, top } = row.getBoundingClientRect();
        return row.open && row.contains(document.elementFromPoint(left + 20, top + 10));
    })()""")


def test_the_matrix_shows_what_came(browser: Browser, folder: Path) -> None:
    """Where one opens the cell of a case that failed."""
    browser.open((folder / "matrix.html").as_uri(), WIDE, "light")
    came = "document.querySelector('.matrix details p')"
    assert not browser.evaluate(f"{came}.checkVisibility()")
    browser.evaluate("document.querySelector('.matrix details summary').click()")
    assert browser.evaluate(f"{came}.checkVisibility()")
    assert "the other end disconnected" in browser.evaluate(f"{came}.textContent")


@pytest.mark.parametrize(("page", "field", "value", "shown"), [
    ("report", "text", "behind-the-data 8797", 0),
    ("report", "text", "server/b", 5),
    ("report", "outcome", "failed", 4),
    ("report", "level", "SHOULD", 4),
    ("matrix", "text", "server/b", 5),
    ("matrix", "level", "SHOULD", 4),
])
def test_rows_can_be_looked_for(browser: Browser, folder: Path, page: str, field: str, value: str, shown: int) -> None:
    """By words, outcome and level."""
    browser.open((folder / f"{page}.html").as_uri(), WIDE, "light")
    browser.evaluate(f"form.{field}.value = {value!r}; form.dispatchEvent(new Event('input'))")
    rows = "details[data-outcome]" if page == "report" else "tr[data-level]"
    assert browser.evaluate(f"[...document.querySelectorAll({rows!r})]"
                            ".filter(row => row.checkVisibility()).length") == shown
    assert browser.evaluate("form.shown.value") == f"{shown} shown"


def test_only_differences_are_shown_where_that_is_asked_for(browser: Browser, folder: Path) -> None:
    """With a click on the box."""
    browser.open((folder / "matrix.html").as_uri(), WIDE, "light")
    browser.evaluate("form.differing.click()")
    assert browser.evaluate("[...document.querySelectorAll('tr[data-level]')]"
                            ".every(row => row.checkVisibility() === row.classList.contains('differs'))")
