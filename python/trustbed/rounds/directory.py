"""A campaign's folder: the one contract between what measures and what judges it.

    manifest.json  campaign.toml                               what the campaign is
    journal.jsonl                                              what has happened to it, appended
    hosts/HOST-MOMENT.json                                     what a host was like when it was connected
    rounds/PAIR/000017/*.pcapng  *.samples.jsonl               raw, written once
    rounds/PAIR/000017/round.json                              what happened in the round
    rounds/PAIR/000017/done                                    the marker: the raw part is complete
    rounds/PAIR/000017/judged.json                             derived, can be made again
    rounds/PAIR/000017/resources.json  resources.parquet       what others say of the hosts, asked for when the round is over

Whatever moment the writer is killed at, a round with its marker is whole. One without stays as it is, for whoever wants to look, and is
not used. Disk is bounded by giving up captures of judged rounds, the oldest first; what was found in them stays.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trustbed.rounds.journal import Journal
from trustbed.run.folder import (
    ManifestFolder,
    RunDirectoryError,
    as_text,
    flush,
    flush_tree,
    write_whole,
)
from trustbed.scenario.campaign import CampaignFile
from trustbed.scenario.campaign_model import ROLES, Campaign

CAMPAIGN, JOURNAL, HOSTS, ROUNDS = "campaign.toml", "journal.jsonl", "hosts", "rounds"
RECORD, DONE, JUDGED = "round.json", "done", "judged.json"
RESOURCES, RESOURCE_TABLE = "resources.json", "resources.parquet"
CAPTURE, FAR_CAPTURE = "sender.pcapng", "receiver.pcapng"
CAPTURES = (CAPTURE, FAR_CAPTURE)
FORMAT = 1


@dataclass(frozen=True, slots=True, order=True)
class RoundFolder:
    """Where a round is kept."""

    number: int
    pair: str
    path: Path

    @property
    def is_complete(self) -> bool:
        """Whether its raw part is whole."""
        return (self.path / DONE).is_file()

    @property
    def is_judged(self) -> bool:
        """Whether it has been judged."""
        return (self.path / JUDGED).is_file()

    def record(self) -> dict[str, Any]:
        """What happened in it."""
        return _read(self.path / RECORD)

    def judged(self) -> dict[str, Any]:
        """What was found in it."""
        return _read(self.path / JUDGED)

    def finish(self, record: Mapping[str, Any]) -> None:
        """Writes what happened, makes sure that everything is on the disk, and sets the marker."""
        write_whole(self.path / RECORD, as_text(record))
        flush_tree(self.path)
        write_whole(self.path / DONE, as_text({"outcome": record.get("outcome")}))
        flush(self.path)

    def write_judged(self, judged: Mapping[str, Any]) -> None:
        """What was found, in the place of what was found before."""
        write_whole(self.path / JUDGED, as_text(judged))

    def size_bytes(self) -> int:
        """What its files take."""
        return sum(file.stat().st_size for file in self.path.iterdir() if file.is_file())


class CampaignDirectory(ManifestFolder):
    """A folder that holds a campaign, or will."""

    kind = "campaign"
    maker = "trustbed pairs"
    again = "begin the campaign in a new folder"

    @property
    def journal(self) -> Journal:
        """What has happened."""
        return Journal(self.path / JOURNAL)

    def is_ours(self, name: str) -> bool:
        """Whether a campaign has made something of that name."""
        return name in (CAMPAIGN, JOURNAL, HOSTS, ROUNDS)

    def begin(self, study: CampaignFile, *, began_ns: int, about: Mapping[str, object]) -> None:
        """Makes the folder a campaign's."""
        manifest = {
            "format": FORMAT,
            "kind": self.kind,
            "trustbed": dict(about),
            "campaign": {
                "sha256": study.sha256,
                "file": str(study.file.absolute()),
                **_told(study.campaign),
            },
            "began_ns": began_ns,
        }
        self.begin_folder(manifest, {CAMPAIGN: study.text})

    def check_readable(self) -> dict[str, Any]:
        """Whether a campaign is here that can be read; its manifest.

        Raises:
            RunDirectoryError: There is none, or it is of another version.
        """
        manifest = self.manifest()
        if manifest.get("kind") != self.kind or manifest.get("format") != FORMAT:
            raise RunDirectoryError(
                f"holds no campaign that this version can read, {self.path}",
                "name one that trustbed pairs has made",
            )
        return manifest

    def check(self, study: CampaignFile) -> int:
        """Whether this campaign may go on here; when it began.

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
            message = f"holds a campaign of another file, or of {study.file.name} before it was changed, {self.path}"
            raise RunDirectoryError(message, "give --out another name, or restore the file")
        return int(manifest["began_ns"])

    def round(self, pair: str, number: int) -> RoundFolder:
        """Where a round is, or will be."""
        return RoundFolder(number, pair, self.path / ROUNDS / pair / f"{number:06}")

    def begin_round(self, pair: str, number: int) -> RoundFolder:
        """An empty folder for a round."""
        folder = self.round(pair, number)
        assert not folder.is_complete, "raw data are written once"
        shutil.rmtree(folder.path, ignore_errors=True)
        folder.path.mkdir(parents=True)
        return folder

    def rounds(self) -> Iterator[RoundFolder]:
        """All that are complete, those of one pair after those of another, in order."""
        for pair in _entries(self.path / ROUNDS):
            for one in _entries(pair):
                if (
                    one.name.isdecimal()
                    and (folder := RoundFolder(int(one.name), pair.name, one)).is_complete
                ):
                    yield folder

    def write_host(self, host: str, at_ns: int, facts: Mapping[str, Any]) -> str:
        """What a host is like now; the name of the file."""
        name = f"{HOSTS}/{host}-{at_ns}.json"
        (self.path / HOSTS).mkdir(exist_ok=True)
        write_whole(self.path / name, as_text(facts))
        return name

    def used_bytes(self) -> int:
        """What all files take."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())


def _told(campaign: Campaign) -> dict[str, Any]:
    """What a campaign is, for whoever reads its folder later, without its inventory and on another machine."""
    rounds = campaign.rounds
    return {
        "name": campaign.name,
        "about": campaign.about,
        "seed": campaign.seed,
        "pairs": [
            {"pair": pair.name, "sender": pair.sender, "receiver": pair.receiver}
            for pair in campaign.pairs
        ],
        "hosts": [host.name for host in campaign.hosts],
        "rounds_per_pair": rounds.count,
        "period_ns": rounds.period_ns,
        "lasts_ns": campaign.lasts_ns,
        "arrangement": rounds.arrangement,
        "order": rounds.order,
        "pairs_at_once": rounds.pairs_at_once,
        "windows_bytes": {role: rounds.window_of(role) for role in ROLES},
        "disk_limit_bytes": campaign.recording.disk_bytes,
        "confidence": campaign.wanted.level,
        "half_width": campaign.wanted.half_width,
    }


def _entries(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else []


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunDirectoryError(
            f"cannot be read, {path}: {error}", "restore it, or remove the folder it is in"
        ) from None
    return found
