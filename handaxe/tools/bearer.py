"""Lets a request into a web app only if it brings the app's token."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from handaxe.errors import InputError

__all__ = ["Bearer", "check_token", "is_this_machine"]

TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,1000}=*")
REFUSAL = json.dumps({"error": "this server wants a header Authorization: Bearer and its token"}).encode()

Message = MutableMapping[str, Any]


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

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan" or self._lets_in(scope):
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(REFUSAL)).encode()),
                (b"www-authenticate", b"Bearer"),
            ]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": REFUSAL})
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _lets_in(self, scope: Message) -> bool:
        brought = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        if len(brought) != 1:
            return False
        scheme, _, token = brought[0].partition(b" ")
        right = hmac.compare_digest(hashlib.sha256(token.strip(b" ")).digest(), self._digest)
        return right and scheme.lower() == b"bearer"
