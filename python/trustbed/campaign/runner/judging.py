"""Judges rounds in processes of their own, so that judging takes no time from rounds that run.

Each is a `python -m trustbed.campaign.judge` at a low priority: it reads the directory of a round
from a line, and answers with the judgement in a line. One that dies, for example because there is
no memory left, costs the judgement of its round; the next round starts another.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

import trustbed
from trustbed.campaign.answers import Json
from trustbed.campaign.records import JudgedRound, read
from trustbed.campaign.runner.directory import RoundDirectory
from trustbed.errors import TrustbedError

AT_ONCE = max(1, min(4, (os.cpu_count() or 1) // 2))
"""How many rounds are judged at a time."""
MODULE = "trustbed.campaign.judge"
NICE = 10
"""The priority of such a process: below what measures."""
_END_SECONDS = 10.0
_TAIL_BYTES = 2000


BUG = "this is a bug: report it with the round's directory"
"""The hint for an error that nobody expects."""


class JudgingError(TrustbedError):
    """A round could not be judged. ``message`` and ``hint`` say why."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a round could not be judged; ``errno`` if the system refused something."""

    message: str
    hint: str | None
    errno: int | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of a round as :func:`trustbed.campaign.records.plain` has it, or a refusal."""

    judged: Json | None = None
    refused: Refusal | None = None


class JudgingProcesses:
    """Judges rounds for several threads: one process for each that judges.

    They start with the first rounds, and end with the block.
    """

    def __init__(self) -> None:
        self._idle: queue.LifoQueue[_Process] = queue.LifoQueue()

    def __call__(self, round_directory: RoundDirectory) -> JudgedRound:
        """The judgement of a round.

        Raises:
            JudgingError: It could not be judged, or the process died.
            OSError: This machine refused something.
        """
        try:
            process = self._idle.get_nowait()
        except queue.Empty:
            process = _Process()
        try:
            answer = process.ask(round_directory)
        except BaseException:
            process.end(0)
            raise
        self._idle.put(process)
        if answer.refused is not None:
            if answer.refused.errno is not None:
                raise OSError(answer.refused.errno, answer.refused.message)
            raise JudgingError(answer.refused.message, answer.refused.hint or BUG)
        return read(answer.judged, JudgedRound)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().end(_END_SECONDS)


class _Process:
    def __init__(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        package = str(Path(trustbed.__file__).parents[1])
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            # -P: whatever is called trustbed in the current directory is not imported.
            [sys.executable, "-P", "-m", MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # Ctrl-C is for the controller, which ends it in order
        )

    def ask(self, one: RoundDirectory) -> Answer:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"number": one.number, "pair": one.pair, "path": str(one.path.absolute())}
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise self._death()
        return msgspec.json.decode(line, type=Answer)

    def _death(self) -> JudgingError:
        code = self._process.wait()
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - _TAIL_BYTES))
        last = self._errors.read().decode(errors="replace").strip().splitlines()[-1:]
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        why = f": {last[0]}" if last else ""
        return JudgingError(
            f"the process that judged the round {how}{why}",
            "this machine may lack memory; the campaign, continued, judges the round again",
        )

    def end(self, seconds: float) -> None:
        """Ends it, by force if it does not end by itself within the time."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()
