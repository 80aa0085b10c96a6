"""Unsafe code stays where the kernel is called: in the agent, and in live capture."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNSAFE = re.compile(r"^[^/\n]*\bunsafe\s*(?:\{|fn\b|impl\b|extern\b)", re.MULTILINE)
BLOCKS = {"agent": 73, "capture": 24}
"""Unsafe blocks, functions and implementations by crate.

A change of a number is a change of what has to be read by hand.
"""


def test_unsafe_code_is_denied_in_every_crate() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    assert workspace["workspace"]["lints"]["rust"]["unsafe_code"] == "deny"
    for file in ROOT.glob("crates/*/Cargo.toml"):
        crate = tomllib.loads(file.read_text(encoding="utf-8"))
        assert crate["lints"] == {"workspace": True}, file


def test_unsafe_code_stays_in_the_agent_and_in_live_capture() -> None:
    counts: dict[str, int] = {}
    for file in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        if found := len(UNSAFE.findall(file.read_text(encoding="utf-8"))):
            crate = file.relative_to(ROOT / "crates").parts[0]
            counts[crate] = counts.get(crate, 0) + found
            if crate == "capture":
                assert "live" in file.parts, file
    assert counts == BLOCKS


def test_every_unsafe_block_states_why_it_is_sound() -> None:
    for file in ROOT.glob("crates/*/src/**/*.rs"):
        lines = file.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if re.search(r"\bunsafe\s*\{", line.partition("//")[0]):
                before = "\n".join(lines[max(0, number - 12) : number + 1])
                assert "SAFETY:" in before, f"{file}:{number + 1}"
