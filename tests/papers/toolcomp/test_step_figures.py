from types import SimpleNamespace

import numpy as np
import pytest

from handaxe.core.records import Group, Message, ToolCall
from handaxe.evaluation.scenes import play, script
from handaxe.papers.toolcomp.step_figures import corrected_step, first_error_figures, rank_one, step_choices
from handaxe.testing.make_records import make_rated
from handaxe.worlds.fact_chains import fact_chains, step_verdicts
from handaxe.worlds.parts.reference_calls import reference_calls

WORLD = fact_chains()
TASK = next(task for task in WORLD.tasks("test", 40, 0) if task.metadata["facts"] == 2)
WRONG = Message("assistant", "", (ToolCall("lookup", {"fact": "100 none"}),))


def rollout(*messages):
    return play(WORLD, WORLD.tools, TASK, script(*messages), id=str(len(messages)))


GOLD = [Message("assistant", "", (one,)) for one in reference_calls(TASK)]
RIGHT = rollout(*GOLD, TASK.answer)
BAD = rollout(GOLD[0], WRONG, "1")


def rated(*rollouts, outcome):
    return make_rated(group=Group(TASK, tuple(rollouts)), outcome=outcome)


class Steps:
    """A judge with given probabilities by rollout and turn."""

    def __init__(self, table):
        self._table = table

    def score_steps(self, group):
        return tuple(np.array(self._table[one.id][: len(one.turns)]) for one in group)


def test_rank_one_shares_the_first_place():
    groups = [rated(RIGHT, BAD, RIGHT, outcome=[1.0, 0.0, 1.0])]
    assert rank_one([np.array([0.9, 0.9, 0.1])], groups).tolist() == [0.5]
    assert rank_one([np.array([0.1, 0.9, 0.1])], groups).tolist() == [0.0]


def test_first_error_figures_by_hand():
    groups = [rated(RIGHT, BAD, outcome=[1.0, 0.0])]
    clean = [0.9] * len(RIGHT.turns)
    assert step_verdicts(BAD).tolist()[:2] == [1.0, -1.0]
    found = first_error_figures(Steps({RIGHT.id: clean, BAD.id: [0.9, 0.2, 0.1]}), groups)
    assert found == {"error": 1.0, "clean": 1.0, "f1": 1.0}
    found = first_error_figures(Steps({RIGHT.id: clean, BAD.id: [0.2, 0.2, 0.1]}), groups)
    assert found == {"error": 0.0, "clean": 1.0, "f1": 0.0}


def test_f1_without_rollouts_of_one_kind_is_undefined():
    found = first_error_figures(Steps({RIGHT.id: [0.9] * 9}), [rated(RIGHT, outcome=[1.0])])
    assert found["clean"] == 1.0 and np.isnan(found["error"]) and np.isnan(found["f1"])


def test_a_corrected_step_follows_the_correct_steps():
    one = corrected_step(WORLD, BAD, 1)
    assert step_verdicts(one).tolist() == [1.0, 1.0] and one.calls[0].arguments == BAD.calls[0].arguments


@pytest.mark.parametrize("good, bad, expected", [(0.7, 0.2, 1.0), (0.2, 0.7, 0.0), (0.5, 0.5, 0.5)])
def test_choices_compare_the_step_with_the_corrected_one(good, bad, expected):
    judge = Steps({BAD.id: [0.9, bad], f"{BAD.id}/corrected": [0.9, good]})
    assert step_choices(judge, WORLD, [rated(RIGHT, BAD, outcome=[1.0, 0.0])]).tolist() == [expected]


def test_a_choice_does_not_see_later_turns():
    seen = []
    judge = SimpleNamespace(
        score_steps=lambda group: seen.extend(group) or tuple(np.zeros(len(one.turns)) for one in group)
    )
    step_choices(judge, WORLD, [rated(BAD, outcome=[0.0])])
    assert [len(one.turns) for one in seen] == [2, 2]
