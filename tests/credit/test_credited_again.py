from dataclasses import replace

import numpy as np

from handaxe.credit.credited_again import credited_again
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.records import Scores
from handaxe.rewards.outcome import outcome
from handaxe.testing.records import make_rated

TOKENS = outcome(lambda one: float(one.num_tokens))
CONTRACT = [{"reward": TOKENS, "credit": leave_one_out()}, {"reward": TOKENS, "credit": leave_one_out(), "on": False}]


def test_example():
    one = make_rated(outcome=[1, 0], advantage=[1, -1])
    shape = credited_again(reward=lambda group: Scores(np.array([0.0, 1.0])), credit=leave_one_out())
    (found,) = shape([one])
    assert [row[3] for (row,) in found.advantages.tokens] == [-1, 1]
    assert found.scores is one.scores and found.group is one.group


def test_switched_off_it_only_hands_on():
    one = make_rated(outcome=[1, 0])
    seen = []

    def then(rated):
        seen.extend(rated)
        return [replace(own, part=own.part) for own in rated]

    shape = credited_again(reward=TOKENS, credit=leave_one_out(), on=False, then=then)
    (found,) = shape([one])
    assert seen == [one] and found.advantages is one.advantages
