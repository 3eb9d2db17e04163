"""Pages of several turns as lists of goals: the first goal that is not met has the next action, and met goals are
progress. Pure functions of instruction and elements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from handaxe.worlds.miniwob.elements import PAGES, Element, next_click

__all__ = ["END", "Goal", "LONG", "Move", "Page", "is_met", "next_move", "page_goals"]

END = "end"
"""Name of the last goal: the page's reward is 1."""
Done = Sequence[str]
"""Texts of the elements of previous clicks."""


class Move(NamedTuple):
    """Action: number of an element in the list from 1, and the text to type; None for a click."""

    ref: int
    text: str | None = None


class Goal(NamedTuple):
    """Part of a task. name: of the criterion, "" for none. met: whether the goal is met. move: the action for it."""

    name: str
    met: Callable[[Sequence[Element], Done], bool]
    move: Callable[[Sequence[Element], Done], Move | None]


class Page(NamedTuple):
    """Page of several turns.

    goals: instruction -> goals in order, or None if the instruction is ambiguous on these elements. types: whether text
    is typed. icons: see `list_elements`.
    """

    goals: Callable[[str], list[Goal]]
    types: bool = False
    icons: tuple[str, ...] = ()


def page_goals(page: str, query: str) -> list[Goal]:
    """Goals of a page and its instruction; a page of one rule has the goal END alone."""
    if page in LONG:
        return LONG[page].goals(query)
    return [Goal(END, _never, lambda elements, done: _click(next_click(page, query, elements, done)))]


def next_move(page: str, query: str, elements: Sequence[Element], done: Done) -> Move | None:
    """Find the next correct action. Return None if nothing fits.

    Example:
        login-user 'Enter the username "ann" and the password "x1" ...' among input_text and input_password ->
        Move(1, "ann")
    """
    goal = next((one for one in page_goals(page, query) if not one.met(elements, done)), None)
    return None if goal is None else goal.move(elements, done)


def is_met(page: str, query: str, name: str, elements: Sequence[Element], done: Done) -> bool:
    """Whether the goal of a name is met."""
    return any(one.met(elements, done) for one in page_goals(page, query) if one.name == name)


def _never(elements: Sequence[Element], done: Done) -> bool:
    del elements, done
    return False


def _click(ref: int | None) -> Move | None:
    return None if ref is None else Move(ref)


def _numbers(elements: Sequence[Element], fits: Callable[[Element], bool]) -> list[int]:
    return [number for number, one in enumerate(elements, start=1) if fits(one)]


def _press(text: str, *, tag: str = "button") -> Goal:
    """Goal: the end, by a click on the only element of a text."""

    def move(elements: Sequence[Element], done: Done) -> Move | None:
        del done
        found = _numbers(elements, lambda one: one.tag == tag and one.text == text)
        return Move(found[-1]) if found else None

    return Goal(END, _never, move)


def _typed(name: str, tag: str, text: str, *, place: int = 0) -> Goal:
    """Goal: a field has a text. place: of the field among the fields of its tag."""

    def field(elements: Sequence[Element]) -> int | None:
        found = _numbers(elements, lambda one: one.tag == tag)
        return found[place] if place < len(found) else None

    def met(elements: Sequence[Element], done: Done) -> bool:
        del done
        number = field(elements)
        return number is not None and elements[number - 1].text == text

    def move(elements: Sequence[Element], done: Done) -> Move | None:
        del done
        number = field(elements)
        return None if number is None else Move(number, text)

    return Goal(name, met, move)


def _switched(name: str, fits: Callable[[Sequence[Element]], list[int]], *, on: bool = True) -> Goal:
    """Goal: the elements of these numbers are on, or off."""

    def wrong(elements: Sequence[Element]) -> list[int]:
        return [number for number in fits(elements) if elements[number - 1].on is not on]

    def met(elements: Sequence[Element], done: Done) -> bool:
        del done
        return not wrong(elements)

    def move(elements: Sequence[Element], done: Done) -> Move | None:
        del done
        found = wrong(elements)
        return Move(found[0]) if found else None

    return Goal(name, met, move)


def _closed(text: str) -> Goal:
    """Goal without a criterion: the window with a button of this text is closed."""
    end = _press(text)
    return Goal("", lambda elements, done: end.move(elements, done) is None, end.move)


def _quotes(query: str) -> list[str]:
    return re.findall(r'"([^"]*)"', query)


