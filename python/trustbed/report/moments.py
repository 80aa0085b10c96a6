"""Facts as text files carry them: times in seconds, moments as ISO 8601 as well, no NaN.

Apart from :mod:`trustbed.report.columns`, so that a summary in the terminal does not wait for Arrow
to load.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping

from trustbed.report.records import Json, Row

SUFFIX = "_ns"
MOMENTS = frozenset({"first", "last", "start", "first_ts", "last_ts", "ts"})
"""Facts that are points in time; all others are lengths of time."""


def for_text_mapping(facts: Row) -> Json:
    """Nested facts as JSON carries them.

    Integer nanoseconds become seconds, and moments become ISO 8601 as well.
    """
    shown: Json = {}
    for name, value in facts.items():
        if isinstance(value, Mapping):
            shown[name] = for_text_mapping(value)
        elif isinstance(value, (list, tuple)):
            shown[name] = [
                for_text_mapping(item) if isinstance(item, Mapping) else item for item in value
            ]
        elif name.endswith(SUFFIX):
            stem = name.removesuffix(SUFFIX)
            if stem in MOMENTS:
                shown[stem] = None if value is None else iso(value)
            shown[f"{stem}_seconds"] = None if value is None else value / 1e9
        else:
            shown[name] = None if isinstance(value, float) and not math.isfinite(value) else value
    return shown


def iso(nanoseconds: int) -> str:
    """A moment since the Unix epoch as ISO 8601 in UTC with all its nanoseconds."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return f"{moment.isoformat()}.{fraction:09d}Z"
