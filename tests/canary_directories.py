"""What commands of trustbed leave behind, with a canary wherever a text is free."""

from __future__ import annotations

import json
from pathlib import Path

from tests.canary import NAME, TEXT, TOML
from tests.report.campaign_directories import Story, make_campaign
from tests.report.run_directories import STUDY, make_run
from tests.traffic.frames import ACK, FIN, SYN, Frame, pcap


def run_of(path: Path, *, name: str = "study") -> Path:
    """A run whose title, command, hosts' facts and reasons hold canaries."""
    text = STUDY.replace('about = "', f'about = "{TOML}').replace('"study"', f'"{name}"')
    directory = make_run(path, text).path
    for name in ("run.json", "facts.json", "host.json"):
        file = directory / name
        if file.is_file():
            document = json.loads(file.read_text(encoding="utf-8"))
            _plant(document)
            file.write_text(json.dumps(document), encoding="utf-8")
    return directory


def _plant(value: object) -> None:
    """A canary instead of every text that trustbed only shows."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key in ("command", "kernel", "machine", "about", "hostname") and isinstance(
                one, str
            ):
                value[key] = TEXT
            else:
                _plant(one)
    elif isinstance(value, list):
        for one in value:
            _plant(one)


def campaign_of(path: Path) -> Path:
    """A campaign whose journal and judged rounds hold what hosts said."""
    story = Story(pairs=(("alpha", "beta"),), rounds=12, down={"beta": (0, 1)})
    directory = make_campaign(path, story)
    journal = directory / "journal.jsonl"
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        for key in ("why", "version"):
            if line.get(key):
                line[key] = TEXT
    lines[0]["about"] = TEXT
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    for file in directory.rglob("judged.json"):
        judged = json.loads(file.read_text(encoding="utf-8"))
        judged["capture_error"] = TEXT
        file.write_text(json.dumps(judged), encoding="utf-8")
    return directory


def models_of(directory: Path) -> list[tuple[str | Path, ...]]:
    """What ``trustbed model`` does with a canary, one step after the other."""
    capture = pcap(directory / f"{NAME}.pcap", fetch())
    model, variant = directory / f"{NAME}.model", directory / f"{NAME}.variant.model"
    texts = [word for key in ("name", "about", "source", "licence") for word in (f"--{key}", TEXT)]
    return [
        ("extract", capture, "-o", model, *texts),
        ("show", model, "-o", directory / "model.html"),
        ("show", model, "--json"),
        ("edit", model, "-o", variant, "--sessions", "2", "--name", TEXT, "--about", TEXT),
    ]


def fetch() -> list[Frame]:
    """A connection with a request and its response."""

    def frame(ms: float, by_server: bool, flags: int, at: int, to: int, payload: int = 0) -> Frame:
        return Frame(
            ms=ms, by_server=by_server, flags=flags, sequence=at, acknowledges=to, payload=payload
        )

    return [
        frame(0, False, SYN, 1000, 0),
        frame(10, True, SYN | ACK, 5000, 1001),
        frame(11, False, ACK, 1001, 5001),
        frame(12, False, ACK, 1001, 5001, 200),
        frame(30, True, ACK, 5001, 1201, 1400),
        frame(31, False, ACK, 1201, 6401),
        frame(50, False, FIN | ACK, 1201, 6401),
        frame(60, True, FIN | ACK, 6401, 1202),
        frame(61, False, ACK, 1202, 6402),
    ]
