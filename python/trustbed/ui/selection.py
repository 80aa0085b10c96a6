"""Which transfers a list shows: what the query of its URL says, and what it finds.

The words of a column are few and their rows many: each word is looked at once, and the rows follow
by its number.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.compute as pc

from trustbed.diagnose.causes import cause_in_words
from trustbed.report import columns
from trustbed.report.records import Json
from trustbed.report.transfer.overview import VERDICTS

ROWS = 100
"""Lines of a page."""
LONGEST = 200
"""Characters of a text that is searched for."""
FACETS = ("verdict", "cause", "testbed")
SORTS: Mapping[str, str] = {
    "start": "start_ns",
    "throughput": "throughput_bytes_per_second",
    "bytes": "unique_bytes",
    "time": "duration_ns",
    "confidence": "confidence",
}
NOT_JUDGED = "not_judged"
_SEARCHED = ("src", "dst", "source", "cause", "testbed", "transfer", "capture")
_ENDPOINT = re.compile(r"^(?P<address>.*?):(?P<port>\d{1,5})$")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What is shown, in the order and on the page that is asked for.

    Attributes:
        verdict: These, or every transfer that was judged.
        host: Address of either side.
        since: First day (UTC).
        until: Last day (UTC).
        capture: Key of one capture or run.
        text: Words that must all occur; ``:5201`` is a port.
        sort: A key of ``SORTS``, with a hyphen for the largest first; empty: the latest first.
        page: From 1.
    """

    verdict: tuple[str, ...] = ()
    cause: tuple[str, ...] = ()
    testbed: tuple[str, ...] = ()
    host: str = ""
    since: str = ""
    until: str = ""
    capture: str = ""
    text: str = ""
    sort: str = ""
    page: int = 1

    @classmethod
    def of(cls, query: Sequence[tuple[str, str]]) -> Selection:
        """From the query of a URL; what makes no sense in it is left out."""
        found: Json = {}
        for name, value in query:
            value = value.strip()[:LONGEST]
            if name in FACETS and value:
                found[name] = tuple(dict.fromkeys([*found.get(name, ()), value]))
            elif name in ("host", "capture") or (name in ("since", "until") and _is_day(value)):
                found[name] = value
            elif name == "q":
                found["text"] = value
            elif name == "sort" and value.removeprefix("-") in SORTS:
                found["sort"] = value
            elif name == "page" and value.isascii() and value.isdecimal():
                found["page"] = max(1, int(value[:9]))
        return cls(**found)

    def query(self, **changed: Any) -> str:  # noqa: ANN401 - the fields of a selection
        """The query of the URL that shows this with a change; a change begins at the first page."""
        one = replace(self, **({"page": 1} | changed))
        pairs = [(name, value) for name in FACETS for value in getattr(one, name)]
        pairs += [
            (name, value)
            for name, value in (
                ("host", one.host),
                ("since", one.since),
                ("until", one.until),
                ("capture", one.capture),
                ("q", one.text),
                ("sort", one.sort),
                ("page", str(one.page) if one.page > 1 else ""),
            )
            if value
        ]
        return f"?{urlencode(pairs)}" if pairs else "?"

    def toggled(self, facet: str, value: str) -> str:
        """The query with a value of a facet added, or removed."""
        now = getattr(self, facet)
        return self.query(
            **{facet: tuple(one for one in now if one != value) if value in now else (*now, value)}
        )

    def sorted_by(self, name: str) -> str:
        """The query in another order: the largest first, the smallest first, the latest first."""
        after = {f"-{name}": name, name: ""}.get(self.sort, f"-{name}")
        return self.query(sort=after)


