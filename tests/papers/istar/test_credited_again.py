from dataclasses import replace

import numpy as np

from handaxe.core.records import Advantages, Rated, Scores
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.ops.ragged import scatter, turn_of_token
from handaxe.papers.istar.credited_again import credited_again
from handaxe.rewards.outcome import outcome
from handaxe.testing.records import make_group, make_rated, make_scores

TOKENS = outcome(lambda one: float(one.num_tokens))
BASE = {"reward": TOKENS, "credit": leave_one_out()}
CONTRACT = [BASE, {**BASE, "on": False}, {**BASE, "peak": True}, {**BASE, "on": False, "peak": True}]


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


def steps(*turns, outcome=(1.0, 0.0)):
    """A group whose siblings have these turn rewards."""
    members = make_group(layouts=["Ut" + "tp" * len(own) for own in turns])
    scores = make_scores(list(outcome), turns=list(turns))
    nothing = tuple(tuple(np.zeros(len(s)) for s in one.sequences) for one in members)
    return Rated(members, scores, Advantages(nothing), np.ones(len(turns), bool))


def spread(found):
    """By sibling the advantages of its turns."""
    return [row[row != 0].tolist() for (row,) in found.advantages.tokens]


def own_steps(group, scores):
    """Credit: each turn's own reward."""
    turns = [own[turn_of_token(one)] for one, own in zip(group, scores.turns, strict=True)]
    return Advantages(tuple(scatter(one, own) for one, own in zip(group, turns, strict=True)))


def test_turn_rewards_on_the_scale_of_the_batch():
    """The example; over groups, with the scores of before, and not by a sibling that was not scored."""
    first, second = steps([0.2, 0.1], [-0.1, 0.0]), steps([0.1, 0.1], [0.15, -0.1])
    shape = credited_again(reward=None, credit=own_steps, on=False, peak=True)
    found = shape([first, second])
    np.testing.assert_allclose(spread(found[0])[0], [2 / 3, 1 / 3])
    np.testing.assert_allclose(spread(found[0])[1], [-1 / 3])
    np.testing.assert_allclose(spread(found[1])[1], [0.5, -1 / 3])
    assert found[0].scores is first.scores
    unscored = steps([9.0, 9.0], [0.3, 0.0], outcome=(np.nan, 0.0))
    np.testing.assert_allclose(spread(shape([unscored])[0])[1], [1.0])
    zeros = shape([steps([0.0], [0.0, 0.0])])[0]
    assert spread(zeros) == [[], []]


def test_the_scale_is_that_of_the_rewards_of_now():
    one = steps([0.2, 0.1], [-0.1, 0.0])
    now = replace(one.scores, turns=(np.array([0.4, 0.4]), np.array([0.2, 0.2])))
    (found,) = credited_again(reward=lambda group: now, credit=own_steps, peak=True)([one])
    assert spread(found) == [[0.5, 0.5], [0.25, 0.25]]
