"""Callbacks of a campaign's progress. Every method may be left as it is."""

from __future__ import annotations

from trustbed.campaign import Round, Skip
from trustbed.campaign.records import JudgedRound, RoundRecord


class RoundListener:
    """Hears what happens, from the thread that carries the campaign out or from one that judges.

    What it raises ends the campaign.
    """

    def on_begun(self, *, rounds: int, resumed: bool) -> None:
        """It begins, or goes on; so many rounds have begun or were skipped before."""

    def on_host(self, host: str, *, up: bool, why: str | None, hint: str | None) -> None:
        """A host has been connected, or cannot be reached any more."""

    def on_round(self, one: Round) -> None:
        """A round begins."""

    def on_skipped(self, skip: Skip) -> None:
        """Rounds do not take place."""

    def on_ended(self, one: Round, record: RoundRecord) -> None:
        """A round has ended; its data are stored."""

    def on_judged(self, pair: str, number: int, judged: JudgedRound) -> None:
        """What was measured has been judged."""

    def on_waiting(self, until_ns: int | None, running: int) -> None:
        """Nothing is to be done until a moment, or until one of so many rounds ends."""
