import pytest

from handaxe.core.errors import InputError
from handaxe.papers.hdpo.economy import economy
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.per_turn import per_turn
from handaxe.testing.records import make_group, make_task, make_trajectory

CONTRACT = [{"base": exact_match()}, {"base": exact_match(), "correct_above": 0.5}]
TASK = make_task(answer="4")


def attempt(calls, answer):
    texts = [""] * len(calls) + [answer]
    replies = [["1"] * len(own) for own in calls] + [[]]
    return make_trajectory(texts=texts, calls=[*calls, []], replies=replies, task=TASK)


def test_example_with_calls_in_one_turn_or_several():
    members = [attempt([], "4"), attempt([["f"]], "4"), attempt([["f", "f"], ["f"]], "4"), attempt([], "5")]
    scores = economy(base=exact_match())(make_group(task=TASK, trajectories=members))
    assert scores.outcome.tolist() == [1, 0.5, 0.25, 0]
    assert scores.channels["on"].tolist() == [1, 1, 1, 0]
    assert scores.eligible.tolist() == [True, True, True, False]


def test_where_right_begins_and_what_is_refused():
    group = make_group(task=TASK, trajectories=[attempt([], "4")])
    assert economy(base=exact_match(), correct_above=1.0)(group).outcome.tolist() == [0]
    with pytest.raises(InputError, match="per-turn"):
        economy(base=per_turn(lambda one: [1.0] * len(one.turns)))(group)
