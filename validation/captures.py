"""Which captures are compared, and which are not and why."""

import os
from dataclasses import dataclass
from pathlib import Path

from validation.records import DamagedError, NotACaptureError, Record, contents, records

SUFFIXES = (
    ".pcap",
    ".pcapng",
    ".dmp",
    ".cap",
    ".snoop",
    ".pcap.gz",
    ".pcapng.gz",
    ".dmp.gz",
    ".snoop.gz",
)


@dataclass(frozen=True, slots=True)
class Source:
    """A capture file and the name it goes by in the report."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Unread:
    """A capture that is not compared, and why."""

    name: str
    why: str


def project() -> Path:
    """The project's root."""
    return Path(__file__).resolve().parent.parent


def traces() -> Path:
    """The directory of others' captures.

    TRUSTBED_TRACES, else a directory shared/traces beside the checkout (docs/traces.md).
    """
    return Path(os.environ.get("TRUSTBED_TRACES", project().parent / "shared" / "traces"))


def directories() -> list[tuple[str, Path]]:
    """The capture directories by name: third-party captures and shipped recordings."""
    found = [("traces", traces()), ("recordings", project() / "recordings")]
    return [(name, directory) for name, directory in found if directory.is_dir()]


def sources() -> list[Source]:
    """Every capture file, in the order of their names."""
    return [
        Source(f"{name}/{path.relative_to(directory)}", path)
        for name, directory in directories()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name.endswith(SUFFIXES)
    ]


def load(source: Source) -> list[Record] | Unread:
    """All records of a capture, or why it is not compared.

    A file that stops making sense is not compared: tcptrace and tshark stop there, each at its own
    offset, while trustbed goes on.
    """
    try:
        return list(records(contents(source.path)))
    except NotACaptureError as error:
        return Unread(source.name, f"neither pcap nor pcapng ({error})")
    except DamagedError as error:
        return Unread(source.name, f"damaged: {error}")
    except (EOFError, OSError) as error:
        return Unread(source.name, f"damaged: {error}")
