"""HTTP tools restricted to a list of allowed addresses.

Kept: users give a policy their own web services.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

from handaxe.core.errors import InputError, Retry
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.fault import TimeoutIs, trouble
from handaxe.tools.web.allowlist import Address, Allowlist
from handaxe.tools.web.fetch import ExchangeError, ForbiddenAddressError, Response, exchange
from handaxe.tools.web.page_text import page_text
from handaxe.tools.web.secret_headers import OriginHeaders

__all__ = ["http"]

Method = Literal["GET", "POST"]
REDIRECTS = (301, 302, 303, 307, 308)
MAX_REDIRECTS = 5
MAX_BODY = 100_000
"""Bytes of the longest request body."""


def http(
    allow: Sequence[str],
    *,
    methods: Sequence[Method] = ("GET",),
    headers: Mapping[str, Mapping[str, str]] | None = None,
    private: bool = False,
    seconds: float = 10.0,
    max_bytes: int = 500_000,
    max_chars: int = 4_000,
    trouble_is: TimeoutIs = "infra_error",
    cost: float = 0.0,
    prefix: str = "",
) -> list[Tool]:
    """Make the tools `http_get(url)` and, if allowed, `http_post(url, body)`.

    A policy reaches only the addresses in `allow`: a URL, and every redirect, must have the scheme, host and port of an
    allowed address and a path below its path. The host is resolved once, its addresses must be public, and the
    connection uses one of them. Environment variables and .netrc are ignored; no cookie is stored; every request has a
    new connection. The tools hold no state of a rollout and serve any number of rollouts and threads.

    A reply is the page as text: HTML reduced to its words and links, JSON laid out, other text unchanged. An
    unsuccessful response (4xx, 5xx) is status "retry" and begins with its number; so is an address that is not allowed
    and a page that is no text. A missing connection, a missing or late response and a response that is not HTTP follow
    `trouble_is`; the tools never retry by themselves.

    Args:
        allow: such as "https://docs.python.org/3/" or "http://127.0.0.1:8000"; at least one.
        methods: GET, POST or both. A POST's body is sent as application/json if it is JSON, else as text/plain.
        headers: headers for each origin, such as "https://api.example.org": keys, cookies, a User-Agent. They are sent
            only to that origin, also after a redirect. The policy never sees them, and *** replaces the secrets that
            `Secrets.hide` finds in a response. A redirect to an address with a key in it is not followed.
        private: also allow hosts that resolve to loopback, private and other special addresses.
        seconds: wall time of a request with all redirects, > 0.
        max_bytes: of a page, after decompression; more is not read, >= 1.
        max_chars: most characters of a reply; more is cut at the end, >= 100.
        trouble_is: "infra_error" ends the trajectory unscored, "policy" is status "retry". Use "policy" if a policy may
            choose addresses that hang.
        cost: of a request.
        prefix: before the tools' names, to tell two services' tools apart.

    Returns:
        The tools in the order of GET, POST.

    Raises:
        InputError: no or invalid allowed URLs, an argument out of range, invalid headers or headers for an origin that
            is not allowed, or httpcore is not installed.

    Example:
        http(["https://docs.python.org/3/"])[0]("https://docs.python.org/3/library/json.html")
    """
    if not methods or not set(methods) <= {"GET", "POST"}:
        raise InputError(f"methods are {list(methods)}; give GET, POST or both")
    if not seconds > 0 or max_bytes < 1 or max_chars < 100:
        raise InputError(
            "seconds must be above 0, max_bytes 1 or more and max_chars 100 or more; they are "
            f"{seconds}, {max_bytes} and {max_chars}"
        )
    allowed = Allowlist(allow)
    rules = _Rules(allowed, methods, OriginHeaders(headers or {}, allowed), max_bytes, private)

    def visit(method: str, url: str, body: bytes) -> str:
        end = time.monotonic() + seconds
        try:
            address, answer = _follow(rules, method, url, body, end)
        except ForbiddenAddressError as error:
            raise Retry(f"{error}") from None
        except ExchangeError as error:
            message = rules.keys.hide(f"{error}")
            raise trouble(message, whose=trouble_is) from None
        return _show(rules.keys, address, answer)

    @tool(name=f"{prefix}http_get", timeout=None, max_chars=max_chars, drop="tail", cost=cost)
    def http_get(url: Annotated[str, "begins with http:// or https://"]) -> str:
        """Read a web page."""
        return visit("GET", url, b"")

    @tool(name=f"{prefix}http_post", timeout=None, max_chars=max_chars, drop="tail", cost=cost)
    def http_post(url: Annotated[str, "begins with http:// or https://"], body: Annotated[str, "what to send"]) -> str:
        """Send text or JSON to a web service and read the answer."""
        content = body.encode(errors="replace")
        if len(content) > MAX_BODY:
            raise Retry(f"the body has {len(content)} bytes, the limit is {MAX_BODY}")
        return visit("POST", url, content)

    return [made for made, method in ((http_get, "GET"), (http_post, "POST")) if method in methods]


class _Rules(NamedTuple):
    """Settings of every request."""

    allowed: Allowlist
    methods: Sequence[str]
    keys: OriginHeaders
    max_bytes: int
    private: bool


def _follow(rules: _Rules, method: str, url: str, body: bytes, end: float) -> tuple[Address, Response]:
    """Return the response after all redirects, and its address."""
    for _ in range(MAX_REDIRECTS + 1):
        address = rules.allowed.check(url)
        answer = exchange(
            method,
            address,
            body=body,
            content_type="" if method == "GET" else _content_type(body),
            headers=rules.keys.of(address),
            end=end,
            max_bytes=rules.max_bytes,
            private=rules.private,
        )
        if answer.status not in REDIRECTS or "location" not in answer.headers:
            return address, answer
        location = answer.headers["location"]
        if rules.keys.hide(location) != location:
            raise Retry("the page sends you on to an address with a key in it, which is not followed")
        try:
            url = address.join(location)
        except ValueError:
            raise Retry(f"the page sends you to {location[:100]!a}, no address") from None
        if method == "POST" and answer.status not in (307, 308):
            method, body = "GET", b""
        if method not in rules.methods:
            raise Retry(f"the page sends you to {url[:100]!a} with {method}, which is not allowed")
    raise Retry(f"the page sends you on more than {MAX_REDIRECTS} times")


def _content_type(body: bytes) -> str:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return "text/plain; charset=utf-8"
    return "application/json"


def _show(keys: OriginHeaders, address: Address, answer: Response) -> str:
    kind = answer.headers.get("content-type", "")
    text = page_text(answer.body, kind, link=address.join, cut=answer.cut)
    shown = keys.hide(text or "", cut=answer.cut)
    if not 200 <= answer.status < 300:
        raise Retry(f"{answer.status} {keys.hide(answer.reason)[:100]}: {shown[:500]}")
    if text is None:
        raise Retry(f"the page is no text but {ascii(keys.hide(kind)[:100]) if kind else 'bytes'}")
    return shown + (f"\n(only the first {len(answer.body)} bytes were read)" if answer.cut else "")
