"""Headers that a user has sent along, keys above all: what may be one, who gets it, and its cutting out of answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from handaxe.core.errors import InputError
from handaxe.tools.web.origin import Address, Allowed, parse_address

__all__ = ["Keys", "Secrets", "check_headers"]

NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")
OURS = frozenset(
    {"accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host",
     "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)  # fmt: skip
"""Headers that say where a request goes and where it ends; so does everything that begins with "proxy-"."""
PLAIN = frozenset({"accept", "accept-language", "user-agent"})
"""Headers whose values are no secret."""
SECRET = 8
"""Characters from which a part of a value is cut out of answers; a shorter one stands in many texts by chance."""
BEGINNING = 4
"""Characters of a secret's beginning that count as a part of it where an answer was cut."""


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with names in lower case, if nothing but a header can be made of each.

    Raises:
        InputError: a name or value with a line break, control character or anything else no header may have, a name
            twice, or one that the library writes, such as Host. No message holds a value.

    Example:
        check_headers({"X-Key": "abc"}) is {"x-key": "abc"}
    """
    checked = dict[str, str]()
    for name, value in headers.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise InputError(f"{name!r} cannot name a header: letters, digits and -, at most 100")
        low = name.lower()
        if low in OURS or low.startswith("proxy-"):
            raise InputError(f"the header {name!r} is written by the library; leave it out")
        if low in checked:
            raise InputError(f"the header {name!r} is given twice, in capitals and not")
        if not isinstance(value, str) or not VALUE.fullmatch(value):
            raise InputError(
                f"the value of the header {name!r} is empty, no ASCII text, or has a line break, control character or "
                "white space at an end (a key read from a file ends with a line break: strip it)"
            )
        checked[low] = value
    return checked


class Secrets:
    """What headers hold that others should not read.

    A secret is each part of a value, between white space and ; , = signs, of 8 characters or more. The values of
    Accept, Accept-Language and User-Agent are no secrets.
    """

    def __init__(self, several: Iterable[Mapping[str, str]]):
        self._secrets = sorted(set[str]().union(*map(_secrets, several)), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._secrets)) or r"(?!)", re.IGNORECASE)

    def hide(self, text: str, *, cut: bool = False) -> str:
        """The text with every secret replaced by ***: in capitals or not, as it is or percent-encoded.

        A secret that was changed in another way, such as turned round, is not found.

        Args:
            cut: the end of the text was cut off, so a secret's beginning may stand there.
        """
        hidden = self._pattern.sub("***", text)
        if cut:
            for secret in self._secrets:
                for size in range(len(secret) - 1, BEGINNING - 1, -1):
                    if hidden[-size:].lower() == secret[:size].lower():
                        return hidden[:-size] + "***"
        return hidden


class Keys:
    """Whose requests carry which headers. `hide` is that of their `Secrets`.

    Args:
        given: for each origin, such as "https://api.example.org", its headers.
        allowed: the places that may be visited; an origin without one is a mistake.

    Raises:
        InputError: what is no origin, is given twice or is not allowed; a bad header.
    """

    def __init__(self, given: Mapping[str, Mapping[str, str]], allowed: Allowed):
        self._headers = dict[tuple[str, str, int], dict[str, str]]()
        for where, headers in given.items():
            try:
                address = parse_address(where)
            except ValueError as error:
                raise InputError(f"headers cannot be given for {where!r}: {error}") from None
            if address.target != "/":
                raise InputError(f"headers are given for an origin: write {where!r} without path and question mark")
            if address[:3] not in {place[:3] for place in allowed.places}:
                raise InputError(f"headers are given for {where!r}, where no place is allowed")
            if address[:3] in self._headers:
                raise InputError(f"headers are given for {where!r} twice")
            self._headers[address[:3]] = check_headers(headers)
        self.hide = Secrets(self._headers.values()).hide

    def of(self, address: Address) -> Mapping[str, str]:
        """The headers that go to this address; none where its scheme, host or port is another."""
        return self._headers.get(address[:3], {})


def _secrets(headers: Mapping[str, str]) -> set[str]:
    values = [value for name, value in headers.items() if name.lower() not in PLAIN]
    parts = {part for value in values for part in re.split(r"[\s;,=]+", value) if len(part) >= SECRET}
    return parts | {quote(part, safe="") for part in parts}
