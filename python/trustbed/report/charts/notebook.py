"""Charts in a notebook, through altair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair


def as_altair(spec: Mapping[str, Any], *, width: int = 640) -> altair.TopLevelMixin:
    """An altair chart of ``spec``, ``width`` pixels wide; altair (the extra ``notebook``) is imported here and nowhere else."""
    import altair

    fixed = {name: value for name, value in spec.items() if name not in ("width", "autosize")}
    return altair.Chart.from_dict({**fixed, "width": width})
