"""A canary through every verb: what others named and wrote never commands the terminal.

Every verb runs on a terminal, on files, interfaces, scenarios, models, campaigns and
testbeds whose names and texts hold escape sequences. The pages that it writes meet a browser in
``tests/report/browser/test_canary.py``.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.namespaces import NoNamespaces, veth
from tests.canary import ESCAPE, INTERFACE, NAME, SHOWN, TEXT, TOML, Ended, on_terminal, pcapng
from tests.canary_directories import campaign_of, models_of, run_of
from trustbed.cli import VERBS
from trustbed.testbed.netns import registry
from trustbed.watch import openmetrics

pytestmark = pytest.mark.timeout(300)

SCENARIO = f"""
name = "study"
about = "{TOML}"
duration = "600ms"
warm_up = "100ms"
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
delay = "2ms"
queue = "50p"
[workload.echo]
kind = "command"
host = "client"
to = "server"
command = ["printf", "%s", "{TOML}"]
"""
FAILS = SCENARIO.replace('["printf", "%s", "', '["sh", "-c", "printf %s \\"$0\\" >&2; exit 3", "')
LINE = TEXT.replace("\r", "")
"""``TEXT`` in one line."""
STRACE = f"""\
101 10:00:00.000001 read(3, "{LINE}", 100) = 1 <0.000009>
101 10:00:00.000020 open("{LINE}", O_RDONLY) = 0 <0.000002>
101 10:00:00.000021 {ESCAPE}(0) = 0 <0.000002>
{LINE}
101 10:00:00.000040 +++ exited with 0 +++
"""
EACH = """\
import json, sys
from trustbed.__main__ import program
finders = [*sys.meta_path]
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    print(f"<ended {program()}>", flush=True)
    sys.meta_path[:] = finders
