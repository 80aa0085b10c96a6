"""A canary through every verb: what others named and wrote never commands the terminal.

Every verb runs on a terminal of its own, on files, interfaces, scenarios, models, campaigns and
testbeds whose names and texts hold escape sequences. The pages that it writes meet a browser in
``tests/report/browser/test_canary.py``.
"""

from __future__ import annotations

import contextlib
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
STRACE = f"""\
101 10:00:00.000001 read(3, "{TEXT}", 100) = 1 <0.000009>
101 10:00:00.000020 open("{TEXT}", O_RDONLY) = 0 <0.000002>
101 10:00:00.000021 {ESCAPE}(0) = 0 <0.000002>
{TEXT}
101 10:00:00.000040 +++ exited with 0 +++
"""


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

    def shows(self, *words: str | Path, code: int = 0) -> str:
        """The screen of a run that shows a canary and obeys none."""
        ended = self.runs(*words)
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
    for verb, words in REFUSED.items():
        ended = place.runs(verb, *words)
        assert ended.code in (1, 2), (verb, ended.screen)
        assert ended.foreign() == [], verb
        assert SHOWN[:8] in ended.screen, (verb, ended.screen)


@pytest.mark.parametrize("more", [(), ("--json",), ("--report", "page.html", "--out", "tables")])
@pytest.mark.parametrize("verb", ["analyze", "burst"])
def test_a_capture(place: Place, verb: str, more: tuple[str, ...]) -> None:
    place.shows(verb, place.capture, *more, *(("--force",) if "--out" in more else ()))


def test_a_capture_is_annotated(place: Place) -> None:
    place.shows("analyze", place.capture, "--annotate", f"x{NAME}.pcapng")


def test_a_capture_is_explained(place: Place) -> None:
    place.shows("explain", place.capture, f"{TEXT}:1", code=2)
    ended = place.runs("explain", place.capture, ":5201")
    assert ended.code == 0, ended.screen
    assert ended.foreign() == []
    place.shows("explain", "--json", place.capture, ":5201")


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
    for more in ((), ("--json",)):
        ended = place.runs("trace", "--import", place.trace, "-o", table, *more)
        assert ended.code in (0, 1, 3), ended.screen
        assert ended.foreign() == []
    ended = place.runs("trace", "-o", table, "--", f"/{NAME}")
    assert ended.foreign() == []


def test_models(place: Place) -> None:
    for words in models_of(place.directory):
        place.shows("model", *words)


def test_a_scenario(place: Place) -> None:
    for verb, more in (("run", ()), ("run", ("--json",)), ("sensitivity", ())):
        ended = place.runs(verb, "--dry-run", *more, place.scenario)
        assert (ended.code, ended.foreign()) == (0, []), ended.screen
    place.scenario.with_suffix(".bad").write_text(f'"{TOML}" = 1\n', encoding="utf-8")
    place.shows("run", "--dry-run", place.scenario.with_suffix(".bad"), code=1)


def test_a_run(place: Place) -> None:
    directory = run_of(place.directory / f"{NAME}.run")
    place.shows("report", directory)
    place.shows("report", directory, "--json")
    place.shows("explain", directory)
    again = run_of(place.directory / f"{NAME}-again.run")
    files = ("-o", "c.html", "--markdown", "c.md", "--junit", "c.xml")
    place.shows("compare", directory, again, *files)
    place.shows("compare", directory, again, "--json")
    for file in ("c.md", "c.xml"):
        text = (place.directory / file).read_text(encoding="utf-8")
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text), file


def test_a_campaign(place: Place) -> None:
    directory = campaign_of(place.directory / f"{NAME}.campaign")
    ended = place.runs("campaign", "status", directory)
    assert (ended.code, ended.foreign()) == (0, []), ended.screen
    place.shows("campaign", "status", directory, "--json")
    place.shows("campaign", "report", directory, "-o", f"{NAME}.html")
    place.shows("campaign", "report", place.directory / f"{NAME}.campaign.toml", code=1)
    place.shows("campaign", "init", place.directory / f"{NAME}.starter")


def test_a_store(place: Place) -> None:
    store = place.directory / f"{NAME}.store"
    for more in ((), ("--json",)):
        ended = place.runs("analyze", place.capture, place.trace, "--store", store, *more)
        assert (ended.code, ended.foreign()) == (1, []), ended.screen
        assert SHOWN[:8] in ended.screen
    place.shows("store", "add", store, run_of(place.directory / "named.run", name=TOML))
    for words in (("ls",), ("hosts",), ("causes",), ("papers",), ("ls", "--json")):
        ended = place.runs("store", words[0], store, *words[1:])
        assert (ended.code, ended.foreign()) == (0, []), ended.screen
        assert words[0] in ("hosts", "causes") or "]0;cn" in ended.screen, words


def test_what_testbeds_are_for(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUSTBED_RUNTIME", str(place.registry))
    entry = registry.reserve(purpose=TEXT, hosts=("near",), switch="net", rootless=True)
    try:
        place.shows("testbed", "list")
        place.shows("testbed", "list", "--json")
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
