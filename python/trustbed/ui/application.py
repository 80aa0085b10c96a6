"""The pages and the data behind them, by path. Everything is a question; nothing changes.

Work that takes time happens in threads, so that one slow question does not hold up the others.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from trustbed.errors import TrustbedError
from trustbed.report import words
from trustbed.run.session_about import session_about
from trustbed.ui import pages, points, render
from trustbed.ui.captures import MOST_REPORT_BYTES, Captures, Pending
from trustbed.ui.guard import REPORT_POLICY
from trustbed.ui.library import Holdings, Item, Library
from trustbed.ui.progress import progress_of
from trustbed.ui.selection import FACETS, NOT_JUDGED, ROWS, SORTS, Selection, find

QUESTIONS = ("hosts", "causes", "papers")
_KINDS = {"captures": "capture", "runs": "run", "campaigns": "campaign", "results": "result"}
_REPORTED = ("capture", "run", "campaign")
_TRANSFERS = 64
"""Transfers that are kept as they were last shown."""
_SHOWN_FACETS = 12
_MOST_FIELDS = 100
_LATEST_NS = 1 << 53
"""The largest time that a script can count in nanoseconds: a hundred days."""


class Ui:
    """The answers, from a library and its captures."""

    def __init__(self, library: Library, captures: Captures) -> None:
        self.library = library
        self.captures = captures
        # Zooming asks again and again about the same transfer; a key names what never changes.
        self._known = lru_cache(_TRANSFERS)(_transfer)

    def routes(self) -> list[Route]:
        """Path to answer."""
        one = "{key}/{transfer}"
        return [
            Route("/", self.transfers),
            Route(f"/transfer/{one}", self.transfer),
            Route(f"/transfer/{one}/{{source:path}}", self.transfer),
            Route(f"/points/{one}", self.points),
            Route(f"/points/{one}/{{source:path}}", self.points),
            Route("/compare", self.compare),
            *(Route(f"/{name}", self.entries, name=name) for name in _KINDS),
            *(Route(f"/{kind}/{{key}}", self.entry, name=kind) for kind in _KINDS.values()),
            Route("/report/store/{question}", self.question),
            Route("/report/{kind}/{key}", self.report),
            Route("/report/{kind}/{key}/{source:path}", self.report),
            Route("/static/{name}", self.static),
        ]

    # Lists.

    def transfers(self, request: Request) -> Response:
        """The list of transfers."""
        holdings, selection = self.library.holdings(), Selection.of(_query(request))
        found = find(holdings.transfers, selection, holdings.names)
        facets = {
            name: [
                pages.Facet(
                    name=value,
                    label=pages.label_of(name, value),
                    count=words.count(count),
                    chosen=value in getattr(selection, name),
                    query=selection.toggled(name, value),
                )
                for value, count in _with_chosen(found.facets[name], getattr(selection, name))
            ]
            for name in FACETS
        }
        first = (selection.page - 1) * ROWS + 1
        return self._page(
            "transfers.html.j2",
            here="transfers",
            selection=selection,
            facets=facets,
            lines=pages.lines(found.rows, holdings),
            count=found.count,
            pages=found.pages,
            first=first,
            sorts={name: selection.sorted_by(name) for name in SORTS},
            holdings=holdings,
        )

    def entries(self, request: Request) -> Response:
        """The list of captures, runs, campaigns or results of other programs."""
        name = request.url.path.strip("/")
        holdings, query = self.library.holdings(), dict(_query(request))
        text = query.get("q", "")[:200].lower()
        items = [
            item
            for item in holdings.of_kind(_KINDS[name])
            if all(
                word in f"{item.name} {item.entry.testbed} {item.entry.date}".lower()
                for word in text.split()
            )
        ]
        of_all = max(1, -(-len(items) // pages.LISTED))
        page = _number(query.get("page"), 1, of_all, 1)
        first = (page - 1) * pages.LISTED
        shown = items[first : first + pages.LISTED]
        live = {item.entry.key for item in shown if (now := progress_of(item)) and now.at_work}
        return self._page(
            "entries.html.j2",
            here=name,
            kind=_KINDS[name],
            entries=pages.entries(shown, live),
            count=len(items),
            first=first + 1,
            page=page,
            pages=of_all,
            text=text,
            holdings=holdings,
        )

    def entry(self, request: Request) -> Response:
        """A capture, a run, a campaign or a result."""
        holdings, item = self._item(request, request.url.path.split("/")[1])
        kind = item.entry.kind
        selection = Selection(capture=item.entry.key)
        found = find(holdings.transfers, selection, holdings.names)
        others = dict(found.facets["verdict"]).get(NOT_JUDGED, 0)
        every = selection.query(verdict=tuple(pages.BADGES))
        return self._page(
            "entry.html.j2",
            here=f"{kind}s",
            item=item,
            entry=item.entry,
            cells=pages.cells(item) if kind == "run" else [],
            pairs=pages.pairs(item) if kind == "campaign" else [],
            results=pages.results(item) if kind == "result" else [],
            progress=progress_of(item),
            findings=pages.capture_findings(item) if kind != "campaign" else [],
            lines=pages.lines(found.rows, holdings),
            count=found.count,
            more=selection.query() if found.pages > 1 else "",
            others=others,
            every=every,
            reportable=kind == "capture" or item.path is not None,
            size=words.size(item.entry.size_bytes),
        )

    # Transfers.

    def transfer(self, request: Request) -> Response:
        """One transfer."""
        one = self._transfer(request)
        return self._page("transfer.html.j2", here="transfers", one=one, entry=one.item.entry)

    def compare(self, request: Request) -> Response:
        """Two transfers beside each other."""
        query = dict(_query(request))
        found = [self._named(query.get(name, "")) for name in ("a", "b")]
        return self._page(
            "compare.html.j2", here="transfers", sides=found, rows=pages.compared(*found)
        )

    def points(self, request: Request) -> Response:
        """What a stretch of a transfer is drawn from, as JSON."""
        one = self._transfer(request)
        query = dict(_query(request))
        band = pages.phase_columns(one)
        found = self.captures.points(one.item, one.source, one.name, one.start_ns)
        pending = found if isinstance(found, Pending) else None
        ends = [*band["end"], 1 if isinstance(found, Pending) else found.end]
        whole = max(1, *ends, round((one.row.get("duration_seconds") or 0) * 1e9))
        begin = _number(query.get("from"), 0, _LATEST_NS, 0)
        end = _number(query.get("to"), begin + 1, _LATEST_NS, max(whole, begin + 1))
        pixels = _number(query.get("px"), 10, points.MOST_PIXELS, 1000)
        document = {
            "whole": whole,
            "from": begin,
            "to": end,
            "phases": band,
            "pending": pending and msgspec.to_builtins(pending),
            "view": None if isinstance(found, Pending) else points.view(found, begin, end, pixels),
        }
        return Response(msgspec.json.encode(document), media_type="application/json")

    # Reports.

    def report(self, request: Request) -> Response:
        """The report of a capture, run or campaign, as the command line writes it."""
        kind = request.path_params["kind"]
        if kind not in _REPORTED:
            raise HTTPException(404)
        _, item = self._item(request, kind)
        if kind == "capture" or "source" in request.path_params:
            source = request.path_params.get("source", item.entry.name)
            if kind == "capture" and source != item.entry.name:
                raise HTTPException(404)
            found = self.captures.report(item, source, f"trustbed analyze {source} --report FILE")
        else:
            found = _report_of(item)
        if isinstance(found, Pending):
            return self._page(
                "pending.html.j2",
                here=f"{kind}s",
                pending=found,
                status=200 if found.state == "reading" else 404,
            )
        return _report(found)

    def question(self, request: Request) -> Response:
        """The answer to a question about a store, as ``trustbed store`` writes it.

        Of several stores one is to be chosen, by its URL.
        """
        from trustbed.report.store import page
        from trustbed.store.questions import causes, hosts, papers

        name, stores = request.path_params["question"], self.library.stores
        chosen = dict(_query(request)).get("store")
        mine = [one for one in stores if chosen in (None, one.url)]
        if name not in QUESTIONS or not mine:
            raise HTTPException(404)
        if len(mine) > 1:
            return self._page("stores.html.j2", here="", question=name)
        store, about = mine[0], {**session_about(), "command": None}
        if name == "hosts":
            text = page.hosts(hosts.ask(store), store.url, about)
        elif name == "causes":
            text = page.causes(causes.ask(store), store.url, about)
        else:
            text = page.papers(papers.ask(store), store.url, about)
        return _report(text.encode())

    # Parts.

    def static(self, request: Request) -> Response:
        """A style sheet or script."""
        try:
            kind, content = render.static(request.path_params["name"])
        except KeyError:
            raise HTTPException(404) from None
        return Response(content, media_type=kind)

    def error(self, request: Request, error: Exception) -> Response:
        """An error as a page."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        if isinstance(error, TrustbedError):
            message, hint = error.message, error.hint
        elif status == 400 and isinstance(error, HTTPException):
            message, hint = f"This cannot be answered: {error.detail}.", "Leave some of them out."
        elif status == 404:
            message, hint = "There is nothing here.", "It may have been removed or replaced."
        else:
            message, hint = "This did not work.", "The terminal of trustbed ui shows why."
        return self._page("error.html.j2", here="", message=message, hint=hint, status=status)

    def _item(self, request: Request, kind: str) -> tuple[Holdings, Item]:
        holdings = self.library.holdings()
        item = holdings.item(request.path_params["key"])
        if item is None or item.entry.kind != kind:
            raise HTTPException(404)
        return holdings, item

    def _transfer(self, request: Request) -> pages.Transfer:
        given = request.path_params
        return self._one(given["key"], given["transfer"], given.get("source", ""))

    def _named(self, ref: str) -> pages.Transfer:
        key, _, rest = ref.partition("/")
        name, _, source = rest.partition("/")
        return self._one(key, name, source)

    def _one(self, key: str, name: str, source: str) -> pages.Transfer:
        item = self.library.holdings().item(key)
        if item is None:
            raise HTTPException(404)
        return self._known(_Named(item), name, source or item.entry.name)

    def _page(self, template: str, *, here: str, status: int = 200, **shown: Any) -> Response:  # noqa: ANN401
        text = render.page(
            template,
            here=here,
            url=self.library.url,
            stores=[store.url for store in self.library.stores],
            questions=QUESTIONS,
            **shown,
        )
        return Response(text, status, media_type="text/html")


