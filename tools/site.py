"""The documentation as a site: build/site/html, in which no link is broken.

`python -m tools.site` lays out the pages as they lie in the checkout, so that their links hold, and
with them every file that they link to. It adds what is made: the notebooks carried out, the help of
every command, the library's reference from its docstrings. Then mkdocs builds the site, strictly: a
link or anchor that leads nowhere is an error. `--without-notebooks` leaves their outputs out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import trustbed
from tools import notebooks
from trustbed import _HOMES, _PACKAGES
from trustbed.cli.completion import commands

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"
STYLE = """\
.md-grid { max-width: 78rem; }
.md-typeset pre > code { font-size: .62rem; }
.md-typeset .output td, .md-typeset .output th { padding: .2rem .6rem; vertical-align: top; }
"""
"""So that a terminal's hundred columns fit."""
_ROOMS = ("docs", "examples", "studies", "tests")
_LINK = re.compile(r"(\]\()(?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]+)?\)")
_SOURCES = ("*.md", "recordings/*.md", *(f"{room}/**/*.md" for room in _ROOMS))


def written() -> list[Path]:
    """The pages that people wrote, and those that `make docs` makes from the code."""
    return sorted({path for pattern in _SOURCES for path in ROOT.glob(pattern)})


def lay_out(pages: Path, *, execute: bool) -> None:
    """Fills the directory of pages."""
    shutil.rmtree(pages, ignore_errors=True)

    def put(name: str, text: str) -> None:
        place = pages / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    for path in written():
        text = path.read_text(encoding="utf-8")
        for target in _targets(path, text):
            place = pages / target.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(target, place)
        put(str(path.relative_to(ROOT)), _LINK.sub(partial(_of_site, path), text))
    for path in notebooks.NOTEBOOKS:
        name = path.relative_to(ROOT).with_suffix(".md")
        pictures = pages / name.parent / "pictures"
        notebook = notebooks.executed(path) if execute else notebooks.read(path)
        put(str(name), notebooks.page(notebook, path.stem, pictures))
    put("docs/commands.md", "\n".join(_commands()))
    put("docs/reference.md", "\n".join(_reference()))
    put("docs/site.css", STYLE)


def _targets(page: Path, text: str) -> Iterator[Path]:
    """The files, other than pages, that a page links to."""
    for _, target, _ in _LINK.findall(text):
        path = (page.parent / target).resolve()
        if path.is_file() and path.suffix != ".md" and path.is_relative_to(ROOT):
            yield path


def _of_site(page: Path, link: re.Match[str]) -> str:
    """A link as the site has it: notebooks are pages, directories are the pages about them."""
    target = (page.parent / link[2]).resolve()
    name = link[2]
    if target.suffix == ".ipynb":
        name = str(Path(name).with_suffix(".md"))
    elif target.is_dir():
        # Without a page of its own, a directory is the page that tells of it.
        about = target / "README.md"
        if not about.is_file():
            return "](#)" if page.parent == target.parent else f"]({name}/../README.md)"
        name = f"{name.rstrip('/')}/README.md"
    return f"{link[1]}{name}{link[3] or ''})"


def _commands() -> Iterator[str]:
    yield "# Every command\n\nThe help of every command and action, as it prints it."
    for one in commands():
        help_page = one.parser.format_help().rstrip()
        yield f"\n## trustbed {one.name}\n\n```text\n{help_page}\n```"


def _reference() -> Iterator[str]:
    """The public names; what mkdocstrings puts here comes from their docstrings."""
    yield "# Library reference\n\nMade from the docstrings. [Python](python.md) shows it at work."
    for name in trustbed.__all__:
        if name in _PACKAGES:
            yield f"\n::: trustbed.{name}.api.{name}"
        elif not name.startswith("_") and not _HOMES[name].endswith("._core"):
            yield f"\n::: {_HOMES[name]}.{name}"
    yield "\n::: trustbed.errors.TrustbedError"


def on_page_content(html: str, **_: object) -> str:
    """What mkdocs calls with every page: roles of docstrings become plain names."""
    return re.sub(r":(?:attr|class|data|func|meth|mod):<code>~?", "<code>", html)


def build(site: Path, *, execute: bool) -> int:
    """Lays the pages out below a directory, and builds the site; returns mkdocs' exit code."""
    pages, html = site / "pages", site / "html"
    lay_out(pages, execute=execute)
    # Not --quiet, which hides warnings from --strict.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean"]
    environment = {
        **os.environ,
        "NO_MKDOCS_2_WARNING": "1",
        "TRUSTBED_SITE_PAGES": str(pages),
        "TRUSTBED_SITE_HTML": str(html),
    }
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )
    if ended.returncode:
        print(ended.stderr, file=sys.stderr)
    return ended.returncode


if __name__ == "__main__":
    sys.exit(build(SITE, execute="--without-notebooks" not in sys.argv[1:]))
