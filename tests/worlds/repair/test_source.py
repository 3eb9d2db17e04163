import pytest

from handaxe.worlds.repair.source import Edit, candidates, change, read_functions, replace_token

TEXT = '''import os

LIMIT = 3


def first(values, size=2):
    """Docstring 1 < 2."""
    # a comment: 4 < 5
    if size <= 0 or values is not None and 1 not in values:
        return values[0] - values[-1]

    total = 0
    for value in values:
        total += value * 10
    return total


class Box:
    @property
    def full(self):
        return len(self.items) == self.size
'''
ROWS = TEXT.split("\n")


def shown(name):
    function = next(one for one in read_functions(TEXT) if one.name == name)
    return [(one.line, one.old, one.new) for one in candidates(function, ROWS)]


def test_functions_have_lines_of_code_and_bodies():
    first, full = read_functions(TEXT)
    assert (first.name, first.first, first.last, first.body) == ("first", 6, 15, 9)
    assert first.lines == (6, 9, 10, 12, 13, 14, 15)
    assert (full.name, full.owner, full.first, full.lines) == ("Box.full", "Box", 19, (20, 21))


def test_candidates_are_tokens_of_the_body_in_order():
    assert shown("first") == [
        (9, "<=", "<"),
        (9, "<=", ">="),
        (9, "0", "1"),
        (9, "or", "and"),
        (9, "is not", "is"),
        (9, "and", "or"),
        (9, "1", "2"),
        (9, "1", "0"),
        (9, "not in", "in"),
        (10, "0", "1"),
        (10, "-", "+"),
        (10, "1", "2"),
        (10, "1", "0"),
        (12, "0", "1"),
        (14, "+=", "-="),
        (14, "*", "/"),
        (14, "10", "11"),
        (14, "10", "9"),
    ]
    assert shown("Box.full") == [(21, "==", "!=")]


def test_every_candidate_has_a_way_back():
    for function in read_functions(TEXT):
        for edit in candidates(function, ROWS):
            row = replace_token(ROWS[edit.line - 1], edit)
            new = [*ROWS[: edit.line - 1], row, *ROWS[edit.line :]]
            back = [replace_token(row, one) for one in candidates(function, new) if one.line == edit.line]
            assert ROWS[edit.line - 1] in back


@pytest.mark.parametrize(
    ("row", "edit", "result"),
    [
        ("a < b <= c < d", ("<", "<=", 2), "a < b <= c <= d"),
        ("x = y  # x - 1", ("-", "+", 1), None),
        ("if a is  not b:", ("is not", "is", 1), "if a is b:"),
        ("if a is b:", ("is", "is not", 1), "if a is not b:"),
        ("'in' in x", ("in", "not in", 1), "'in' not in x"),
        ("a = b11 + 1", ("1", "2", 1), "a = b11 + 2"),
        ("a = 1", ("1", "2", 2), None),
        ("a = 1", ("1", "2", 0), None),
    ],
)
def test_replace_token_counts_whole_tokens(row, edit, result):
    old, new, nth = edit
    assert replace_token(row, Edit(1, nth, old, new)) == result


def test_a_change_compiles_at_the_lines_of_the_file():
    for one in change(read_functions(TEXT), ROWS):
        code = compile("\n" * (one.first - 1) + one.source, "file", "exec")
        inner = next(part for part in code.co_consts if hasattr(part, "co_name"))
        if one.names == ("Box.full",):
            inner = next(part for part in inner.co_consts if hasattr(part, "co_name"))
        assert (inner.co_qualname, inner.co_firstlineno) in {("first", 6), ("Box.full", 19)}


def test_source_that_is_no_python_has_no_candidates():
    function = read_functions(TEXT)[0]
    assert candidates(function, [*ROWS[:9], "        return (", *ROWS[10:]]) == []
