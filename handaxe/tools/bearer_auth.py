"""ASGI middleware that requires a bearer token, or local clients."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from handaxe.core.errors import InputError

__all__ = ["BearerAuth", "LocalOnly", "check_token", "is_loopback", "require_token"]

TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,1000}=*")
REFUSAL = json.dumps({"error": "this server wants a header Authorization: Bearer and its token"}).encode()

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
LOCAL = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?", re.ASCII | re.IGNORECASE)


def check_token(token: str) -> str:
    """Check the form of a token: 16 or more letters, digits and . _ ~ + / - signs, then optional = signs.

    Raises:
        InputError: an invalid token; the message does not contain it.
    """
    if not TOKEN.fullmatch(token):
        raise InputError(
            "a token has 16 or more letters, digits and . _ ~ + / - signs, then optional = signs; make one "
            "with python -c 'import secrets; print(secrets.token_urlsafe(32))'"
        )
    return token


def is_loopback(host: str) -> bool:
    """Test whether a server at `host` is reachable from this machine only: localhost, 127.0.0.1 or ::1."""
    return host in ("localhost", "127.0.0.1", "::1")


def require_token(host: str, token: str) -> None:
    """Raise InputError for a server without token that other machines can reach."""
    if not token and not is_loopback(host):
        raise InputError(
            f"other machines can reach {host!r}, so a token is needed: give --token-env or --token-file to handaxe "
            "serve, token= to serve, or listen at 127.0.0.1, ::1 or localhost"
        )


class LocalOnly:
    """ASGI app for programs of this machine, closed to web pages: a foreign Host gets 421 (DNS rebinding), a request
    from another origin gets 403.

    Args:
        app: protected app.
    """

    def __init__(self, app: Any):
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve a connection."""
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


class BearerAuth:
    """ASGI app that requires "Authorization: Bearer TOKEN" and answers other requests with 401.

    Digests are compared in constant time, so that timing reveals nothing about the token.

    Args:
        app: protected app.
        token: accepted by `check_token`.

    Raises:
        InputError: the token is invalid.
    """

    def __init__(self, app: Any, token: str):
        self.app = app
        self._digest = hashlib.sha256(check_token(token).encode()).digest()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve a connection."""
        if scope["type"] == "lifespan" or self._is_authorized(scope):
            await self.app(scope, receive, send)
        else:
            await _refuse(scope, send, 401, REFUSAL, (b"www-authenticate", b"Bearer"))

    def _is_authorized(self, scope: Message) -> bool:
        credentials = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        if len(credentials) != 1:
            return False
        scheme, _, token = credentials[0].partition(b" ")
        equal = hmac.compare_digest(hashlib.sha256(token.strip(b" ")).digest(), self._digest)
        return equal and scheme.lower() == b"bearer"


async def _refuse(scope: Message, send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    if scope["type"] != "http":
        await send({"type": "websocket.close", "code": 1008})
        return
    reply_headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": reply_headers})
    await send({"type": "http.response.body", "body": body})