@dataclass(frozen=True)
class Found:
    """What a selection found.

    Attributes:
        count: Transfers in all.
        rows: Those of the page, columns as JSON carries them.
        facets: Of each facet its values with their counts, as if nothing were chosen of it.
    """

    count: int
    rows: Sequence[Json]
    facets: Mapping[str, Sequence[tuple[str, int]]]

    @property
    def pages(self) -> int:
        """How many pages they fill."""
        return max(1, -(-self.count // ROWS))


def find(transfers: pa.Table, selection: Selection, names: Mapping[str, str]) -> Found:
    """The transfers of a selection; ``names`` are those of captures by their keys."""
    shared = _all(
        [
            _words(transfers, "capture", lambda word: word == selection.capture)
            if selection.capture
            else None,
            _either(transfers, selection.host) if selection.host else None,
            *(_has(transfers, word, names) for word in selection.text.split()),
            *_days(transfers, selection),
        ]
    )
    masks = {name: _facet(transfers, name, getattr(selection, name)) for name in FACETS}
    facets = {}
    for name in FACETS:
        others = _all([shared, *(mask for other, mask in masks.items() if other != name)])
        facets[name] = _counted(transfers.column(name), others, name)
    mask = _all([shared, *masks.values()])
    indices = pc.indices_nonzero(mask) if mask is not None else None
    count = transfers.num_rows if indices is None else len(indices)
    chosen = _page(transfers, indices, selection)
    return Found(count, list(_rows(chosen)), facets)


def _rows(table: pa.Table) -> list[Json]:
    plain = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    whole = pa.table(plain, names=table.column_names).combine_chunks()
    return [row for batch in whole.to_batches() for row in columns.text_rows(batch)]


def _page(transfers: pa.Table, indices: pa.Array | None, selection: Selection) -> pa.Table:
    start = (selection.page - 1) * ROWS
    if not selection.sort:
        if indices is None:
            return transfers.slice(start, ROWS)
        return transfers.take(indices.slice(start, ROWS))
    column = transfers.column(SORTS[selection.sort.removeprefix("-")])
    values = column if indices is None else column.take(indices)
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    way = "descending" if selection.sort.startswith("-") else "ascending"
    order = pc.sort_indices(values, sort_keys=[("", way)])
    order = order.slice(start, ROWS)
    return transfers.take(order if indices is None else indices.take(order))


def _all(masks: Sequence[Any]) -> Any:  # noqa: ANN401 - an array of truths, None: all rows
    found = None
    for mask in masks:
        if mask is not None:
            found = mask if found is None else pc.and_(found, mask)
    return found


def _words(table: pa.Table, name: str, fits: Callable[[str], bool]) -> pa.Array:
    """The rows whose word in a column fits; no row without a word does."""
    column = table.column(name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0)
    if not len(column):
        return pa.array([], pa.bool_())
    truths = pa.array([fits(word) for word in column.dictionary.to_pylist()], pa.bool_())
    return pc.fill_null(truths.take(column.indices), False)


def _facet(table: pa.Table, name: str, values: tuple[str, ...]) -> pa.Array | None:
    if name == "verdict" and not values:
        return _words(table, name, lambda word: word != NOT_JUDGED)
    return _words(table, name, lambda word: word in values) if values else None


def _either(table: pa.Table, host: str) -> pa.Array:
    def fits(word: str) -> bool:
        return word == host

    return pc.or_(_words(table, "src", fits), _words(table, "dst", fits))


def _has(table: pa.Table, word: str, names: Mapping[str, str]) -> pa.Array:
    """The rows with a word of the search, or with what is shown in its place."""
    lower = word.lower()
    masks = [_words(table, name, lambda value: lower in value.lower()) for name in _SEARCHED]
    masks.append(_words(table, "cause", lambda value: lower in cause_in_words(value).lower()))
    masks.append(_words(table, "capture", lambda key: lower in names.get(key, "").lower()))
    found = _ENDPOINT.match(word)
    if found is not None:
        address, port = found["address"].strip("[]").lower(), int(found["port"])
        for side in ("src", "dst"):
            at = pc.fill_null(pc.equal(table.column(f"{side}_port"), port), False)
            at = at.combine_chunks() if isinstance(at, pa.ChunkedArray) else at
            masks.append(pc.and_(at, _words(table, side, lambda value: address in value.lower())))
    result = masks[0]
    for mask in masks[1:]:
        result = pc.or_(result, mask)
    return result


def _is_day(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _days(table: pa.Table, selection: Selection) -> list[pa.Array]:
    """The rows of the days that are asked for; those without a date are of none."""
    since, until = selection.since or "0", selection.until or "9999-99-99"
    if since == "0" and until == "9999-99-99":
        return []
    return [_words(table, "date", lambda word: since <= word <= until)]


def _counted(column: pa.ChunkedArray, mask: pa.Array | None, facet: str) -> list[tuple[str, int]]:
    kept = column if mask is None else column.filter(mask)
    counts = {one["values"]: one["counts"] for one in kept.value_counts().to_pylist()}
    counts.pop(None, None)
    if facet == "verdict":
        return [(name, counts[name]) for name in VERDICTS if counts.get(name)]
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))
