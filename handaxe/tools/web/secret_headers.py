"""Request headers of the user, mostly keys: validation, assignment to origins, and redaction in responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from handaxe.core.errors import InputError
from handaxe.tools.web.allowlist import Address, Allowlist, parse_address

__all__ = ["OriginHeaders", "Secrets", "check_headers"]

NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")
RESERVED = frozenset(
    {"accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host",
     "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)  # fmt: skip
"""Headers that control the destination and length of a request; so do all headers that begin with "proxy-"."""
PLAIN = frozenset({"accept", "accept-language", "user-agent"})
"""Headers without secrets."""
SECRET = 8
"""Shortest part of a value that is redacted in responses; shorter parts occur in many texts by chance."""
SECRET_PREFIX = 4
"""Shortest prefix of a secret that is redacted at the end of a cut response."""


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Check headers and return them with names in lower case.

    Raises:
        InputError: a name or value with a line break, control character or another invalid character, a duplicate name,
            or a header that the library writes, such as Host. No message contains a value.

    Example:
        check_headers({"X-Key": "abc"}) is {"x-key": "abc"}
    """
    checked = dict[str, str]()
    for name, value in headers.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise InputError(f"{name!r} is no header name: use letters, digits and -, at most 100")
        low = name.lower()
        if low in RESERVED or low.startswith("proxy-"):
            raise InputError(f"the header {name!r} is written by the library; leave it out")
        if low in checked:
            raise InputError(f"the header {name!r} is given twice, in different case")
        if not isinstance(value, str) or not VALUE.fullmatch(value):
            raise InputError(
                f"the value of the header {name!r} is empty, is no ASCII text, or has a line break, control character "
                "or white space at an end (a key read from a file ends with a line break: strip it)"
            )
        checked[low] = value
    return checked


class Secrets:
    """Secrets in headers, for redaction.

    A secret is each part of a value, between white space and ; , = signs, of 8 characters or more. The values of
    Accept, Accept-Language and User-Agent are no secrets.
    """

    def __init__(self, several: Iterable[Mapping[str, str]]):
        self._secrets = sorted(set[str]().union(*map(_secrets, several)), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._secrets)) or r"(?!)", re.IGNORECASE)

    def hide(self, text: str, *, cut: bool = False) -> str:
        """Replace every secret in a text by ***, ignoring case, plain or percent-encoded.

        A secret changed in another way, such as reversed, is not found.

        Args:
            cut: the end of the text was cut off, so it may end with the prefix of a secret.
        """
        hidden = self._pattern.sub("***", text)
        if cut:
            for secret in self._secrets:
                for size in range(len(secret) - 1, SECRET_PREFIX - 1, -1):
                    if hidden[-size:].lower() == secret[:size].lower():
                        return hidden[:-size] + "***"
        return hidden


class OriginHeaders:
    """Headers for each origin. `hide` redacts their `Secrets`.

    Args:
        given: headers for each origin, such as "https://api.example.org".
        allowed: allowed addresses; an origin without an allowed address is an error.

    Raises:
        InputError: an invalid, duplicate or disallowed origin; a bad header.
    """

    def __init__(self, given: Mapping[str, Mapping[str, str]], allowed: Allowlist):
        self._headers = dict[tuple[str, str, int], dict[str, str]]()
        for where, headers in given.items():
            try:
                address = parse_address(where)
            except ValueError as error:
                raise InputError(f"headers cannot be given for {where!r}: {error}") from None
            if address.target != "/":
                raise InputError(f"headers belong to an origin: write {where!r} without path and question mark")
            if address[:3] not in {place[:3] for place in allowed.places}:
                raise InputError(f"headers are given for {where!r}, which is not in allow")
            if address[:3] in self._headers:
                raise InputError(f"headers are given for {where!r} twice")
            self._headers[address[:3]] = check_headers(headers)
        self.hide = Secrets(self._headers.values()).hide

    def of(self, address: Address) -> Mapping[str, str]:
        """Return the headers for an address; none for another scheme, host or port."""
        return self._headers.get(address[:3], {})


def _secrets(headers: Mapping[str, str]) -> set[str]:
    values = [value for name, value in headers.items() if name.lower() not in PLAIN]
    parts = {part for value in values for part in re.split(r"[\s;,=]+", value) if len(part) >= SECRET}
    return parts | {quote(part, safe="") for part in parts}
