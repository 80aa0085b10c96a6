"""Who gets an answer: whoever has the token, asks for this machine by name, and only reads.

The token is in the address that is printed. It becomes a cookie that scripts cannot read and that
other sites do not send, and vanishes from the address. Answers forbid pages everything but their
own scripts, styles and requests to this server.

Bias: a cookie belongs to a host and not to its port, so every other server of this machine that the
same browser visits under the same name is sent it.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode

from trustbed.watch.scrape import names_loopback

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = "sandbox allow-scripts; frame-ancestors 'none'"
"""Of a report, which brings a policy of its own: it can neither use the cookie nor ask us."""
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_OPEN = "Open the address that trustbed ui has printed: it has the token.\n"


class Guard:
    """An ASGI application before another one.

    ``loopback``: the server listens on loopback only, and answers only who names it.
    """

    def __init__(self, inner: Application, *, token: str, cookie: str, loopback: bool) -> None:
        self._inner = inner
        self._token = token.encode()
        self._cookie = cookie
        self._loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or hands it on."""
        if scope["type"] != "http":
            return
        headers = dict(reversed(scope["headers"]))  # of several of a name the first one
        if self._loopback and not names_loopback(_text(headers.get(b"host", b""))):
            await _answer(send, 421, "Only this machine is served here.\n")
        elif scope["method"] not in ("GET", "HEAD"):
            await _answer(send, 405, "Nothing can be changed here.\n", (b"allow", b"GET, HEAD"))
        else:
            await self._known(scope, receive, send, headers)

    async def _known(
        self, scope: Scope, receive: Receive, send: Send, headers: dict[bytes, bytes]
    ) -> None:
        query = parse_qsl(_text(scope["query_string"]), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if given:
            if not self._is_token(given[0]):
                await _answer(send, 403, _OPEN)
                return
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            where = quote(scope["path"]) + (f"?{rest}" if rest else "")
            kept = f"{self._cookie}={given[0]}; Path=/; HttpOnly; SameSite=Strict"
            more = (b"location", b"/" + where.lstrip("/").encode()), (b"set-cookie", kept.encode())
            await _answer(send, 303, "", *more)
        elif self._is_token(_cookie(headers.get(b"cookie", b""), self._cookie)):
            await self._inner(scope, receive, _with_headers(send))
        else:
            await _answer(send, 403, _OPEN)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token)


def _text(value: bytes) -> str:
    return value.decode("latin-1")


def _cookie(header: bytes, name: str) -> str:
    try:
        found = SimpleCookie(_text(header)).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message["headers"]}
            policy = (b"content-security-policy", POLICY.encode())
            added = [pair for pair in (*_HEADERS, policy) if pair[0] not in own]
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return sending


async def _answer(send: Send, status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
    body = text.encode()
    kind = (b"content-type", b"text/plain; charset=utf-8")
    length = (b"content-length", str(len(body)).encode())
    start = {"type": "http.response.start", "status": status, "headers": [kind, length, *headers]}
    await _with_headers(send)(start)
    await send({"type": "http.response.body", "body": body})
