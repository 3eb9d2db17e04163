"""HTTP exchange with limits on destination, time and size."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.tools.deadline import DeadlineError, run_with_deadline
from handaxe.tools.web.allowlist import Address, is_public
from handaxe.tools.web.decompress import DecompressionError, decompress

if TYPE_CHECKING:
    import httpcore

__all__ = ["ExchangeError", "ForbiddenAddressError", "Response", "exchange"]

HEADERS = {"user-agent": "handaxe", "accept": "text/html, application/json, text/*, */*;q=0.1"}
HEAD = 100_000
"""Bytes of the response's headers, in addition to the body."""


class ExchangeError(Exception):
    """No response: no connection, a timeout, or not HTTP."""


class ForbiddenAddressError(Exception):
    """The host's name resolves to an address that is not public."""


class Response(NamedTuple):
    """HTTP response. `headers` have lower-case names; `body` is decompressed and at most as long as requested; `cut` is
    True if there was more.
    """

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes
    cut: bool


def exchange(
    method: str,
    address: Address,
    *,
    body: bytes = b"",
    content_type: str = "",
    headers: Mapping[str, str] | None = None,
    end: float,
    max_bytes: int,
    private: bool,
) -> Response:
    """Send a request over a new connection and read the response. Redirects are not followed.

    The host is resolved once; each of its addresses must be public (unless `private`), and the connection uses one of
    them, so that a name cannot resolve differently a moment later. TLS certificates are verified. Environment variables
    and .netrc are ignored, no cookies are stored.

    Args:
        method: GET or POST.
        body: sent with POST.
        content_type: of the body.
        headers: further headers, with names in lower case, from `check_headers`.
        end: deadline in time.monotonic(); it bounds the whole exchange, however slowly bytes arrive.
        max_bytes: of the body, after decompression; the connection is closed there.
        private: also allow loopback, private and other special addresses.

    Raises:
        ForbiddenAddressError: the name resolves to an address that is not allowed.
        ExchangeError: any other failure.
        InputError: httpcore is not installed.
    """
    core = _httpcore()
    sent = {**HEADERS, **(headers or {}), "accept-encoding": "identity"}
    if content_type:
        sent["content-type"] = content_type
    host = f"[{address.host}]" if ":" in address.host else address.host
    request_url = core.URL(
        scheme=address.scheme.encode(), host=host.encode(), port=address.port, target=address.target.encode()
    )
    try:
        with (
            core.ConnectionPool(network_backend=_guarded(end, max_bytes + HEAD, private)) as pool,
            pool.stream(method, request_url, headers=sent, content=body or None) as response,
        ):
            found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            content, cut = _read(response.iter_stream(), found.get("content-encoding", ""), max_bytes)
            reason = response.extensions.get("reason_phrase", b"").decode("latin-1")
            return Response(response.status, reason, found, content, cut)
    except (core.TimeoutException, DeadlineError):
        raise ExchangeError(f"{address.host} did not answer in time") from None
    except (core.NetworkError, core.ProtocolError, OSError, DecompressionError) as error:
        raise ExchangeError(f"{address.host}: {type(error).__name__} {str(error)[:200]}") from None


def _read(chunks: Iterable[bytes], encoding: str, limit: int) -> tuple[bytes, bool]:
    """Read the decompressed body; returns whether it was cut."""
    body = bytearray()
    for part in decompress(chunks, encoding):
        body += part
        if len(body) > limit:
            return bytes(body[:limit]), True
    return bytes(body), False


def _resolve(host: str, port: int, seconds: float, private: bool) -> list[str]:
    """Resolve the host, in the resolver's order, and check all addresses."""

    def look_up() -> list[Any]:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)

    found = list(dict.fromkeys(str(entry[4][0]) for entry in run_with_deadline(look_up, seconds=max(seconds, 0.001))))
    for text in found:
        if not private and not is_public(text):
            raise ForbiddenAddressError(f"{host} leads to {text}, which is no public address")
    return found


def _guarded(end: float, max_bytes: int, private: bool) -> httpcore.NetworkBackend:
    """Make a network backend that connects to checked addresses only, within the deadline and the limit of bytes."""
    core = _httpcore()

    def left(timeout: float | None) -> float:
        remaining = end - time.monotonic()
        if remaining <= 0:
            raise core.ReadTimeout("the time is used up")
        return remaining if timeout is None else min(timeout, remaining)

    class Stream(core.NetworkStream):  # type: ignore[name-defined, misc]
        def __init__(self, inner: Any):
            self.inner, self.received = inner, 0

        def read(self, max_bytes_now: int, timeout: float | None = None) -> bytes:
            part: bytes = self.inner.read(max_bytes_now, left(timeout))
            self.received += len(part)
            if self.received > max_bytes:
                raise core.ReadError("the answer is too long")
            return part

        def write(self, buffer: bytes, timeout: float | None = None) -> None:
            self.inner.write(buffer, left(timeout))

        def close(self) -> None:
            self.inner.close()

        def start_tls(self, ssl_context: Any, server_hostname: Any = None, timeout: float | None = None) -> Stream:
            return Stream(self.inner.start_tls(ssl_context, server_hostname, left(timeout)))

        def get_extra_info(self, info: str) -> Any:
            return self.inner.get_extra_info(info)

    class Backend(core.NetworkBackend):  # type: ignore[name-defined, misc]
        def connect_tcp(
            self, host: str, port: int, timeout: Any = None, local_address: Any = None, socket_options: Any = None
        ) -> Stream:
            addresses = _resolve(host.strip("[]"), port, left(timeout), private)
            for number, found in enumerate(addresses, 1):
                try:
                    plain = core.SyncBackend().connect_tcp(found, port, left(timeout), local_address, socket_options)
                    return Stream(plain)
                except (core.ConnectError, core.ConnectTimeout):
                    if number == len(addresses):
                        raise
            raise core.ConnectError(f"{host} has no address")

        def connect_unix_socket(self, path: str, timeout: Any = None, socket_options: Any = None) -> Stream:
            raise core.ConnectError("there are no such connections")

    return Backend()


def _httpcore() -> ModuleType:
    try:
        import httpcore
    except ImportError as error:
        raise InputError("the http tools need httpcore: install handaxe[http]") from error
    return httpcore