def _boxes(query: str) -> list[Goal]:
    names = query.removeprefix("Select ").removesuffix(" and click Submit.").split(", ")

    def named(name: str) -> Callable[[Sequence[Element]], list[int]]:
        return lambda elements: _numbers(elements, lambda one: one.on is not None and one.text == name)

    def others(elements: Sequence[Element]) -> list[int]:
        return _numbers(elements, lambda one: one.on is not None and one.text not in names)

    return [
        *(_switched(f"box {name}", named(name)) for name in names),
        _switched("", others, on=False),
        _press("Submit"),
    ]


def _text(query: str) -> list[Goal]:
    word = _quotes(query)[0]
    if "upper case" in query:
        word = word.upper()
    elif "lower case" in query:
        word = word.lower()
    return [_typed("text", "input_text", word), _press("Submit")]


def _password(query: str) -> list[Goal]:
    (word,) = _quotes(query)
    return [*(_typed(f"field {n + 1}", "input_password", word, place=n) for n in range(2)), _press("Submit")]


def _login(button: str) -> Callable[[str], list[Goal]]:
    def goals(query: str) -> list[Goal]:
        user, password = _quotes(query)
        fields = [_typed("username", "input_text", user), _typed("password", "input_password", password)]
        return [_closed("Cancel"), *fields, _press(button)]

    return goals


def _form(query: str) -> list[Goal]:
    radio, field = (int(place) - 1 for place in re.findall(r"(\d)(?:st|nd|rd) ", query))
    empty = [_typed("", "input_text", "", place=n) for n in range(3) if n != field]

    def nth(elements: Sequence[Element]) -> list[int]:
        return _numbers(elements, lambda one: one.tag == "input_radio")[radio : radio + 1]

    typed = _typed("number", "input_text", _quotes(query)[0], place=field)
    return [_switched("radio", nth), *empty, typed, _press("Submit")]


def _posts(query: str) -> list[Goal]:
    button, user = _quotes(query)[0].lower(), re.findall(r"@\w+", query)[0]

    def icons(elements: Sequence[Element]) -> list[int]:
        """Numbers of the button at each post of the user."""
        found, author = [], ""
        for number, one in enumerate(elements, start=1):
            if one.tag == "span" and one.text.startswith("@"):
                author = one.text
            elif one.on is not None and author == user and one.text == button:
                found.append(number)
        return found

    def others(elements: Sequence[Element]) -> list[int]:
        own = set(icons(elements))
        return [n for n in _numbers(elements, lambda one: one.on is not None) if n not in own]

    some = re.search(r"on (\d+) posts?", query)

    def chosen(elements: Sequence[Element]) -> list[int]:
        own = icons(elements)
        return own if some is None else sorted(own, key=lambda n: not elements[n - 1].on)[: int(some[1])]

    def spare(elements: Sequence[Element]) -> list[int]:
        return [*others(elements), *(n for n in icons(elements) if n not in chosen(elements))]

    return [_switched("posts", chosen), _switched("", spare, on=False), _press("Submit")]


