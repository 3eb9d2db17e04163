import random
import re

import pytest

from handaxe.models.token_names import Occurrence, TokenNames

PLAIN = (False, False)


def slow(names, text):
    """One name after the other at every place, the longest first."""
    found, at = [], 0
    while at < len(text):
        fits = [name for name in sorted(names, key=len, reverse=True) if text.startswith(name, at)]
        if fits:
            found.append(Occurrence(fits[0], at, at + len(fits[0])))
        at += len(fits[0]) if fits else 1
    return found


def test_the_same_as_one_name_after_the_other():
    draw = random.Random(0)
    for _ in range(200):
        names = {"".join(draw.choices("<s>|.*", k=draw.randint(1, 5))) for _ in range(draw.randint(1, 12))}
        finder = TokenNames(dict.fromkeys(names, PLAIN))
        text = "".join(draw.choices("<s>|.*a", k=60))
        assert list(finder.find(text)) == slow(names, text)
        assert finder.first(text) == next(iter(slow(names, text)), None)


def test_white_space_that_a_name_swallows():
    finder = TokenNames({"<l>": (True, False), "<r>": (False, True), "<b>": (True, True), "<n>": PLAIN})
    text = "a <l> b <r> c \n<b>\t d <n> <r> <b>"
    found = [(name, text[start:stop]) for name, start, stop in finder.find(text)]
    assert found == [
        ("<l>", " <l>"),
        ("<r>", "<r> "),
        ("<b>", " \n<b>\t "),
        ("<n>", "<n>"),
        ("<r>", "<r> "),
        ("<b>", "<b>"),
    ]


def test_no_name_at_all():
    assert list(TokenNames({}).find("abc")) == []


def widest(pattern):
    """The most branches that the expression has at one place."""
    most, open_ = 0, [1]
    for sign in re.sub(r"\\.", "", pattern):
        if sign == "(":
            open_.append(1)
        elif sign == "|":
            open_[-1] += 1
        elif sign == ")":
            most = max(most, open_.pop())
    return max(most, *open_)


@pytest.mark.parametrize("text", ["<", "<unused", "<unused6", "</", "a", " "])
def test_thousands_of_names_are_looked_at_as_one(text):
    """A regular expression tries its branches in turn: there are as many as characters that may follow, not names."""
    finder = TokenNames({f"<unused{k}>": PLAIN for k in range(6400)} | {"</s>": PLAIN, "[x]": PLAIN})
    assert widest(finder.pattern.pattern) == 11  # ten digits or the end
    assert list(finder.find(text * 1000)) == []
    assert [found.name for found in finder.find(f"{text}<unused6399>")][-1:] == ["<unused6399>"]
