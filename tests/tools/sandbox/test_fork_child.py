import json
import os
import time

import pytest

from handaxe.tools.sandbox.fork_child import fork_child

LIMITS = {"seconds": 0.3, "wall": 5, "longest": 1000}


def test_the_line_of_the_child_comes_back():
    assert fork_child(lambda: json.dumps([1, 2]), **LIMITS) == ("[1, 2]", "")
    assert fork_child(lambda: "x" * 2000, **{**LIMITS, "longest": 5000}) == ("x" * 2000, "")


def test_a_child_changes_nothing_in_its_parent():
    state = [1]
    assert fork_child(lambda: str(state.append(2) or len(state)), **LIMITS) == ("2", "") and state == [1]


def spin():
    while True:
        pass


@pytest.mark.parametrize(
    "work, end",
    [(spin, "timeout"), (lambda: os._exit(3), "crash"), (lambda: 1 / 0, "crash"), (lambda: time.sleep(60), "late")],
)
def test_a_child_without_a_line_has_an_end(work, end):
    assert fork_child(work, **{**LIMITS, "wall": 1 if end == "late" else 5}) == ("", end)


def test_a_line_beyond_the_limit_is_a_crash():
    assert fork_child(lambda: "x" * 200_000, **LIMITS) == ("", "crash")
