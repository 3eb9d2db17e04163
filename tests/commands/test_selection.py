from pathlib import Path

import pytest

from handaxe.commands.selection import find_id, find_step
from handaxe.core.errors import InputError

IDS = ["sum-1", "sum-11", "sum-12", "hop\x1b[2J", "sum-1"]
RUN = Path("run")


def test_steps_count_from_one():
    assert [find_step(step, [0, 1, 2], RUN) for step in (1, 2, 3)] == [0, 1, 2]
    for step in (0, -1, 4):
        with pytest.raises(InputError, match=f"there is no step {step} in run; it has steps 1 to 3"):
            find_step(step, [0, 1, 2], RUN)
    with pytest.raises(InputError, match="it has no step yet"):
        find_step(1, [], RUN)


def test_id_is_whole_or_a_unique_start():
    found = [find_id(given, IDS, noun="task", place="here") for given in ("sum-1", "sum-12", "hop", "h")]
    assert found == ["sum-1", "sum-12", "hop\x1b[2J", "hop\x1b[2J"]


def test_ambiguous_start_lists_the_candidates():
    with pytest.raises(InputError, match="^'sum' is the start of 3 task ids here: sum-1, sum-11, sum-12$"):
        find_id("sum", IDS, noun="task", place="here")
    with pytest.raises(InputError, match="t-0, t-1, .* and 12 more$"):
        find_id("t", [f"t-{k}" for k in range(20)], noun="task", place="here")


def test_missing_id_lists_close_ones_escaped():
    with pytest.raises(InputError, match="there is no task 'sum-2' here; there are sum-"):
        find_id("sum-2", IDS, noun="task", place="here")
    with pytest.raises(InputError, match=r"there are sum-1, sum-11, sum-12, hop\\x1b"):
        find_id("zzz", IDS, noun="task", place="here")
