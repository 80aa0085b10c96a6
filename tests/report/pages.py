"""What tests of pages share: what a reader sees of one, and what must not break out of it."""

from __future__ import annotations

import difflib
import html
import json
import re

from trustbed.report import definitions

HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)>&\"'</style>"


def text_of(page: str) -> str:
    """What a reader sees: no markup, no script, no style, single spaces."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S)
    return (
        re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", bare))
        .replace("\u00a0", " ")
        .replace("&#39;", "'")
    )


_BLOCKS = (
    "h1|h2|h3|h4|p|li|tr|caption|dt|dd|div|section|header|footer|figure|figcaption|summary|pre"
)


def lines_of(page: str) -> str:
    """The same line by line, without what explains the words, which is the same on every page."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S)
    own = re.sub(r'<section\b[^>]*id="definitions".*?</section>', " ", bare, flags=re.S)
    broken = re.sub(rf"</?(?:{_BLOCKS})\b[^>]*>", "\n", re.sub(r"\s+", " ", own))
    lines = html.unescape(re.sub(r"<[^>]+>", " ", broken)).splitlines()
    return "\n".join(said for line in lines if (said := " ".join(line.split())))


def lines_that_differ(page: str, from_: str) -> str:
    """What a reader sees of a page, and not of another, and what of the other's is not there."""
    compared = difflib.ndiff(lines_of(from_).splitlines(), lines_of(page).splitlines())
    return "\n".join(line for line in compared if line.startswith(("+ ", "- ")))


def charts_of(page: str) -> int:
    """How many charts its payload holds."""
    found = re.search(r'id="payload">(.*?)</script>', page, flags=re.S)
    return 0 if found is None else len(json.loads(found[1])["charts"])


def check_definitions(page: str, subject: str) -> None:
    """Every link to a definition finds one, and there are some."""
    linked = set(re.findall(r'href="#about-([a-z-]+)"', page))
    assert linked
    assert linked <= definitions.titles(subject).keys()
