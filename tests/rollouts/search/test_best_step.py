from math import nan

import numpy as np
import pytest

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.records import Group
from handaxe.core.requests import Stopped
from handaxe.core.validation import check_group
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.rollouts.search.best_step import best_step


class Longest:
    """A judge that likes many tokens, and keeps what it said of last turns."""

    def __init__(self):
        self.said = []

    def score_steps(self, group):
        (one,) = group
        self.said.append([turn.parsed.raw for turn in one.turns])
        return (np.array([float(turn.stop - turn.start) for turn in one.turns]),)


def rewound(dice):
    """An environment that may be put back in the middle."""

    class Rewound(dice.Counter):
        def restore(self, state):
            self.sums = list(state)

    return Rewound


def play(dice, seed, **knobs):
    judge, drawn = Longest(), []

    def speak(name, request):
        drawn.append((request.turn, dice.roll(name, request)))
        return drawn[-1][1]

    dice.Counter.made.clear()
    (one,) = run_plan(best_step(judge=judge, **knobs)(dice.attempt(seed, env=rewound(dice))), sample=speak)
    return one, judge, drawn


@pytest.mark.parametrize("seed", range(12))
def test_the_longest_finished_candidate_continues(dice, seed):
    one, judge, drawn = play(dice, seed, samples=3)
    for k, turn in enumerate(one.turns):
        ids = [said.ids for turn_k, said in drawn if turn_k == k and said.finish == "stop"]
        own = one.sequences[turn.sequence].ids[turn.start : turn.stop].tolist()
        if ids:
            assert own == max(ids, key=len) and one.notes["chosen"][str(k)] == [len(said) for said in ids]
        else:
            assert turn.finish == "length" and str(k) not in one.notes.get("chosen", {})
    assert one.usage.tokens == sum(len(said.ids) for _, said in drawn)
    assert one.env["sums"] == [0, *(int(reply.content.split(".")[0]) for reply in one.replies)]
    check_group(Group(one.task, (one,)))
    assert all(len(own) <= len(one.turns) for own in judge.said) and [env.closed for env in dice.Counter.made] == [1]


def test_one_sample_equals_linear(dice):
    one, judge, _ = play(dice, 3, samples=1)
    (plain,) = run_plan(linear()(dice.attempt(3)), sample=dice.roll)
    assert one.sequences[0].ids.tolist() == plain.sequences[0].ids.tolist() and not judge.said


@pytest.mark.parametrize("when", range(6))
def test_a_stopped_rollout_keeps_its_turns(dice, when):
    count = iter(range(100))

    def speak(name, request):
        if next(count) >= when:
            raise Stopped
        return dice.roll(name, request)

    dice.Counter.made.clear()
    (one,) = run_plan(best_step(judge=Longest())(dice.attempt(5, env=rewound(dice))), sample=speak)
    check_group(Group(one.task, (one,)))
    assert all(env.closed == 1 for env in dice.Counter.made)


class Says:
    """A judge whose n-th answer is scores[n], or an error."""

    def __init__(self, scores):
        self.scores = iter(scores)

    def score_steps(self, group):
        said = next(self.scores)
        if isinstance(said, Exception):
            raise said
        return (np.array([said]),)


def test_an_unreachable_judge_ends_its_rollout_only(dice):
    dice.Counter.made.clear()
    plan = best_step(judge=Says([InfrastructureError("no answer")] * 9))(dice.attempt(5, env=rewound(dice)))
    (one,) = run_plan(plan, sample=dice.roll)
    assert one.ending.kind == "infra_error" and "no answer" in one.ending.reason
    assert [env.closed for env in dice.Counter.made] == [1]


@pytest.mark.parametrize(
    ("scores", "best"), [((nan, 0.2, 0.9, 0.9), 2), ((0.1, nan, nan, nan), 0), ((nan, nan, nan, nan), 0)]
)
def test_unscored_candidates_are_chosen_last(dice, scores, best):
    said = []

    def speak(name, request):
        said.append(dice.roll(name, request)._replace(finish="stop"))
        return said[-1]

    plan = best_step(judge=Says(scores), max_turns=1)(dice.attempt(4, env=rewound(dice)))
    (one,) = run_plan(plan, sample=speak)
    assert len(said) == 4 and [str(score) for score in one.notes["chosen"]["0"]] == [str(score) for score in scores]
    turn = one.turns[0]
    assert one.sequences[0].ids[turn.start : turn.stop].tolist() == list(said[best].ids)


def test_arguments_out_of_range_are_errors():
    with pytest.raises(InputError, match="samples=0"):
        best_step(judge=Longest(), samples=0)
