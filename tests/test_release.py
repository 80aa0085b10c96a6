"""A release is one version everywhere, complete, and the same every time it is made."""

from __future__ import annotations

import gzip
import json
import platform
import re
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

import trustbed
from tools.dist import sbom, smoke, source
from tools.dist.__main__ import differing, digest

ROOT = Path(__file__).resolve().parent.parent
VERSION = Version(trustbed.__version__)


def test_the_changelog_tells_of_this_version_or_of_what_is_to_come() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.MULTILINE)
    first, *released = headings if headings[0][0] == "Unreleased" else [("", ""), *headings]
    assert first[1] == ""
    versions = [Version(name) for name, _ in released]
    assert versions == sorted(set(versions), reverse=True)
    assert all(date for _, date in released)
    assert [one for one in versions if one > VERSION] == []
    # Without the heading of what is to come, the newest section is this version's.
    assert first[0] == "Unreleased" or versions[0] == VERSION


def test_no_page_names_another_version_of_trustbed() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "Containerfile"]
    named = {
        found
        for page in pages
        for found in re.findall(r"\btrustbed[ =-]+v?(\d+\.\d+\.\d+)", page.read_text("utf-8"))
    }
    assert named <= {str(VERSION)}


def test_the_pages_of_a_release_state_the_minimum_versions_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in readme
    assert f"Rust {workspace['package']['rust-version']} or newer" in readme


@pytest.fixture(scope="module")
def bill() -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = json.loads(sbom.bill(ROOT, str(VERSION)))
    return found


def test_the_bill_of_materials_has_every_crate_that_is_linked(
    bill: dict[str, list[dict[str, object]]],
) -> None:
    listed = {str(one["bom-ref"]) for one in bill["components"]}
    for package in ("trustbed-py", "trustbed-agent"):
        command = ["cargo", "tree", "--locked", "--prefix=none", "--edges=normal,build"]
        command += ["--package", package, "--target", source.TARGETS[0]]
        said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        linked = {"pkg:cargo/{}@{}".format(*line.split()[:2]) for line in said.splitlines() if line}
        assert {one.replace("@v", "@") for one in linked} - listed == set()
    assert not [one for one in listed if one.startswith("pkg:cargo/proptest@")]  # tests only


def test_the_bill_of_materials_has_every_pinned_package_and_no_loose_end(
    bill: dict[str, list[dict[str, object]]],
) -> None:
    listed = {str(one["bom-ref"]) for one in bill["components"]}
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^([a-z0-9-]+)==([^\s\\]+)", text, re.MULTILINE)
    assert {f"pkg:pypi/{name}@{version}" for name, version in pins} <= listed
    root = f"pkg:pypi/trustbed@{VERSION}"
    for one in bill["dependencies"]:
        needs = one["dependsOn"]
        assert isinstance(needs, list)
        assert {str(one["ref"]), *needs} <= listed | {root}


def test_a_directory_is_packed_to_the_same_bytes_whenever_and_by_whomever(tmp_path: Path) -> None:
    packed = []
    for name, mode in (("one", 0o600), ("other", 0o664)):
        directory = tmp_path / name / "trustbed"
        (directory / "deep").mkdir(parents=True)
        (directory / "deep" / "file").write_text("the same", encoding="utf-8")
        (directory / "deep" / "file").chmod(mode)
        (directory / "run").write_text("#!/bin/sh\n", encoding="utf-8")
        (directory / "run").chmod(0o700)
        packed.append(source.pack(directory, tmp_path / f"{name}.tar.gz", 1_700_000_000))
    assert digest(packed[0]) == digest(packed[1])
    with gzip.open(packed[0]) as raw, tarfile.open(fileobj=raw) as archive:
        modes = {member.name: member.mode for member in archive}
    assert modes == {"trustbed/deep": 0o755, "trustbed/deep/file": 0o644, "trustbed/run": 0o755}


def test_two_builds_differ_by_a_byte_or_by_a_file(tmp_path: Path) -> None:
    for name, text in (("one", "a"), ("other", "b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "wheel").write_text(text, encoding="utf-8")
        (tmp_path / name / "same").write_text("same", encoding="utf-8")
    (tmp_path / "other" / "more").write_text("", encoding="utf-8")
    assert differing(tmp_path / "one", tmp_path / "other") == ["wheel", "more"]


def test_an_agent_that_does_nothing_is_noticed(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    program.chmod(0o755)

    with pytest.raises(SystemExit, match="agent ended with 0"):
        smoke.agent(program, platform.machine())


def test_flags_hide_where_it_was_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARGO_HOME", "/somewhere/cargo")
    environment = source.reproducible(Path("/somewhere/tree"), 5)
    assert environment["SOURCE_DATE_EPOCH"] == "5"
    for name in ("RUSTFLAGS", "CFLAGS"):
        assert "/somewhere/tree=." in environment[name]
        assert "/somewhere/cargo=/cargo" in environment[name]
