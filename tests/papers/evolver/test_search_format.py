import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolCall
from handaxe.papers.evolver.search_format import search_format
from handaxe.testing.make_records import make_group, make_trajectory

CONTRACT = [{"kinds": ("f", "g")}]
LAB = "pays for the number and kinds of searches, beside the correctness rule of `evolver_rl`"


def rollout(*names, text="7", id="a"):
    """A turn for each name, with a call of that tool unless the name is empty, and the answer."""
    calls = [[ToolCall(name, {"query": "q"}, id=f"{n}-0")] if name else [] for n, name in enumerate(names)]
    replies = [["r"] if name else [] for name in names]
    return make_trajectory(texts=[*[""] * len(names), text], calls=[*calls, []], replies=[*replies, []], id=id)


def score(one):
    return search_format()(make_group(trajectories=[one])).outcome[0]


def test_format_matches_the_docstring_example():
    assert score(rollout("principles", "search", "search")) == pytest.approx(0.65)


def test_one_kind_scores_less_and_none_scores_nothing():
    assert score(rollout("search", "search", "search")) == pytest.approx((0.6 + 0.2 + 0.2) / 2)
    assert score(rollout("other", "other")) == score(rollout("search", text="")) == 0.0


def test_a_rollout_that_ends_in_a_search_scores_nothing():
    calls = [[ToolCall("search", {"query": "q"}, id=f"{n}-0")] for n in range(6)]
    assert score(make_trajectory(texts=["7"] * 6, calls=calls, replies=[["r"]] * 6)) == 0.0


def test_format_equals_a_slow_loop():
    rng = np.random.default_rng(0)
    for _ in range(60):
        names = [str(one) for one in rng.choice(["principles", "search", "other"], rng.integers(0, 12))]
        turns, wanted = len(names) + 1, 0.0
        searches = [name for name in names if name != "other"]
        if searches:
            thoughts = {1: 0.2, 2: 0.3, 3: 0.4, 4: 0.6, 5: 0.8, 6: 1.0, 7: 0.0, 8: 0.0}.get(turns, 0.5)
            second = 0.5 if "principles" in searches and "search" in searches else 0.2
            for _ in searches[1:6]:
                second += 0.1
            wanted = (thoughts + second) / 2
        assert score(rollout(*names)) == pytest.approx(wanted, abs=1e-9), names


def test_equal_names_are_refused():
    with pytest.raises(InputError, match="two names of tools"):
        search_format(kinds=("search", "search"))
