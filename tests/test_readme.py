"""What the documents promise: outputs are real, commands and links exist, the pins fit."""

from __future__ import annotations

import ast
import json
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.generate_docs import README, with_outputs

ROOT = Path(__file__).resolve().parent.parent
TEXT = README.read_text(encoding="utf-8")
DOCUMENTS = sorted(
    {
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("recordings/*.md"),
        *ROOT.glob("tests/**/*.md"),
    }
)


def test_the_outputs_shown_are_what_the_commands_print() -> None:
    assert with_outputs(TEXT) == TEXT, "run: make docs"


PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "printed"),
    [("README.md", "host_scheduling"), ("docs/python.md", "max_q_max_bytes")],
)
def test_the_python_examples_run(
    page: str,
    printed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    examples = PYTHON.findall((ROOT / page).read_text(encoding="utf-8"))
    script = tmp_path / "examples.py"
    script.write_text(
        "".join(examples).replace('"recordings/', f'"{ROOT}/recordings/'), encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script))
    assert printed in capsys.readouterr().out
    assert (tmp_path / "report.html").stat().st_size > 0


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]+)?\)", text):
        path = (document.parent / target).resolve() if target else document
        assert path.exists(), f"{target} does not exist"
        if anchor and path.suffix == ".md":
            assert anchor[1:] in anchors(path), f"{target}{anchor} does not exist"


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as they are made on the common hosts."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_make_targets_exist(document: Path) -> None:
    targets = set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    # As code: in backticks, or at the beginning of an indented line.
    named = re.findall(r"(?:`| {4})make ([a-z-]+)", document.read_text(encoding="utf-8"))
    assert set(named) <= targets


def pins(name: str) -> dict[str, str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)==([^\s\\]+)", text, re.MULTILINE))


def test_the_pins_are_what_pyproject_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    run = pins("requirements.txt")
    asked = [
        (text, run)
        for text in project["project"]["dependencies"] + project["build-system"]["requires"]
    ]
    asked += [
        (text, run | pins(f"requirements-{name}.txt"))
        for name, group in (("dev", "develop"), ("dist", "release"))
        for text in project["dependency-groups"][group]
    ]
    for text, pinned in asked:
        requirement = Requirement(text)
        version = pinned.get(canonicalize_name(requirement.name))
        assert version is not None, f"{text} has no pin: make lock"
        assert version in requirement.specifier, f"{text} does not allow {version}: make lock"


def test_every_command_is_in_the_table_and_on_the_page_about_commands() -> None:
    from trustbed.cli import COMMANDS

    assert sorted(re.findall(r"^\| `trustbed (\w+)` \|", TEXT, re.MULTILINE)) == sorted(COMMANDS)
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"trustbed {name}" not in page] == []


def test_every_make_target_with_help_every_study_and_part_of_validation_is_in_contributing() -> (
    None
):
    from studies.__main__ import STUDIES
    from validation.__main__ import PARTS

    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)
    assert [name for name in targets if name != "help" and f"make {name}" not in page] == []
    assert [name for name in STUDIES if f"`{name}`" not in page] == []
    assert [
        name
        for name in PARTS
        if name != "truth" and f"| `python -m validation {name}` |" not in page
    ] == []


def test_how_often_it_is_right_is_what_the_first_look_said() -> None:
    """Later ones, in docs/validation.md, had rules that were mended after it."""
    looks = (ROOT / "validation" / "truth" / "looks.jsonl").read_text(encoding="utf-8")
    for name in ("sender", "sender-known"):
        first = json.loads(looks.splitlines()[0])["views"][name]
        assert f"on {first['cases']} emulated transfers" in TEXT
        for share in ("right", "false_alarms", "missed_discards", "doomed_trusted"):
            hits, of = first[share]
            assert f"{100 * hits / of:.1f} %" in TEXT, (name, share)


def test_how_often_it_is_right_elsewhere_is_what_its_section_says() -> None:
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    sentence = " ".join(TEXT.split())
    for row, said in (
        ("capture of the sender", "{} % captured at the sender"),
        ("capture midway", "{} % midway"),
        ("capture of the receiver", "{} % at the receiver"),
    ):
        share = re.search(rf"^\| {row} \| (\d+)% of", page, re.MULTILINE)
        assert share is not None, row
        assert said.format(share[1]) in sentence, row
    for row, said in (
        ("policed, alone in the policer", "{} % of the connections that are alone in it"),
        ("policed, sharing it with another client or other traffic", "{} % of those that share it"),
    ):
        share = re.search(rf"^\| {row} \| [^|]*\| (\d+)% of", page, re.MULTILINE)
        assert share is not None, row
        assert said.format(share[1]) in sentence, row


def test_no_pin_is_given_twice() -> None:
    assert not pins("requirements.txt").keys() & pins("requirements-dev.txt").keys()


def test_every_dependency_is_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "python").rglob("*.py")]
    modules = {"PyYAML": "yaml", "vl-convert-python": "vl_convert"}
    names = [Requirement(text).name for text in project["project"]["dependencies"]]
    wanted = {name: modules.get(name, name) for name in names}
    unused = [
        name
        for name, module in wanted.items()
        if not any(module in imported(text) for text in sources if f"import {module}" in text)
        and not any(module in imported(text) for text in sources if f"from {module}" in text)
    ]
    assert unused == []


def imported(text: str) -> set[str]:
    """The top-level modules that a module imports."""
    return {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name or "").split(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not getattr(node, "level", 0)
        for alias in node.names
    }


def test_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    printed = subprocess.run(
        [Path(sys.executable).with_name("trustbed"), "--version"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert (
        project["project"]["version"]
        == workspace["workspace"]["package"]["version"]
        == printed.split()[1]
    )


def test_decisions_are_numbered_and_listed() -> None:
    directory = ROOT / "docs" / "decisions"
    records = sorted(path.name for path in directory.glob("0*.md"))
    assert [name[:4] for name in records] == [
        f"{number:04}" for number in range(1, len(records) + 1)
    ]
    assert (
        re.findall(r"\]\((0[\w-]+\.md)\)", (directory / "README.md").read_text(encoding="utf-8"))
        == records
    )
    for name in records:
        assert (directory / name).read_text(encoding="utf-8").startswith(f"# {name[:4]} ")
