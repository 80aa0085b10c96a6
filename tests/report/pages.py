"""What tests of pages share: what a reader sees of one, and what must not break out of it."""

from __future__ import annotations

import re

HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)>&\"'</style>"


def text_of(page: str) -> str:
    """What a reader sees: no markup, no script, no style, single spaces."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S)
    return (
        re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", bare))
        .replace("\u00a0", " ")
        .replace("&#39;", "'")
    )
