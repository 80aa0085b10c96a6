"""Callbacks of a campaign's progress. Every method is optional."""

from __future__ import annotations

from trustbed.campaign import Round, Skip
from trustbed.campaign.records import JudgedRound, RoundRecord


class RoundListener:
    """Is called by the thread that runs the campaign and by the one that judges.

    An exception that it raises ends the campaign.
    """

    def on_begun(self, *, rounds: int, resumed: bool) -> None:
        """It begins or continues; ``rounds`` have begun or were skipped before."""

    def on_host(self, host: str, *, up: bool, why: str | None, hint: str | None) -> None:
        """A host has been connected, or is unreachable."""

    def on_round(self, one: Round) -> None:
        """A round begins."""

    def on_skipped(self, skip: Skip) -> None:
        """Rounds are skipped."""

    def on_ended(self, one: Round, record: RoundRecord) -> None:
        """A round has ended; its data are stored."""

    def on_judged(self, pair: str, number: int, judged: JudgedRound) -> None:
        """A round has been judged."""

    def on_waiting(self, until_ns: int | None, running: int) -> None:
        """It waits until a moment, or until one of the running rounds ends."""
