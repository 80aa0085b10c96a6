"""Validates agents' answers on arrival.

A host with another version, or with a fault, may answer in another form: that fails its own round.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from trustbed.agent.client import AgentError
from trustbed.agent.messages import Event
from trustbed.campaign.answers import Answer

T = TypeVar("T")


def validate(answer: object, form: type[T], agent: str) -> T:
    """Checks an agent's answer.

    Args:
        answer: The answer.
        form: The expected type.
        agent: Its name, for the message.

    Raises:
        AgentError: It has another form.
    """
    try:
        return msgspec.convert(answer, form)
    except msgspec.ValidationError as error:
        raise AgentError(
            f"{agent}: malformed answer: {error}",
            "the agent on the host may be of another version; the next round tries again",
        ) from None


def stored(report: Event, form: type[T], agent: str) -> Answer[T]:
    """Checks a report as :func:`validate` does, and includes all of it for the record."""
    return Answer(plain(report), validate(report, form, agent))


def plain(report: Event) -> Event:
    """A report as records store it."""
    return {key: value for key, value in report.items() if key != "event"}
