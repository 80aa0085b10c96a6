"""Reads the containers of a scenario: hosts whose processes run in an image of their own.

``container = "my-service"`` names the image; a table gives more. Whether this machine has an engine
and the image is checked before the run, elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from trustbed.scenario.table import Table

EngineChoice: TypeAlias = Literal["auto", "docker", "podman"]

ENGINES: tuple[EngineChoice, ...] = get_args(EngineChoice)
NO_CONTAINER = "none"
"""The value of ``container`` for a namespace alone, which a factor needs beside images."""
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,254}")
_OURS = (
    "--network",
    "--net",
    "--name",
    "--entrypoint",
    "--pid",
    "--detach",
    "-d",
    "--rm",
    "--pull",
)
"""Options that trustbed sets itself."""
_LEAST_MEMORY = 6 << 20
"""Engines accept no less."""
_MOST_MEMORY = 1 << 40
_MOST_CPUS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A host that is a container.

    ``cpus`` and ``memory_bytes`` are its limits (``None``: none), ``volumes`` what it sees of this
    machine's files (``OUTSIDE:INSIDE[:ro]``), ``options`` more options of ``docker run``.
    ``engine``: ``auto`` is docker where its daemon answers, and podman elsewhere.
    """

    image: str
    engine: EngineChoice = "auto"
    cpus: float | None = None
    memory_bytes: int | None = None
    volumes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        """For people."""
        cpus = "" if self.cpus is None else f", {self.cpus:g} CPUs"
        memory = "" if self.memory_bytes is None else f", {self.memory_bytes >> 20} MiB"
        return f"{self.image}{cpus}{memory}{' '.join(('', *self.options))}"


def read_container(host: Table) -> Container | None:
    """The container that a host is; ``None`` where it is none, or ``container = "none"``."""
    if "container" not in host:
        return None
    value = host.raw("container")
    if value == NO_CONTAINER:
        return None
    if isinstance(value, str):
        found = Container(image=_image(host, "container", value))
    else:
        table = host.table("container")
        assert table is not None, "it is there"
        table.must("image", 'image = "my-service"')
        found = _described(table)
        table.close()
    if host.raw("guest") not in (None, "none"):
        raise host.error(
            "container",
            "a host is a guest or a container",
            "leave one out, or set it to none",
        )
    return found


def _described(table: Table) -> Container:
    return Container(
        image=_image(table, "image", table.text("image", "")),
        engine=table.choice("engine", ENGINES, "auto"),
        cpus=table.number("cpus", None, least=0.01, most=_MOST_CPUS),
        memory_bytes=table.size("memory", None, least=_LEAST_MEMORY, most=_MOST_MEMORY),
        volumes=tuple(_volume(table, one) for one in table.texts("volumes")),
        options=_options(table),
    )


def _options(table: Table) -> tuple[str, ...]:
    found = table.texts("options")
    for one in found:
        if one.partition("=")[0] in _OURS:
            raise table.error(
                "options", f"{one} is decided by trustbed", "leave it out; the others are passed on"
            )
    return found


def _image(table: Table, key: str, name: str) -> str:
    if not _IMAGE.fullmatch(name):
        raise table.error(
            key, f"{name!r} is not the name of an image", "`docker images` shows those that exist"
        )
    return name


def _volume(table: Table, text: str) -> str:
    """A volume whose outside is absolute: in a scenario it is relative to the file's directory."""
    outside, _, inside = text.partition(":")
    if not outside or not inside.startswith("/"):
        raise table.error(
            "volumes",
            f"{text!r} does not say what is seen where",
            'for example: volumes = ["site:/srv/site:ro"]',
        )
    return f"{(table.source.file.parent / outside).resolve()}:{inside}"
