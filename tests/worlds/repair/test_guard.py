import pytest

from handaxe.worlds.repair.guard import refusal
from handaxe.worlds.repair.source import read_functions

TEXT = '''import sys

from inner import curry


class Always:
    def __eq__(self, other):
        return True


def take(n, values):
    """Take."""
    rows = [one for one in values]
    if n < len(rows):
        return rows[:n]
    return sys.modules


def other(key):
    return getattr(key, "name").lower()
'''
ROWS = TEXT.split("\n")


def say(line, row):
    new = [*ROWS[: line - 1], row, *ROWS[line:]]
    return refusal(read_functions(TEXT), ROWS, new, line)


@pytest.mark.parametrize(
    "row",
    [
        "    if n <= len(rows):",
        "    if n > max(len(rows), 3) or not any(rows):",
        "    if values.lower() and curry(n):",
        "    if [one for one in rows if one]:",
    ],
)
def test_expressions_with_names_of_the_file_are_permitted(row):
    assert say(14, row) == ""


@pytest.mark.parametrize(
    "row",
    [
        "    if __import__('os')._exit(0):",
        "    if n < len(rows).__class__:",
        "    if getattr(n, 'x'):",
        "    if sys.exit():",
        "    if eval('n'):",
        "    if open('x'):",
        "    if Always.__eq__:",
        "    if pytest.skip():",
        "    if unknown:",
        "    if print(n):",
        "    if globals():",
        "    if '{0.__class__}'.format(n):",
        "    if f'{n!r}':",
        "    if (lambda: n)():",
        "    if (n := 1):",
        "    import os\n    if n:",
        "    global n; n = 1",
        "    class A: pass",
        "    try: n",
        "    raise SystemExit",
        "    if n < (:",
        "    if n < len(rows):" + " " * 200,
        "if n:",
    ],
)
def test_edits_that_could_reach_the_tests_are_refused(row):
    assert say(14, row) != ""


def test_dangerous_names_may_stay_where_they_are():
    assert say(16, "    return not sys.modules") == ""
    assert "sys" in say(14, "    if sys.modules:") or "modules" in say(14, "    if sys.modules:")
    assert say(20, '    return getattr(key, "other").lower()') == ""


@pytest.mark.parametrize("line", [1, 3, 5, 11, 12, 17, 7])
def test_lines_outside_of_bodies_are_refused(line):
    assert "body of a function" in say(line, "    n = 1")