def _engine(query: str) -> list[Goal]:
    word, place = _quotes(query)[0], int(re.findall(r"(\d)(?:st|nd|rd|th) search result", query)[0]) - 1
    page, row = str(1 + place // 3), place % 3
    typed = _typed("text", "input_text", word)

    def links(elements: Sequence[Element]) -> list[int]:
        return _numbers(elements, lambda one: one.tag == "a" and one.text not in ("<", ">", "1", "2", "3"))

    def here(elements: Sequence[Element], done: Done) -> bool:
        shown = [text for text in done if text in ("1", "2", "3", "Search")]
        return bool(links(elements)) and {"Search": "1"}.get(shown[-1], shown[-1]) == page

    def turn(elements: Sequence[Element], done: Done) -> Move | None:
        del done
        found = _numbers(elements, lambda one: one.tag == "a" and one.text == page)
        return Move(found[-1]) if found else None

    def follow(elements: Sequence[Element], done: Done) -> Move | None:
        del done
        found = links(elements)
        return Move(found[row]) if row < len(found) else None

    search = Goal("results", lambda elements, done: bool(links(elements)), _press("Search").move)
    return [typed, search, Goal("page", here, turn), Goal(END, _never, follow)]


def _calendar(day: datetime, *, place: int = 0) -> Goal:
    """Goal: the read-only field has a date, chosen in jQuery's calendar. place: of the field."""
    text = day.strftime("%m/%d/%Y")
    typed = _typed("date", "input_text", text, place=place)

    def move(elements: Sequence[Element], done: Done) -> Move | None:
        del done
        shown = " ".join(one.text for one in elements if one.tag == "span")
        month = re.search(r"([A-Z][a-z]+) (\d{4})", shown)
        if month is None:
            field = _numbers(elements, lambda one: one.tag == "input_text")
            return Move(field[place]) if place < len(field) else None
        seen = datetime.strptime(f"1 {month[1]} {month[2]}", "%d %B %Y")
        wanted = "Prev" if day < seen else "Next" if (day.year, day.month) > (seen.year, seen.month) else str(day.day)
        found = _numbers(elements, lambda one: one.tag == "a" and one.text == wanted)
        return Move(found[0]) if found else None

    return Goal("date", typed.met, move)


def _date(query: str) -> list[Goal]:
    return [_calendar(_find_date(query)), _press("Submit")]


def _find_date(query: str) -> datetime:
    return datetime.strptime(re.findall(r"\d\d/\d\d/\d{4}", query)[0], "%m/%d/%Y")


def _suggested(name: str, text: str, *, place: int, ending: str = "") -> Goal:
    """Goal: a field has a suggestion that contains a text."""

    def value(elements: Sequence[Element]) -> str:
        found = [one.text for one in elements if one.tag == "input_text"]
        return found[place] if place < len(found) else ""

    def items(elements: Sequence[Element]) -> list[int]:
        return _numbers(
            elements, lambda one: one.tag in ("li", "div") and text in one.text and one.text.endswith(ending)
        )

    def met(elements: Sequence[Element], done: Done) -> bool:
        return text in value(elements) and value(elements) in done

    def move(elements: Sequence[Element], done: Done) -> Move | None:
        found = items(elements)
        if value(elements) == text and found:
            return Move(found[0])
        return _typed(name, "input_text", text, place=place).move(elements, done)

    return Goal(name, met, move)


def _country(query: str) -> list[Goal]:
    start, *end = _quotes(query)
    return [_suggested("item", start, place=0, ending=end[0] if end else ""), _press("Submit")]


def _flight(query: str) -> list[Goal]:
    found = re.fullmatch(r"Book the (\w+) one-way flight from: (.+) to: (.+) on ([\d/]+)\.", query)
    assert found is not None, query
    action, origin, destination, _ = found.groups()

    def flights(elements: Sequence[Element]) -> list[tuple[int, int, int]]:
        """Price, minutes and number of the button of each flight."""
        rows, minutes = [], 0
        for number, one in enumerate(elements, start=1):
            if time := re.fullmatch(r"(\d+)h (\d+)m", one.text):
                minutes = 60 * int(time[1]) + int(time[2])
            elif price := re.fullmatch(r"Book flight for \$(\d+)", one.text):
                rows.append((int(price[1]), minutes, number))
        return rows

    def results(elements: Sequence[Element], done: Done) -> bool:
        del done
        return bool(flights(elements))

    def book(elements: Sequence[Element], done: Done) -> Move | None:
        del done
        rows = flights(elements)
        return Move(min(rows, key=lambda row: row[0 if action == "cheapest" else 1])[2]) if rows else None

    def before(goal: Goal) -> Goal:
        """The form is hidden once the flights are listed."""
        return goal._replace(met=lambda elements, done: results(elements, done) or goal.met(elements, done))

    form = [
        _suggested("from", origin, place=0),
        _suggested("to", destination, place=1),
        _calendar(_find_date(query), place=2),
    ]
    return [*map(before, form), Goal("results", results, _press("Search").move), Goal(END, _never, book)]


SOCIAL = ("reply", "retweet", "like", "share")

LONG: Mapping[str, Page] = {
    "click-checkboxes-large": Page(_boxes),
    "social-media-all": Page(_posts, icons=SOCIAL),
    "social-media-some": Page(_posts, icons=SOCIAL),
    "choose-date-nodelay": Page(_date),
    "enter-text": Page(_text, types=True),
    "enter-text-2": Page(_text, types=True),
    "enter-password": Page(_password, types=True),
    "login-user": Page(_login("Login"), types=True),
    "login-user-popup": Page(_login("OK"), types=True),
    "form-sequence-2": Page(_form, types=True),
    "search-engine": Page(_engine, types=True),
    "use-autocomplete-nodelay": Page(_country, types=True),
    "book-flight-nodelay": Page(_flight, types=True),
}
"""Pages of several turns; the fields show their values."""
assert not set(LONG) & set(PAGES)
