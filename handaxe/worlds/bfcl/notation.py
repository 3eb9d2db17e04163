"""Values in Java or JavaScript notation, the argument format of the categories simple_java and simple_javascript.

The rule equals BFCL's converters, flaws included: elements of a Java array of String keep their quotes, a comma
always separates elements, and text after the first closing bracket is ignored. Unreadable values stay text. The
converters may not terminate on a policy's text; this reader uses other means. Values that no answer has stay text:
lists of lists, and values of more than `LONGEST` characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["NOTATIONS", "Notation"]

LONGEST = 1000
"""Character limit of a value."""


class Notation(NamedTuple):
    """Language of arguments.

    Attributes:
        called: its name.
        kinds: type in the functions' descriptions -> Python type of the value.
        nested: types with elements.
        read: (text, type, type of the elements) -> value, or the text if it is unreadable.
        spellings: (value, type, type of the elements) -> texts that may parse as the value, the most usual first.
    """

    called: str
    kinds: Mapping[str, type]
    nested: Sequence[str]
    read: Callable[[str, str, str], Any]
    spellings: Callable[[Any, str, str], Iterator[str]]


def _integer(text: str) -> Any:
    """Parse digits as a number; Python rejects thousands of digits."""
    try:
        return int(text)
    except ValueError:
        return text


def _matched(pattern: str, make: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        return make(text) if re.match(pattern, text) else text

    return read


def _truth(text: str) -> Any:
    return text == "true" if text in ("true", "false") else text


def _bare(text: str, long: str = "") -> Any:
    """Parse a value without a known type; `long` are the suffix letters of Java's whole numbers."""
    if text in ("true", "false"):
        return text == "true"
    if long and re.match(r"^-?\d+[lL]$", text):
        return _integer(text[:-1])
    if long and re.match(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$", text):
        return float(re.sub(r"[fF]$", "", text))
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


JAVA_READ: Mapping[str, Callable[[str], Any]] = {
    "integer": _matched(r"^-?\d+$", _integer),
    "long": _matched(r"^-?\d+[lL]$", lambda text: _integer(re.sub(r"[lL]$", "", text))),
    "float": _matched(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$", lambda text: float(re.sub(r"[fF]$", "", text))),
    "double": _matched(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?$", float),
    "boolean": _truth,
}
JAVASCRIPT_READ: Mapping[str, Callable[[str], Any]] = {
    "integer": _matched(r"^-?\d+$", _integer),
    "float": _matched(r"^-?\d+(\.\d+)?$", float),
    "Bigint": _matched(r"^-?\d+n$", lambda text: _integer(text[:-1])),
    "Boolean": _truth,
    "String": lambda text: text[1:-1] if _quoted(text) else text,
}


def _quoted(text: str) -> bool:
    return any(text.startswith(mark) and text.endswith(mark) for mark in "\"'")


def _java(text: str, kind: str, inner: str) -> Any:
    if len(text) > LONGEST:
        return text
    if kind == "Array":
        found = re.search(r"new\s+\w+\[\]\s*\{(.*?)\}", text)
        return text if found is None else [_java(one, inner, "") for one in _parts(found[1])]
    if kind == "ArrayList":
        return _array_list(text, inner)
    if kind == "HashMap":
        return _hash_map(text)
    return JAVA_READ.get(kind, str)(text)


def _parts(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _array_list(text: str, inner: str) -> Any:
    """Parse `new ArrayList<>(Arrays.asList(...))`, or `new ArrayList<>() {{ add(...); }}`."""
    given = re.search(r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)", text)
    if given is not None:
        return [_element(one.strip(), inner) for one in given[1].split(",")]
    opened = re.search(r"new\s+ArrayList<\w*>\(\)\s*\{\{", text)
    end = -1 if opened is None else text.find("}}", opened.end() + 1)
    if opened is not None and end >= 0:
        return [_element(one.strip(), inner) for one in re.findall(r"add\((.+?)\)", text[opened.end() : end])]
    return [] if re.search(r"new\s+ArrayList<\w*>\(\)", text) else text


def _element(text: str, inner: str) -> Any:
    return text[1:-1] if inner in ("char", "String") else _java(text, inner, "")


def _hash_map(text: str) -> Any:
    opened = re.search(r"new\s+HashMap<.*?>\s*\(\)\s*\{\s*\{?", text, re.DOTALL)
    end = -1 if opened is None else text.find("}", opened.end())
    if opened is not None and end >= 0:
        puts = re.findall(r"put\(\"(.*?)\",\s*(.*?)\)", text[opened.end() : end])
        return {key: _java_bare(value.strip()) for key, value in puts}
    return {} if re.search(r"new\s+HashMap<.*?>\s*\(\)", text) else text


def _java_bare(text: str) -> Any:
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    return _bare(text, "lL")


def _javascript(text: str, kind: str, inner: str) -> Any:
    if len(text) > LONGEST:
        return text
    if kind == "array":
        return _listed(text.strip(), inner)
    if kind == "dict":
        return _object(text.strip())
    return JAVASCRIPT_READ.get(kind, str)(text)


def _listed(text: str, inner: str) -> Any:
    found = re.match(r"\[(.*?)\]|\bnew\s+Array\((.*?)\)", text)
    if found is None or re.match(r"\[\s*\[|new\s+Array\(\s*\[", text):
        return text
    said = (found[1] if found[1] is not None else found[2]).strip()
    parts = [one.strip() for one in said.split(",")] if said else []
    return [_javascript(one, inner, "") if inner else _javascript_bare(one) for one in parts]


def _javascript_bare(text: str) -> Any:
    text = text.strip()
    return text[1:-1] if _quoted(text) else _bare(text)


def _object(text: str) -> Any:
    """Parse `{key: value, ...}`. A comma separates two pairs if the text up to the next comma has a colon."""
    found = re.match(r"\{(.*?)\}", text)
    if found is None:
        return text
    made: dict[str, Any] = {}
    for key, value in _pairs(found[1]):
        name, said = key.strip().strip("'\""), value.strip()
        is_list = said.startswith("[") and said.endswith("]")
        made[name] = _listed(said, "") if is_list else _javascript_bare(said.strip("'\""))
    return made


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while (colon := text.find(":", place)) >= 0:
        if colon == place:  # a key is not empty
            place += 1
            continue
        comma, end = _parting(text, colon + 1)
        yield text[place:colon], text[colon + 1 : comma]
        place = comma + 1
        while place < end and text[place].isspace() and text.find(":", place + 2, end) >= 0:
            place += 1


def _parting(text: str, place: int) -> tuple[int, int]:
    """The next two commas between pairs, or else the end of the text."""
    comma = text.find(",", place)
    while comma >= 0:
        after = text.find(",", comma + 1)
        end = len(text) if after < 0 else after
        if text.find(":", comma + 2, end) >= 0:
            return comma, end
        comma = after
    return len(text), len(text)


def _java_spellings(value: Any, kind: str, inner: str) -> Iterator[str]:
    if isinstance(value, list):
        for each in (_java_literal, _plain):
            said = ", ".join(each(one, inner) for one in value)
            yield f"new {inner}[]{{{said}}}" if kind == "Array" else f"new ArrayList<>(Arrays.asList({said}))"
    elif isinstance(value, dict):
        puts = " ".join(f'put("{key}", {_java_literal(one, "")});' for key, one in value.items())
        yield f"new HashMap<>() {{{{ {puts} }}}}"
    else:
        yield _plain(value, kind)


def _java_literal(value: Any, kind: str) -> str:
    return f'"{value}"' if isinstance(value, str) else _plain(value, kind)


def _javascript_spellings(value: Any, kind: str, inner: str) -> Iterator[str]:
    del kind, inner
    yield _javascript_literal(value) if isinstance(value, list | dict) else _plain(value, "")


def _javascript_literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_javascript_literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_javascript_literal(one)}' for key, one in value.items())}}}"
    return f'"{value}"' if isinstance(value, str) else _plain(value, "")


def _plain(value: Any, kind: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value}L" if kind == "long" and isinstance(value, int) else str(value)


NOTATIONS: Mapping[str, Notation] = {
    "simple_java": Notation(
        "Java",
        {
            "integer": int,
            "long": int,
            "float": float,
            "double": float,
            "boolean": bool,
            "char": str,
            "Array": list,
            "ArrayList": list,
            "HashMap": dict,
            "String": str,
            "any": str,
        },
        ("Array", "ArrayList"),
        _java,
        _java_spellings,
    ),
    "simple_javascript": Notation(
        "JavaScript",
        {
            "integer": int,
            "float": float,
            "Bigint": int,
            "Boolean": bool,
            "array": list,
            "dict": dict,
            "String": str,
            "any": str,
        },
        ("array",),
        _javascript,
        _javascript_spellings,
    ),
}
"""By category."""
