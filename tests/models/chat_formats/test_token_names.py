import random
import re

import pytest

from handaxe.models.chat_formats.token_names import Occurrence, TokenNames

PLAIN = (False, False)


def find_slowly(names, text):
    """Try each name at each position, longest name first."""
    occurrences, at = [], 0
    while at < len(text):
        matches = [name for name in sorted(names, key=len, reverse=True) if text.startswith(name, at)]
        if matches:
            occurrences.append(Occurrence(matches[0], at, at + len(matches[0])))
        at += len(matches[0]) if matches else 1
    return occurrences


def test_find_equals_a_search_for_each_name():
    rng = random.Random(0)
    for _ in range(200):
        names = {"".join(rng.choices("<s>|.*", k=rng.randint(1, 5))) for _ in range(rng.randint(1, 12))}
        finder = TokenNames(dict.fromkeys(names, PLAIN))
        text = "".join(rng.choices("<s>|.*a", k=60))
        assert list(finder.find(text)) == find_slowly(names, text)
        assert finder.first(text) == next(iter(find_slowly(names, text)), None)


def test_occurrences_include_stripped_white_space():
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


def test_find_without_names_is_empty():
    assert list(TokenNames({}).find("abc")) == []


def max_branches(pattern):
    """Return the largest number of branches in a group of the expression."""
    largest, counts = 0, [1]
    for sign in re.sub(r"\\.", "", pattern):
        if sign == "(":
            counts.append(1)
        elif sign == "|":
            counts[-1] += 1
        elif sign == ")":
            largest = max(largest, counts.pop())
    return max(largest, *counts)


@pytest.mark.parametrize("text", ["<", "<unused", "<unused6", "</", "a", " "])
def test_pattern_of_thousands_of_names_has_few_branches(text):
    """A regular expression tries branches in turn: a group has a branch per next character, not per name."""
    finder = TokenNames({f"<unused{k}>": PLAIN for k in range(6400)} | {"</s>": PLAIN, "[x]": PLAIN})
    assert max_branches(finder.pattern.pattern) == 11  # ten digits or the end
    assert list(finder.find(text * 1000)) == []
    assert [occurrence.name for occurrence in finder.find(f"{text}<unused6399>")][-1:] == ["<unused6399>"]
