"""The engine that runs containers, docker or podman, by its command line.

Nothing is downloaded: an image is there before a run, or the run does not begin. What an engine
takes to answer is bounded.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trustbed.errors import TestbedError
from trustbed.scenario.containers import Container, EngineChoice

AGENT = "/.trustbed-agent"
"""The agent within a container."""
ANSWER_SECONDS = 60.0
_GONE_SECONDS = 30.0
_LOOK_SECONDS = 0.05
_VERSIONS: Mapping[str, str] = {"docker": "{{.Server.Version}}", "podman": "{{.Client.Version}}"}
_INSTALL = "install docker (and start its daemon) or podman; `docker version` shows what it answers"


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine that answers."""

    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A container to start: ``agent`` is the program here, ``logs`` the directory for output."""

    name: str
    host: str
    engine: Engine
    described: Container
    agent: Path
    mark: tuple[str, str]
    logs: Path | None
    pin: tuple[int, ...] = ()


def choose(requested: EngineChoice) -> Engine:
    """The engine that is requested; for ``auto`` the first that answers.

    Raises:
        TestbedError: None does.
    """
    wanted = tuple(_VERSIONS) if requested == "auto" else (requested,)
    said = []
    for name in wanted:
        if shutil.which(name) is None:
            said.append(f"{name} is not installed")
            continue
        answer = call(name, "version", "--format", _VERSIONS[name])
        if answer.returncode == 0 and answer.stdout.strip():
            return Engine(name, answer.stdout.strip())
        said.append(_last(answer.stderr) or f"{name} does not answer")
    raise TestbedError(f"no engine runs containers here: {'; '.join(said)}", _INSTALL)


def image(engine: Engine, name: str) -> str:
    """The id of an image that is here.

    Raises:
        TestbedError: It is not.
    """
    answer = call(engine.name, "image", "inspect", "--format", "{{.Id}}", name)
    if answer.returncode:
        raise TestbedError(
            f"{engine.name} has no image {name}",
            f"get it before the run: {engine.name} pull {name}, or {engine.name} build",
        )
    return answer.stdout.strip()


def words(order: Order) -> list[str]:
    """The command line that starts a container, whose first process is the agent.

    It has no network but a loopback interface; ours is added once it runs.
    """
    described, (key, value) = order.described, order.mark
    limits = [
        *((f"--cpus={described.cpus:g}",) if described.cpus is not None else ()),
        *((f"--memory={described.memory_bytes}",) if described.memory_bytes is not None else ()),
        *((f"--cpuset-cpus={','.join(map(str, order.pin))}",) if order.pin else ()),
    ]
    volumes = [
        f"{order.agent}:{AGENT}:ro",
        # Under the same name, so that what is to be written there is found here.
        *((f"{order.logs}:{order.logs}",) if order.logs is not None else ()),
        *described.volumes,
    ]
    return [
        order.engine.name,
        "run",
        "--rm",
        "--interactive",
        "--pull=never",
        "--network=none",
        f"--name={order.name}",
        f"--hostname={order.host}",
        f"--env={key}={value}",
        *(f"--volume={one}" for one in volumes),
        *limits,
        *described.options,
        f"--entrypoint={AGENT}",
        described.image,
        "exec",
        "--",
        AGENT,
        "control",
        "-",
    ]


def inspect(engine: Engine, name: str) -> Mapping[str, Any]:
    """What the engine says of a running container.

    Raises:
        TestbedError: It knows of none.
    """
    answer = call(engine.name, "container", "inspect", name)
    with contextlib.suppress(ValueError, LookupError):
        found: Mapping[str, Any] = json.loads(answer.stdout)[0]
        if int(found["State"]["Pid"]) > 0:
            return found
    raise TestbedError(
        f"{engine.name} does not run {name} any more: {_last(answer.stderr) or 'it has ended'}",
        "see the engine's own log",
    )


def remove(engine: str, name: str) -> None:
    """Removes a container, running or not; there may be none. Returns once it is gone.

    Raises:
        TestbedError: It does not go away.
    """
    deadline = time.monotonic() + _GONE_SECONDS
    # The engine may be removing one that has ended, and refuses then.
    while _exists(engine, name):
        if time.monotonic() > deadline:
            raise TestbedError(
                f"the container {name} cannot be removed", f"try {engine} rm --force {name}"
            )
        time.sleep(_LOOK_SECONDS)


def _exists(engine: str, name: str) -> bool:
    """Whether a container is still there after it was to be removed."""
    try:
        call(engine, "rm", "--force", "--volumes", name)
        return call(engine, "container", "inspect", name).returncode == 0
    except TestbedError:  # an engine that is gone has no containers
        return False


def call(engine: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Asks the engine something.

    Raises:
        TestbedError: It does not answer in time, or cannot be run.
    """
    command: Sequence[str] = (engine, *arguments)
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TestbedError(
            f"{engine} does not answer within {ANSWER_SECONDS:g} s",
            f"see whether `{engine} ps` does",
        ) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TestbedError(f"{engine} cannot be run: {reason}", _INSTALL) from error


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""