class _Named:
    """An item that is equal to others of its key in the same place."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self._name = (item.entry.key, item.path, item.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Named) and self._name == other._name

    def __hash__(self) -> int:
        return hash(self._name)


def _transfer(named: _Named, name: str, source: str) -> pages.Transfer:
    found = pages.transfer(named.item, name, source)
    if found is None:
        raise HTTPException(404)
    return found


def application(library: Library, captures: Captures) -> Starlette:
    """The ASGI application, without its guard."""
    ui = Ui(library, captures)
    handlers: Any = {HTTPException: ui.error, TrustbedError: ui.error, Exception: ui.error}
    return Starlette(routes=ui.routes(), exception_handlers=handlers)


def _report_of(item: Item) -> bytes | Pending:
    """The report of a run or campaign as it is now."""
    from trustbed.campaign.results import open_campaign
    from trustbed.run.results import open_run

    entry, path = item.entry, item.path
    command = "report" if entry.kind == "run" else "campaign report"
    if path is None:
        where = entry.files[0] if entry.files else entry.name
        return Pending(
            state="missing",
            message=f"the {entry.kind} is not below the URL, {where}",
            hint=f"trustbed {command} {where}",
        )
    opened = open_run(path) if entry.kind == "run" else open_campaign(path)
    with tempfile.TemporaryDirectory(prefix="trustbed-ui-") as draft:
        file = Path(draft) / "report.html"
        opened.report(file)
        if file.stat().st_size > MOST_REPORT_BYTES:
            return Pending(
                state="failed",
                message="the report is too large to be shown here",
                hint=f"trustbed {command} {path} -o report.html",
            )
        return file.read_bytes()


def _report(content: bytes) -> Response:
    headers = {"content-security-policy": REPORT_POLICY}
    return Response(content, media_type="text/html", headers=headers)


def _query(request: Request) -> list[tuple[str, str]]:
    try:
        return parse_qsl(request.url.query, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise HTTPException(400, f"a query has {_MOST_FIELDS} fields at most") from None


def _number(text: str | None, least: int, most: int, otherwise: int) -> int:
    """A number of a query within its bounds."""
    if text is None or not text.isascii() or not text.isdecimal():
        return otherwise
    return max(least, min(most, int(text[:20])))


def _with_chosen(
    counts: Sequence[tuple[str, int]], chosen: tuple[str, ...]
) -> list[tuple[str, int]]:
    """The most frequent values, and those that are chosen, however rare."""
    shown = [*counts[:_SHOWN_FACETS], *(one for one in counts[_SHOWN_FACETS:] if one[0] in chosen)]
    known = {name for name, _ in shown}
    return [*shown, *((name, 0) for name in chosen if name not in known)]
