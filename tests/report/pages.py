"""What tests of pages share: what a reader sees of one, and what must not break out of it."""

from __future__ import annotations

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


def charts_of(page: str) -> int:
    """How many charts its payload holds."""
    found = re.search(r'id="payload">(.*?)</script>', page, flags=re.S)
    return 0 if found is None else len(json.loads(found[1])["charts"])


def check_definitions(page: str, subject: str) -> None:
    """Every link to a definition finds one, and there are some."""
    linked = set(re.findall(r'href="#about-([a-z-]+)"', page))
    assert linked
    assert linked <= definitions.titles(subject).keys()
