"""Vega, Vega-Lite and Vega-Embed as one script.

It comes from vl-convert, which is imported only here, so that only a report pays for it. To bundle
the script takes two seconds and always gives the same: it is kept in the user's cache, behind its
hash.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
from importlib.metadata import version
from pathlib import Path

from trustbed.disk import cache

BUNDLE = "window.vegaEmbed = vegaEmbed;"
"""All that the page's script needs of the bundle."""


@functools.cache
def vega() -> str:
    """The script, as it may stand inside an element of a page."""
    about = f"{version('vl-convert-python')} {BUNDLE}"
    try:
        directory = cache() / "pages"
    except RuntimeError:  # the user has no home
        return _bundled()
    file = directory / f"vega-{hashlib.sha256(about.encode()).hexdigest()[:16]}.js"
    kept = _kept(file)
    if kept is not None:
        return kept
    script = _bundled()
    with contextlib.suppress(OSError):  # then it is bundled again the next time
        _keep(file, script)
    return script


def _bundled() -> str:
    import vl_convert

    script: str = vl_convert.javascript_bundle(BUNDLE)
    # Inside a script element only these two can end it early or change how it is read.
    script = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return script.replace("\r\n", "\n").replace("\r", "\n")


def _kept(file: Path) -> str | None:
    """What this user kept there, if it is whole; nobody else may have written it."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW), "rb") as own:
            about = os.fstat(own.fileno())
            if about.st_uid != os.getuid() or about.st_mode & 0o022:
                return None
            digest, _, script = own.read().partition(b"\n")
    except OSError:
        return None
    whole = hashlib.sha256(script).hexdigest().encode() == digest
    return script.decode() if whole else None


def _keep(file: Path, script: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = script.encode()
    descriptor, draft = tempfile.mkstemp(prefix=".vega-", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as own:
            own.write(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
        Path(draft).rename(file)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise
