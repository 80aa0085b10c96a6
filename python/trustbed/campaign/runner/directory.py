"""A campaign's directory: the one contract between what measures and what judges it.

    manifest.json  campaign.toml                      what the campaign is
    journal.jsonl                                     its events, appended
    hosts/HOST-TIME.json                              a host's facts when it was connected
    rounds/PAIR/000017/*.pcapng  *.samples.jsonl      raw, written once
    rounds/PAIR/000017/round.json                     what the agents reported
    rounds/PAIR/000017/done                           the marker: the raw part is complete
    rounds/PAIR/000017/judged.json                    derived, can be made again
    rounds/PAIR/000017/resources.json  .parquet       other metric sources, queried afterwards

Whenever the writer is killed, a round with its marker is complete. A round without one stays on
disk for inspection and is not used. Captures of judged rounds are removed, the oldest first, when
the disk limit is reached; their findings stay.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from trustbed.campaign.records import JudgedRound, RecordT, RoundRecord, read, text
from trustbed.campaign.runner.journal import Journal
from trustbed.disk import flush, flush_tree
from trustbed.run.owned_directory import (
    OwnedDirectory,
    RunDirectoryError,
    as_text,
    write_whole,
)
from trustbed.scenario.campaign import CampaignFile
from trustbed.scenario.campaign_model import ROLES

CAMPAIGN, JOURNAL, HOSTS, ROUNDS = "campaign.toml", "journal.jsonl", "hosts", "rounds"
RECORD, DONE, JUDGED = "round.json", "done", "judged.json"
RESOURCES, RESOURCE_TABLE = "resources.json", "resources.parquet"
CAPTURE, FAR_CAPTURE = "sender.pcapng", "receiver.pcapng"
CAPTURES = (CAPTURE, FAR_CAPTURE)
FORMAT = 1


class PairEntry(msgspec.Struct, frozen=True):
    """A pair of hosts in a manifest."""

    pair: str
    sender: str
    receiver: str


class CampaignFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign's settings. Times in nanoseconds; ``half_width`` is relative to the mean."""

    sha256: str
    file: str
    name: str
    about: str
    seed: int
    rounds_per_pair: int
    period_ns: int
    lasts_ns: int
    arrangement: str
    order: str
    pairs_at_once: int
    windows_bytes: dict[str, int | None]
    disk_limit_bytes: int | None
    confidence: float
    half_width: float


class CampaignEntry(CampaignFacts, frozen=True, kw_only=True):
    """A campaign's settings, pairs and hosts, for a reader without its inventory."""

    pairs: tuple[PairEntry, ...]
    hosts: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """``manifest.json`` of a campaign."""

    kind: Literal["campaign"]
    format: Literal[1]
    campaign: CampaignEntry
    began_ns: int


@dataclass(frozen=True, slots=True, order=True)
class RoundDirectory:
    """The directory of a round."""

    number: int
    pair: str
    path: Path

    @property
    def is_complete(self) -> bool:
        """Whether its raw part is complete."""
        return (self.path / DONE).is_file()

    @property
    def is_judged(self) -> bool:
        """Whether it has been judged."""
        return (self.path / JUDGED).is_file()

    @property
    def captures(self) -> list[Path]:
        """Its captures that are still there."""
        return [file for name in CAPTURES if (file := self.path / name).is_file()]

    @property
    def judging_failed(self) -> bool:
        """Whether it was tried to judge it, in vain."""
        try:
            return b'"judging_error"' in (self.path / JUDGED).read_bytes()
        except OSError:
            return False

    def record(self) -> RoundRecord:
        """The record of the round."""
        return _read(self.path / RECORD, RoundRecord)

    def judged(self) -> JudgedRound:
        """The judgement of the round."""
        return _read(self.path / JUDGED, JudgedRound)

    def finish(self, record: RoundRecord) -> None:
        """Writes the record, makes sure that everything is on the disk, and sets the marker."""
        write_whole(self.path / RECORD, text(record))
        flush_tree(self.path)
        write_whole(self.path / DONE, as_text({"outcome": record.outcome}))
        flush(self.path)

    def write_judged(self, judged: JudgedRound) -> None:
        """Writes the judgement, and replaces an earlier one."""
        write_whole(self.path / JUDGED, text(judged))

    def size_bytes(self) -> int:
        """The size of its files."""
        return sum(file.stat().st_size for file in self.path.iterdir() if file.is_file())


class CampaignDirectory(OwnedDirectory):
    """The directory of a campaign, which may not exist yet."""

    kind = "campaign"
    maker = "trustbed campaign run"
    again = "begin the campaign in a new directory"

    @property
    def journal(self) -> Journal:
        """Its events."""
        return Journal(self.path / JOURNAL)

    def is_ours(self, name: str) -> bool:
        """Whether campaigns create entries of that name."""
        return name in (CAMPAIGN, JOURNAL, HOSTS, ROUNDS)

    def begin(self, study: CampaignFile, *, began_ns: int, about: Mapping[str, object]) -> None:
        """Creates the directory with the manifest of a campaign."""
        manifest = {
            "format": FORMAT,
            "kind": self.kind,
            "trustbed": dict(about),
            "campaign": msgspec.to_builtins(_entry(study)),
            "began_ns": began_ns,
        }
        self.begin_directory(manifest, {CAMPAIGN: study.text})

    def check_readable(self) -> Manifest:
        """The manifest of a campaign that this version can read.

        Raises:
            RunDirectoryError: There is none, or it is damaged or of another version.
        """
        manifest = self.manifest()
        try:
            return msgspec.convert(manifest, Manifest)
        except msgspec.ValidationError as error:
            raise RunDirectoryError(
                f"holds no campaign that this version can read, {self.path}: {error}",
                "name one that trustbed campaign run has made",
            ) from None

    def check(self, study: CampaignFile) -> int:
        """Checks that this campaign can be continued here; returns when it began.

        Raises:
            RunDirectoryError: Another one is here, or the file has changed.
        """
        manifest = self.manifest()
        if manifest.get("kind") != self.kind or manifest.get("format") != FORMAT:
            raise RunDirectoryError(
                f"holds no campaign that this version can continue, {self.path}",
                "give --out another name",
            )
        known = manifest.get("campaign") or {}
        if known.get("sha256") != study.sha256:
            message = (
                f"holds a campaign of another file, or of {study.file.name} before it was "
                f"changed, {self.path}"
            )
            raise RunDirectoryError(message, "give --out another name, or restore the file")
        return int(manifest["began_ns"])

    def round(self, pair: str, number: int) -> RoundDirectory:
        """The directory of a round, which may not exist yet."""
        return RoundDirectory(number, pair, self.path / ROUNDS / pair / f"{number:06}")

    def begin_round(self, pair: str, number: int) -> RoundDirectory:
        """Creates an empty directory for a round."""
        directory = self.round(pair, number)
        assert not directory.is_complete, "raw data are written once"
        shutil.rmtree(directory.path, ignore_errors=True)
        directory.path.mkdir(parents=True)
        return directory

    def rounds(self) -> Iterator[RoundDirectory]:
        """All complete rounds, pair after pair, in order."""
        for pair in _entries(self.path / ROUNDS):
            for one in _entries(pair):
                if (
                    one.name.isdecimal()
                    and (directory := RoundDirectory(int(one.name), pair.name, one)).is_complete
                ):
                    yield directory

    def write_host(self, host: str, at_ns: int, facts: Mapping[str, object]) -> str:
        """Writes a host's facts; returns the name of the file."""
        name = f"{HOSTS}/{host}-{at_ns}.json"
        (self.path / HOSTS).mkdir(exist_ok=True)
        write_whole(self.path / name, as_text(facts))
        return name

    def used_bytes(self) -> int:
        """The size of all files."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())


def _entry(study: CampaignFile) -> CampaignEntry:
    campaign, rounds = study.campaign, study.campaign.rounds
    return CampaignEntry(
        sha256=study.sha256,
        file=str(study.file.absolute()),
        name=campaign.name,
        about=campaign.about,
        seed=campaign.seed,
        pairs=tuple(PairEntry(one.name, one.sender, one.receiver) for one in campaign.pairs),
        hosts=tuple(host.name for host in campaign.hosts),
        rounds_per_pair=rounds.count,
        period_ns=rounds.period_ns,
        lasts_ns=campaign.lasts_ns,
        arrangement=rounds.arrangement,
        order=rounds.order,
        pairs_at_once=rounds.pairs_at_once,
        windows_bytes={role: rounds.window_of(role) for role in ROLES},
        disk_limit_bytes=campaign.recording.disk_bytes,
        confidence=campaign.wanted.level,
        half_width=campaign.wanted.half_width,
    )


def _entries(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else []


def _read(path: Path, form: type[RecordT]) -> RecordT:
    try:
        return read(msgspec.json.decode(path.read_bytes()), form)
    except (OSError, ValueError, RecursionError) as error:
        raise RunDirectoryError(
            f"cannot be read, {path}: {error}",
            "remove this file, and continue the campaign: the round is judged again"
            if path.name == JUDGED
            else "restore it, or remove the directory it is in",
        ) from None