"""
"""Runs several command lines on its terminal, one after the other."""


class Place:
    """A directory whose name is a canary, and everything in it."""

    def __init__(self, directory: Path, recordings: Path) -> None:
        self.directory = directory / NAME
        self.directory.mkdir()
        self.registry = directory / "registry"
        self.capture = pcapng(
            self.directory / f"{NAME}.pcapng", recordings / "random-loss.sender.pcap.gz"
        )
        self.scenario = self.directory / f"{NAME}.toml"
        self.scenario.write_text(SCENARIO, encoding="utf-8")
        self.fails = self.directory / "fails.toml"
        self.fails.write_text(FAILS, encoding="utf-8")
        self.trace = self.directory / "trace.txt"
        self.trace.write_text(STRACE, encoding="utf-8")

    def runs(self, *words: str | Path, enter: Sequence[str] = ()) -> Ended:
        """Runs trustbed there."""
        return on_terminal(
            words,
            cwd=self.directory,
            environment={"TRUSTBED_RUNTIME": str(self.registry)},
            enter=enter,
        )

    def runs_each(self, *commands: Sequence[str | Path]) -> Sequence[Ended]:
        """Runs trustbed several times there, in one process on one terminal."""
        lines = json.dumps([[str(word) for word in words] for words in commands])
        screen = on_terminal(
            (lines,),
            cwd=self.directory,
            environment={"TRUSTBED_RUNTIME": str(self.registry)},
            program=(sys.executable, "-c", EACH),
        )
        *each, rest = re.split(r"<ended (\d+)>\r\n", screen.screen)
        assert (screen.code, rest, len(each)) == (0, "", 2 * len(commands)), screen.screen
        return [Ended(int(code), own) for own, code in zip(each[::2], each[1::2], strict=True)]

    def shows(self, *words: str | Path, code: int = 0) -> str:
        """The screen of a run that shows a canary and obeys none."""
        return _shown(self.runs(*words), code)

    def shows_each(self, *commands: Sequence[str | Path]) -> None:
        """The same of several, in one process."""
        for ended in self.runs_each(*commands):
            _shown(ended, 0)


def _shown(ended: Ended, code: int) -> str:
    assert ended.code == code, ended.screen
    assert ended.foreign() == []
    assert "cn" in ended.screen, "the canary came this far"
    return ended.screen


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, recordings: Path) -> Place:
    return Place(tmp_path_factory.mktemp("canary"), recordings)


REFUSED: dict[str, tuple[str, ...]] = {
    "analyze": (NAME,),
    "explain": (NAME, ":5201"),
    "burst": (NAME,),
    "watch": (NAME[:12],),
    "shell": ("--link", f"{NAME}=1", "--", "true"),
    "run": (NAME,),
    "report": (NAME,),
    "compare": (f"{ESCAPE}x", f"{ESCAPE}y"),
    "trace": ("--import", NAME, "-o", "x"),
    "model": ("show", NAME),
    "sensitivity": (NAME,),
    "store": ("ls", NAME),
    "ui": (NAME,),
    "campaign": ("status", NAME),
    "testbed": (NAME,),
    "doctor": ("--inventory", NAME, "host"),
}


def test_every_verb_refuses_a_canary_without_obeying_it(place: Place) -> None:
    assert REFUSED.keys() == VERBS.keys(), "a new verb has its canary here"
    each = place.runs_each(*((verb, *words) for verb, words in REFUSED.items()))
    for verb, ended in zip(REFUSED, each, strict=True):
        assert ended.code in (1, 2), (verb, ended.screen)
        assert ended.foreign() == [], verb
        assert SHOWN[:8] in ended.screen, (verb, ended.screen)


@pytest.mark.parametrize("verb", ["analyze", "burst"])
def test_a_capture(place: Place, verb: str) -> None:
    written = ("--report", "page.html", "--out", "tables", "--force")
    place.shows_each(*((verb, place.capture, *more) for more in ((), ("--json",), written)))


def test_a_capture_is_annotated(place: Place) -> None:
    place.shows("analyze", place.capture, "--annotate", f"x{NAME}.pcapng")


def test_a_capture_is_explained(place: Place) -> None:
    unknown, known, as_json = place.runs_each(
        ("explain", place.capture, f"{TEXT}:1"),
        ("explain", place.capture, ":5201"),
        ("explain", "--json", place.capture, ":5201"),
    )
    _shown(unknown, 2)
    assert (known.code, known.foreign()) == (0, []), known.screen
    _shown(as_json, 0)


def test_a_bug_shows_its_traceback_without_obeying_it(place: Place) -> None:
    program = place.directory / "bug.py"
    program.write_text(
        "import sys\nimport trustbed.cli.doctor\nfrom trustbed.cli import main\n"
        f"def fail(words): raise RuntimeError({TEXT!r})\n"
        "trustbed.cli.doctor.run = fail\nsys.exit(main(['doctor']))\n",
        encoding="utf-8",
    )
    ended = on_terminal([], cwd=place.directory, program=[sys.executable, str(program)])
    assert ended.code == 1
    assert "RuntimeError" in ended.screen
    assert ended.foreign() == []


def test_traces(place: Place) -> None:
    table = place.directory / f"{NAME}.parquet"
    imported = ("trace", "--import", place.trace, "-o", table)
    *each, traced = place.runs_each(
        imported, (*imported, "--json"), ("trace", "-o", table, "--", f"/{NAME}")
    )
    for ended in each:
        assert ended.code in (0, 1, 3), ended.screen
        assert ended.foreign() == []
    assert traced.foreign() == []


def test_models(place: Place) -> None:
    place.shows_each(*(("model", *words) for words in models_of(place.directory)))


def test_a_scenario(place: Place) -> None:
    bad = place.scenario.with_suffix(".bad")
    bad.write_text(f'"{TOML}" = 1\n', encoding="utf-8")
    *each, refused = place.runs_each(
        ("run", "--dry-run", place.scenario),
        ("run", "--dry-run", "--json", place.scenario),
        ("sensitivity", "--dry-run", "--backgrounds", "poisson,web", place.scenario),
        ("run", "--dry-run", bad),
    )
    for ended in each:
        assert (ended.code, ended.foreign()) == (0, []), ended.screen
    _shown(refused, 1)


def test_a_run(place: Place) -> None:
    directory = run_of(place.directory / f"{NAME}.run")
    again = run_of(place.directory / f"{NAME}-again.run")
    files = ("-o", "c.html", "--markdown", "c.md", "--junit", "c.xml")
    place.shows_each(
        ("report", directory),
        ("report", directory, "--json"),
        ("explain", directory),
        ("compare", directory, again, *files),
        ("compare", directory, again, "--json"),
    )
    for file in ("c.md", "c.xml"):
        text = (place.directory / file).read_text(encoding="utf-8")
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text), file


def test_a_campaign(place: Place) -> None:
    directory = campaign_of(place.directory / f"{NAME}.campaign")
    status, *shown, refused = place.runs_each(
        ("campaign", "status", directory),
        ("campaign", "status", directory, "--json"),
        ("campaign", "report", directory, "-o", f"{NAME}.html"),
        ("campaign", "init", place.directory / f"{NAME}.starter"),
        ("campaign", "report", place.directory / f"{NAME}.campaign.toml"),
    )
    assert (status.code, status.foreign()) == (0, []), status.screen
    for ended in shown:
        _shown(ended, 0)
    _shown(refused, 1)


def test_a_store(place: Place) -> None:
    store = place.directory / f"{NAME}.store"
    analyze = ("analyze", place.capture, place.trace, "--store", store)
    lists = (("ls",), ("hosts",), ("causes",), ("papers",), ("ls", "--json"))
    analyzed, as_json, added, *listed = place.runs_each(
        analyze,
        (*analyze, "--json"),
        ("store", "add", store, run_of(place.directory / "named.run", name=TOML)),
        *(("store", words[0], store, *words[1:]) for words in lists),
    )
    for ended in (analyzed, as_json):
        assert (ended.code, ended.foreign()) == (1, []), ended.screen
        assert SHOWN[:8] in ended.screen
    _shown(added, 0)
    for words, ended in zip(lists, listed, strict=True):
        assert (ended.code, ended.foreign()) == (0, []), ended.screen
        assert words[0] in ("hosts", "causes") or "]0;cn" in ended.screen, words


def test_what_testbeds_are_for(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUSTBED_RUNTIME", str(place.registry))
    entry = registry.reserve(purpose=TEXT, hosts=("near",), switch="net", rootless=True)
    try:
        place.shows_each(("testbed", "list"), ("testbed", "list", "--json"))
    finally:
        entry.drop()


def test_this_host(place: Place) -> None:
    place.shows("doctor", "--quick", "--inventory", _inventory(place), "far", code=1)


def _inventory(place: Place) -> Path:
    """A host that answers a canary to whatever it is asked."""
    file = place.directory / "hosts.toml"
    file.write_text(
        f'[hosts.far]\nprefix = ["sh", "-c", "printf %s \\"$0\\"; exit 1", "{TOML}"]\n',
        encoding="utf-8",
    )
    return file


def test_a_metric() -> None:
    labelled = openmetrics._sample("x", {"interface": TEXT}, 1.0)
    assert labelled.rstrip("\n").isprintable()
    assert "\\\\x1b]0;cn" in labelled


@pytest.mark.usefixtures("networks")
def test_an_interface(place: Place) -> None:
    with contextlib.ExitStack() as stack:
        try:
            near, _ = stack.enter_context(veth())
        except NoNamespaces as error:
            pytest.skip(str(error))
        near.run("ip", "link", "set", "left", "down")
        near.run("ip", "link", "set", "left", "name", INTERFACE)
        near.run("ip", "link", "set", INTERFACE, "up")
        enter = near.enter([])
        written = place.directory / f"{NAME}.watched.pcapng"
        for more in (("--write", written), ("--json",), ("--quiet",)):
            ended = place.runs("watch", INTERFACE, "--duration", "1s", *more, enter=enter)
            assert ended.code == 0, ended.screen
            assert ended.foreign() == []
        ended = place.runs("watch", "absent", enter=enter)
        assert ended.code == 1
        assert "\\x1b]0;cn" in ended.screen
        assert ended.foreign() == []
        place.shows("burst", written, "--by", "interface")


@pytest.mark.quiet
@pytest.mark.usefixtures("networks")
@pytest.mark.parametrize("name", ["scenario", "fails"])
def test_a_live_run(place: Place, name: str) -> None:
    ended = place.runs("run", getattr(place, name), "-o", f"{name}.run")
    assert ended.code == 0, ended.screen
    assert ended.foreign() == []
    written = (place.directory / f"{name}.run").rglob("*echo*")
    assert any(b"cn" in file.read_bytes() for file in written if file.is_file())


@pytest.mark.quiet
@pytest.mark.usefixtures("networks")
def test_a_shell(place: Place) -> None:
    ended = place.runs("shell", "--delay", "1ms", "--", f"/{NAME}")
    assert ended.code != 0
    assert SHOWN in ended.screen
    assert ended.foreign() == []
