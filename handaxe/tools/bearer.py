"""Lets a request into a web app only if it brings the app's token."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from handaxe.core.errors import InputError

__all__ = ["Bearer", "OnlyHere", "check_door", "check_token", "is_this_machine"]

TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,1000}=*")
REFUSAL = json.dumps({"error": "this server wants a header Authorization: Bearer and its token"}).encode()

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
LOCAL = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?", re.ASCII | re.IGNORECASE)


def check_token(token: str) -> str:
    """The token, if it is one: 16 or more letters, digits and . _ ~ + / - signs, then = signs or none.

    Raises:
        InputError: it is not; the message does not hold it.
    """
    if not TOKEN.fullmatch(token):
        raise InputError(
            "a token has 16 or more letters, digits and . _ ~ + / - signs, with = signs at its end or none; make one "
            "with python -c 'import secrets; print(secrets.token_urlsafe(32))'"
        )
    return token


def is_this_machine(host: str) -> bool:
    """Whether who listens at `host` is reached from this machine only: localhost, 127.0.0.1 or ::1 and no other."""
    return host in ("localhost", "127.0.0.1", "::1")


def check_door(host: str, token: str) -> None:
    """Raise InputError when others could come to a server that asks for no token."""
    if not token and not is_this_machine(host):
        raise InputError(
            f"others can reach {host!r}, so a token is needed: --token-env or --token-file of handaxe serve, token= of "
            "serve; without one listen at 127.0.0.1, ::1 or localhost"
        )


class OnlyHere:
    """An ASGI app that serves programs of this machine and no web page: a Host that was made to lead here gets 421, a
    request that a page of another origin sends gets 403.

    Args:
        app: what is protected.
    """

    def __init__(self, app: Any):
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"host"]
        origins = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"origin"]
        if len(hosts) != 1 or not LOCAL.fullmatch(hosts[0]):
            await _refuse(scope, send, 421, b'{"error": "this server is asked for by the name localhost"}')
        elif not all(LOCAL.fullmatch(origin.partition("://")[2]) for origin in origins):
            await _refuse(scope, send, 403, b'{"error": "this server does not answer web pages"}')
        else:
            await self.app(scope, receive, send)


class Bearer:
    """An ASGI app that passes on a request with "Authorization: Bearer TOKEN" and answers any other with 401.

    Digests are compared, in a time that does not depend on where they differ, so no time tells how much of a guess was
    right.

    Args:
        app: what is protected.
        token: as `check_token` allows.

    Raises:
        InputError: the token is invalid.
    """

    def __init__(self, app: Any, token: str):
        self.app = app
        self._digest = hashlib.sha256(check_token(token).encode()).digest()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan" or self._lets_in(scope):
            await self.app(scope, receive, send)
        else:
            await _refuse(scope, send, 401, REFUSAL, (b"www-authenticate", b"Bearer"))

    def _lets_in(self, scope: Message) -> bool:
        brought = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        if len(brought) != 1:
            return False
        scheme, _, token = brought[0].partition(b" ")
        right = hmac.compare_digest(hashlib.sha256(token.strip(b" ")).digest(), self._digest)
        return right and scheme.lower() == b"bearer"


async def _refuse(scope: Message, send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    if scope["type"] != "http":
        await send({"type": "websocket.close", "code": 1008})
        return
    said = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": said})
    await send({"type": "http.response.body", "body": body})
