"""Visible elements of a miniwob page and the correct click: pure functions of the page's tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Element", "PAGES", "VISUAL", "format_changes", "format_elements", "list_elements", "next_click"]

CONTROLS = ("button", "a", "h3", "option", "textarea")
"""Tags listed as one element, with any content."""
ACTIVE = {"active", "clicked"}
"""Classes of icons that are on."""
LONGEST = 24
"""Character limit of an element's text."""


class Element(NamedTuple):
    """Visible, clickable element.

    ref: the page's own number. tag: miniwob's tag, such as button or input_radio. text: in one line. on: whether the
    element is checked, None if it cannot be. box: left, upper, right and lower side in pixels.
    """

    ref: int
    tag: str
    text: str
    on: bool | None
    box: tuple[int, int, int, int]


def list_elements(tree: Mapping[str, Any], *, values: bool = False, icons: Sequence[str] = ()) -> list[Element]:
    """List the elements of a page in order: controls, and other nodes with text.

    Args:
        tree: result of miniwob's `core.getDOMInfo`: tag, ref, text, value, left, top, width, height, children, id,
            classes.
        values: the text of a field is its value.
        icons: ids and classes of nodes without text to list, under this name; `on` is whether the icon is active.

    Example:
        a body of <button>Ok</button> and <label><input type="radio">tea</label> -> button "Ok", input_radio "tea"
    """
    tag, children = str(tree["tag"]).lower(), tree["children"]
    switch = next((one for one in children if str(one["tag"]).lower().startswith("input_")), None)
    if tag == "label" and switch is not None:
        return [_element(switch, _text(tree))]
    if values and isinstance(tree.get("value"), str):
        return [_element(tree, " ".join(tree["value"].split()))]
    if tag in CONTROLS or tag.startswith("input_"):
        return [_element(tree, _text(tree))]
    # Running text is no element: miniwob gives it tag t and no number to click.
    if tag != "t" and all(str(one["tag"]) == "t" for one in children):
        if _text(tree):
            return [_element(tree, _text(tree))]
        marks = str(tree.get("classes") or "").split()
        icon = next((one for one in icons if one in marks or one == tree.get("id")), None)
        return [] if icon is None else [_element(tree, icon)._replace(on=bool(ACTIVE & set(marks)))]
    return [found for one in children for found in list_elements(one, values=values, icons=icons)]


def format_elements(elements: Sequence[Element]) -> str:
    """Format the numbered list of elements for the policy, an element per line.

    Example:
        button "Ok", and input_radio "tea" that is on -> "button Ok [1]\\ninput_radio tea on [2]"
    """
    lines = []
    for number, one in enumerate(elements, start=1):
        words = (one.tag, one.text[:LONGEST].strip(), "on" if one.on else "")
        lines.append(f"{' '.join(word for word in words if word)} [{number}]")
    return "\n".join(lines)


def format_changes(before: Sequence[Element], after: Sequence[Element]) -> str:
    """Format the elements that are new or changed; "up to [N]" if fewer elements are left.

    Example:
        a checkbox "tea" of three elements that turns on -> "input_checkbox tea on [2]"
    """
    old, new = format_elements(before).split("\n"), format_elements(after).split("\n")
    changed = [line for line in new if line not in old]
    if len(new) < len(old):
        changed.append(f"up to [{len(new)}]")
    return "\n".join(changed) or "nothing changes"


def next_click(page: str, query: str, elements: Sequence[Element], clicked: Sequence[str]) -> int | None:
    """Find the list number of the next correct click. Return None if nothing fits.

    Args:
        page: one of PAGES or VISUAL.
        query: the page's instruction.
        elements: visible elements.
        clicked: texts of previous clicks.

    Example:
        click-button 'Click on the "Ok" button.' among input_text and button "Ok" -> 2
    """
    fits = (PAGES | VISUAL)[page](query, elements, clicked)
    return next((number for number, one in enumerate(elements, start=1) if fits(one)), None)


def _element(node: Mapping[str, Any], text: str) -> Element:
    left, top = round(node["left"]), round(node["top"])
    value = node.get("value")
    on = value if isinstance(value, bool) else None
    box = (left, top, left + round(node["width"]), top + round(node["height"]))
    return Element(int(node["ref"]), str(node["tag"]).lower(), text, on, box)


def _text(node: Mapping[str, Any]) -> str:
    """The whole text of a node, in one line."""
    return " ".join(" ".join(_texts(node)).split())


def _texts(node: Mapping[str, Any]) -> Iterator[str]:
    yield str(node.get("text") or "")
    for one in node["children"]:
        yield from _texts(one)


Fits = Callable[[Element], bool]
Way = Callable[[str, Sequence[Element], Sequence[str]], Fits]


def _quoted(tag: str) -> Way:
    """Rule: click the quoted element of the instruction."""

    def way(query: str, elements: Sequence[Element], clicked: Sequence[str]) -> Fits:
        del elements, clicked
        wanted = _quote(query)
        # The cross of a dialog is a drawing; its text names its action.
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
    """Rule: turn on exactly the named elements, then submit."""
    del clicked
    named = query.removeprefix("Select ").removesuffix(" and click Submit.").split(", ")

    def wrong(one: Element) -> bool:
        # A radio button turns off when another turns on.
        return one.on is not None and one.on != (one.text in named) and not (one.tag == "input_radio" and one.on)

    return wrong if any(map(wrong, elements)) else _submits


def _section(query: str, elements: Sequence[Element], clicked: Sequence[str]) -> Fits:
    del query, elements
    return _submits if clicked else lambda one: one.tag == "h3"


def _submits(one: Element) -> bool:
    return one.tag == "button" and one.text == "Submit"


def _numbered_button(query: str, elements: Sequence[Element], clicked: Sequence[str]) -> Fits:
    """Rule: click ONE, and TWO after ONE if the instruction has both."""
    del elements
    named = re.findall(r"\b(?:ONE|TWO)\b", query)
    left = [one for one in named if one not in clicked]
    return lambda one: one.tag == "button" and one.text in ("Click Me!", *left[:1])


def _nth_field(query: str, elements: Sequence[Element], clicked: Sequence[str]) -> Fits:
    """Rule: click the field that the instruction counts, the first one without a count."""
    del clicked
    found = re.search(r"\b(\d)(?:st|nd|rd)\b", query)
    fields = [one for one in elements if one.tag == "input_text"]
    number = int(found[1]) if found else 1
    return lambda one: fields[number - 1 : number] == [one]


PAGES: dict[str, Way] = {
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
"""Rule of the correct click by page: (instruction, elements, clicked texts) -> the elements that fit."""
VISUAL: dict[str, Way] = {
    "click-test": _numbered_button,
    "click-test-2": _numbered_button,
    "click-button-sequence": _numbered_button,
    "focus-text": _nth_field,
    "focus-text-2": _nth_field,
}
"""The same for pages whose instances differ in places alone, so that only a screenshot poses a question."""
