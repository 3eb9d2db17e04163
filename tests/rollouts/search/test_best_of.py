import numpy as np
import pytest

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.records import Group
from handaxe.core.validation import check_group
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.search.best_of import best_of
from handaxe.rollouts.search.value_search import CHOSEN


class Says:
    """A judge whose n-th answer is scores[n], or an error."""

    def __init__(self, scores):
        self.scores = iter(scores)

    def score(self, group):
        said = next(self.scores)
        if isinstance(said, Exception):
            raise said
        return np.array([said])


def play(dice, seed=4, **knobs):
    found = run_plan(best_of(**knobs)(dice.attempt(seed)), sample=dice.roll)
    check_group(Group(found[0].task, tuple(found)))
    return found


@pytest.mark.parametrize("tokens", [1, 30, 90])
def test_sampling_ends_with_the_rollout_that_reaches_the_number(dice, tokens):
    found = sorted(play(dice, tokens=tokens), key=lambda one: len(one.id))
    spent = [one.usage.tokens for one in found]
    assert sum(spent) >= tokens and sum(spent[:-1]) < tokens and found[0].notes[CHOSEN]


def test_the_best_rollout_answers_and_comes_first(dice):
    scores = [0.1, float("nan"), 0.7, InfrastructureError("no answer"), 0.7, *[0.2] * 200]
    found = play(dice, tokens=200, judge=Says(scores))
    assert len(found) >= 5 and found[0].id.endswith("/2") and sum(one.notes[CHOSEN] for one in found) == 1


def test_a_score_at_the_gate_ends_the_sampling(dice):
    found = play(dice, tokens=10_000, gate=0.9, judge=Says([0.1, 0.95, 0.1]))
    assert len(found) == 2 and found[0].id.endswith("/1")


def test_no_tokens_is_an_error():
    with pytest.raises(InputError, match="tokens=0"):
        best_of(tokens=0)
