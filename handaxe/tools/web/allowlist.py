"""Allowlist of addresses that a policy may visit, and a strict URL parser."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from handaxe.core.errors import InputError, Retry

__all__ = ["Address", "Allowlist", "is_public", "parse_address"]

MAX_URL = 2_000
PORTS = {"http": 80, "https": 443}
HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
PATH = re.compile(r"[A-Za-z0-9/%:@!$&'()*+,;=._~-]*")
QUERY = re.compile(r"[A-Za-z0-9/%:@!$&'()*+,;=._~?\[\]|{}^-]*")


class Address(NamedTuple):
    """Parsed URL. `path` begins with /; `query` is without its question mark."""

    scheme: str
    host: str
    port: int
    path: str
    query: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"

    @property
    def target(self) -> str:
        """Return the target in the first line of a request."""
        return self.path + (f"?{self.query}" if self.query else "")

    def join(self, location: str) -> str:
        """Resolve a redirect or link on this page."""
        return urljoin(str(self), location)


def parse_address(url: str) -> Address:
    """Parse a URL; unusual forms are refused.

    The scheme is http or https, the host ASCII (other names in their xn-- form), an IPv4 address of four decimal
    numbers or an IPv6 address in brackets. There is no user, no password, no white space or control character, no
    backslash, and no "." or ".." in the path, not even encoded once or twice. A fragment is dropped.

    Raises:
        ValueError: an invalid or unusual URL; the message has the reason.

    Example:
        parse_address("HTTP://Example.org:80/a?b#c") is Address("http", "example.org", 80, "/a", "b").
    """
    if len(url) > MAX_URL:
        raise ValueError(f"it has {len(url)} characters, the limit is {MAX_URL}")
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise ValueError("it has a character that no URL may have; encode it as %20 and the like")
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.netloc:
        raise ValueError("it does not begin with http:// or https:// and a host")
    if "@" in parts.netloc:
        raise ValueError("it names a user")
    port = parts.port  # raises ValueError itself
    path = parts.path or "/"
    if not PATH.fullmatch(path) or not QUERY.fullmatch(parts.query):
        raise ValueError("it has a character that no URL may have; encode it as %20 and the like")
    for text in (path, unquote(path), unquote(unquote(path))):
        if {".", ".."} & set(re.split(r"[/\\]", text)) or "\\" in text or "\x00" in text:
            raise ValueError("its path has . or .. or a backslash in it")
    port = PORTS[parts.scheme] if port is None else port
    return Address(parts.scheme, _host(parts.hostname or "", "[" in parts.netloc), port, path, parts.query)


class Allowlist:
    """Addresses that a policy may visit: each a scheme, a host, a port and a path prefix."""

    def __init__(self, places: Iterable[str]):
        self.places: list[Address] = []
        for place in places:
            try:
                address = parse_address(place)
            except ValueError as error:
                raise InputError(f"{place!r} cannot be allowed: {error}") from None
            if address.query:
                raise InputError(f"{place!r} cannot be allowed: leave out what follows the question mark")
            self.places.append(address)
        if not self.places:
            raise InputError("nothing is allowed: give at least one place, such as https://docs.python.org/3/")

    def check(self, url: str) -> Address:
        """Parse a URL and check whether the allowlist has it.

        A path is below an allowed path if it is equal or continues after a slash: /3 allows /3 and /3/a, not /35.

        Raises:
            Retry: the URL is invalid or not allowed; the message lists allowed addresses.
        """
        try:
            address = parse_address(url.strip())
        except ValueError as error:
            raise Retry(f"{_short(url)} is no address to visit: {error}") from None
        for place in self.places:
            prefix = place.path.removesuffix("/")
            inside = address.path == place.path or address.path.startswith(prefix + "/")
            if address[:3] == place[:3] and inside:
                return address
        raise Retry(f"{_short(url)} is not allowed; you may visit {', '.join(map(str, self.places[:5]))}")


def is_public(text: str) -> bool:
    """Test whether an IP address is public: not loopback, private, link-local, multicast or reserved.

    An IPv6 address that wraps an IPv4 address is judged by the IPv4 address.

    Example:
        is_public("8.8.8.8") is True; is_public("127.0.0.1"), is_public("::ffff:10.0.0.1") are False.
    """
    address = ipaddress.ip_address(text.split("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if address in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return address.is_global and not address.is_multicast and not address.is_reserved


def _host(text: str, bracketed: bool) -> str:
    if bracketed:
        return str(ipaddress.IPv6Address(text))  # raises ValueError itself
    host = text.lower().removesuffix(".")
    if not HOST.fullmatch(host) or ".." in host:
        raise ValueError("its host is no name")
    # 127.1, 0x7f.1 and 2130706433 are addresses to some resolvers: the last label of a name begins with a letter.
    if not host.rpartition(".")[2][0].isalpha():
        return str(ipaddress.IPv4Address(host))  # raises ValueError itself
    return host


def _short(text: str) -> str:
    return ascii(text if len(text) <= 100 else text[:97] + "...")
