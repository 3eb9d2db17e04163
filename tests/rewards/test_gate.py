import numpy as np
import pytest

from handaxe import rewards
from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.testing.make_records import make_group, make_scores, make_trajectory

CONTRACT = []
LAB = "passes other rewards on; see the methods"


def fixed(outcome, *, turns=None, channels=None, eligible=None):
    return lambda group: make_scores(outcome, turns=turns, channels=channels, eligible=eligible)


ANSWER, FORMAT = fixed([1, 0]), fixed([1, 1])
PAIR = make_group(trajectories=[make_trajectory(texts=["a", "b"]), make_trajectory(texts=["c"])])


def test_gate_matches_the_docstring_example():
    three = make_group(size=3)
    gate = rewards.gate(on=fixed([1, 0, 1]), then=fixed([0.3, 0.9, 0.5]), otherwise=fixed([-1, -2, -3]))
    assert gate(three).outcome.tolist() == [0.3, -2, 0.5]
    assert rewards.gate(on=ANSWER, then=FORMAT)(PAIR).outcome.tolist() == [1, 0]
    assert gate(three).channels["otherwise"].tolist() == [-1, -2, -3]
    assert gate(three).eligible is None


def test_gate_opens_strictly_above_and_marks_eligible_siblings():
    scores = rewards.gate(on=fixed([0.5, 0.6]), then=FORMAT, above=0.5, mark_eligible=True)(PAIR)
    assert scores.outcome.tolist() == [0, 1]
    assert scores.eligible.tolist() == [False, True]


def test_gate_selects_turns_as_outcomes():
    turned = fixed([0, 0], turns=[[1, 2], [3]])
    assert [t.tolist() for t in rewards.gate(on=ANSWER, then=turned)(PAIR).turns] == [[1, 2], [0]]
    assert [t.tolist() for t in rewards.gate(on=ANSWER, then=FORMAT, otherwise=turned)(PAIR).turns] == [[0, 0], [3]]


class Asked:
    """Scores each rollout by the last digit of the id, and records the groups."""

    def __init__(self, turns=False):
        self.groups, self.turns = [], turns

    def __call__(self, group):
        self.groups.append([one.id[-1] for one in group])
        worth = np.array([float(one.id[-1]) + 1 for one in group])
        turns = tuple(np.full(len(one.turns), 7.0) for one in group) if self.turns else None
        return Scores(worth, turns=turns, channels={"twice": 2 * worth}, eligible=worth > 1)

    def state_dict(self):
        return {"groups": self.groups}

    def load_state_dict(self, state):
        self.groups = state["groups"]


def test_ask_passed_scores_passing_siblings_only():
    three = make_group(size=3)
    on, otherwise = fixed([1, 0, 1]), fixed([-1, -2, -3])
    spared, asked = Asked(turns=True), Asked(turns=True)
    some = rewards.gate(on=on, then=spared, otherwise=otherwise, ask="passed")(three)
    every = rewards.gate(on=on, then=asked, otherwise=otherwise)(three)
    assert spared.groups == [["0", "2"]] and asked.groups == [["0", "1", "2"]]
    assert some.outcome.tolist() == every.outcome.tolist() == [1, -2, 3]
    assert [t.tolist() for t in some.turns] == [t.tolist() for t in every.turns]
    assert some.channels["then"].tolist() == [1, 0, 3] and some.channels["then/twice"].tolist() == [2, 0, 6]
    assert list(some.channels) == list(every.channels)
    assert some.eligible.tolist() == [False, True, True]  # the second was not asked about


@pytest.mark.parametrize(("ask", "wanted"), [("all", [2, 1]), ("passed", [2, 0])])
def test_questions_of_scored_siblings_are_counted(ask, wanted):
    def gate(on, **knobs):
        return rewards.gate(on=on, then=lambda group: make_scores([1] * len(group)), ask=ask, **knobs)(PAIR)

    scores = gate(ANSWER, questions=lambda one: one.turns)
    assert scores.channels["asked"].tolist() == wanted and scores.outcome.tolist() == [1, 0]
    assert list(scores.channels) == ["asked", "on", "then"]
    none = gate(fixed([0, 0]), questions=lambda one: one.turns)
    assert none.channels["asked"].tolist() == ([2, 1] if ask == "all" else [0, 0])
    assert "asked" not in gate(ANSWER).channels


def test_then_is_not_called_without_a_passing_sibling():
    then = Asked()
    reward = rewards.gate(on=fixed([0, 0]), then=then, ask="passed")
    assert reward(PAIR).outcome.tolist() == [0, 0] and then.groups == []
    reward.load_state_dict({"then": {"groups": [["9"]]}})
    assert then.groups == [["9"]] and reward.state_dict() == {"then": {"groups": [["9"]]}}


def test_another_word_for_ask_is_an_error():
    with pytest.raises(InputError, match="not 'some'"):
        rewards.gate(on=ANSWER, then=FORMAT, ask="some")
