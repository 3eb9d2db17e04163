"""What a policy sees of a page of miniwob, and what is to be clicked there: pure functions of the page's own tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Element", "PAGES", "elements_of", "next_click", "told"]

CONTROLS = ("button", "a", "h3", "option", "textarea")
"""Tags that are listed as one element, whatever they are made of."""
LONGEST = 24
"""Characters of an element's text that are told."""


class Element(NamedTuple):
    """A visible element that can be clicked.

    ref: the page's own number of it. tag: as miniwob says it, such as button or input_radio. text: its own, in one
    line. on: whether it is checked, None where it cannot be. box: its left, upper, right and lower side in pixels.
    """

    ref: int
    tag: str
    text: str
    on: bool | None
    box: tuple[int, int, int, int]


def elements_of(tree: Mapping[str, Any]) -> list[Element]:
    """The elements of a page in its order: controls, and what else has a text of its own.

    Args:
        tree: what miniwob's `core.getDOMInfo` says: tag, ref, text, value, left, top, width, height, children.

    Example:
        a body of <button>Ok</button> and <label><input type="radio">tea</label> -> button "Ok", input_radio "tea"
    """
    tag, children = str(tree["tag"]).lower(), tree["children"]
    switch = next((one for one in children if str(one["tag"]).lower().startswith("input_")), None)
    if tag == "label" and switch is not None:
        return [_element(switch, _text(tree))]
    if tag in CONTROLS or tag.startswith("input_"):
        return [_element(tree, _text(tree))]
    # Running text is not an element of its own: miniwob gives it tag t and no number that could be clicked.
    if tag != "t" and all(str(one["tag"]) == "t" for one in children):
        return [_element(tree, _text(tree))] if _text(tree) else []
    return [found for one in children for found in elements_of(one)]


def told(elements: Sequence[Element]) -> str:
    """The numbered list that a policy reads, one element a line.

    Example:
        button "Ok", and input_radio "tea" that is on -> "button Ok [1]\\ninput_radio tea on [2]"
    """
    lines = []
    for number, one in enumerate(elements, start=1):
        words = (one.tag, one.text[:LONGEST].strip(), "on" if one.on else "")
        lines.append(f"{' '.join(word for word in words if word)} [{number}]")
    return "\n".join(lines)


def next_click(page: str, query: str, elements: Sequence[Element], clicked: Sequence[str]) -> int | None:
    """The number in the list of what is to be clicked next; None where nothing fits.

    Args:
        page: one of PAGES.
        query: the page's instruction.
        elements: what is seen now.
        clicked: texts of what was clicked before.

    Example:
        click-button 'Click on the "Ok" button.' among input_text and button "Ok" -> 2
    """
    fits = PAGES[page](query, elements, clicked)
    return next((number for number, one in enumerate(elements, start=1) if fits(one)), None)


def _element(node: Mapping[str, Any], text: str) -> Element:
    left, top = round(node["left"]), round(node["top"])
    value = node.get("value")
    on = value if isinstance(value, bool) else None
    box = (left, top, left + round(node["width"]), top + round(node["height"]))
    return Element(int(node["ref"]), str(node["tag"]).lower(), text, on, box)


def _text(node: Mapping[str, Any]) -> str:
    """All that stands in it, in one line."""
    return " ".join(" ".join(_texts(node)).split())


def _texts(node: Mapping[str, Any]) -> Iterator[str]:
    yield str(node.get("text") or "")
    for one in node["children"]:
        yield from _texts(one)


Fits = Callable[[Element], bool]
Way = Callable[[str, Sequence[Element], Sequence[str]], Fits]


def _quoted(tag: str) -> Way:
    """Click what the instruction quotes."""

    def way(query: str, elements: Sequence[Element], clicked: Sequence[str]) -> Fits:
        del elements, clicked
        wanted = _quote(query)
        # The cross of a dialog is drawn; its text says what it does.
        return lambda one: one.tag == tag and one.text == ("Close" if wanted == "x" else wanted)

    return way


def _quote(query: str) -> str:
    return query.partition('"')[2].rpartition('"')[0]


def _tab(query: str, elements: Sequence[Element], clicked: Sequence[str]) -> Fits:
    del elements, clicked
    found = re.search(r"Tab #\d+", query)
    return lambda one: one.tag == "a" and found is not None and one.text == found[0]


def _link_in_tabs(query: str, elements: Sequence[Element], clicked: Sequence[str]) -> Fits:
    wanted = _quote(query)
    if any(one.tag == "span" and one.text == wanted for one in elements):
        return lambda one: one.tag == "span" and one.text == wanted
    return lambda one: one.tag == "a" and one.text not in clicked


def _switches(query: str, elements: Sequence[Element], clicked: Sequence[str]) -> Fits:
    """Turn on what is named and nothing else, then submit."""
    del clicked
    named = query.removeprefix("Select ").removesuffix(" and click Submit.").split(", ")

    def wrong(one: Element) -> bool:
        # A radio button goes off by itself when another goes on.
        return one.on is not None and one.on != (one.text in named) and not (one.tag == "input_radio" and one.on)

    return wrong if any(map(wrong, elements)) else _submits


def _section(query: str, elements: Sequence[Element], clicked: Sequence[str]) -> Fits:
    del query, elements
    return _submits if clicked else lambda one: one.tag == "h3"


def _submits(one: Element) -> bool:
    return one.tag == "button" and one.text == "Submit"


PAGES: Mapping[str, Way] = {
    "click-button": _quoted("button"),
    "click-link": _quoted("span"),
    "click-dialog": _quoted("button"),
    "click-dialog-2": _quoted("button"),
    "click-tab": _tab,
    "click-option": _switches,
    "click-checkboxes": _switches,
    "click-collapsible": _section,
    "click-tab-2": _link_in_tabs,
}
"""What is to be clicked on each page that can be played: (instruction, elements, texts clicked) -> what fits."""
