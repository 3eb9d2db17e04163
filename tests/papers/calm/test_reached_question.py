"""Questions about the turn that reaches a sub-goal: their text, and a check by the answers."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.answerers import Says, failing

from handaxe.asking.desk import AskDesk
from handaxe.core.errors import VerifierError
from handaxe.core.records import Criterion
from handaxe.papers.calm.reached_question import (
    ALONE,
    reached_chances,
    reached_check,
    reached_labels,
    reached_question,
)
from handaxe.papers.calm.subgoals import subgoals
from handaxe.testing.make_records import make_group, make_task, make_trajectory

GOALS = [Criterion("key", "It holds the key."), Criterion("door", "The door is open.")]


def walk():
    one = make_trajectory(
        texts=["", "done"], calls=[["pickup"], []], replies=[["a key"], []], task=make_task(question="open")
    )
    acts = [replace(turn, parsed=replace(turn.parsed, raw=raw)) for turn, raw in zip(one.turns, ["pickup", "done"])]
    return replace(one, turns=tuple(acts))


def text(ask):
    (message,) = ask.prompt.render(ask.fields)
    return message.content.splitlines()


def test_the_question_asks_about_the_step():
    one = walk()
    own = [
        'task: "open"',
        'did: "pickup"',
        'then: "a key"',
        "This step has brought it about: It holds the key. yes or no?",
    ]
    assert text(reached_question(one, 0, GOALS[0])) == ['before: ""', *own]
    assert text(reached_question(one, 0, GOALS[0], prompt=ALONE)) == own
    later = reached_question(one, 1, GOALS[0])
    assert text(later)[0] == 'before: "a key"' and later.about == (one.id, 1, "key")


class ByTurn(Says):
    """P(yes) by (turn, criterion)."""

    def _of(self, ask):
        self.chances = {"": self.table.get(ask.about[1:], 0.1)}
        return super()._of(ask)


def desk_of(table):
    answerer = ByTurn({})
    answerer.table = table
    return AskDesk(answerer)


def test_every_turn_has_its_own_verdict():
    one = make_trajectory(texts=["a", "b", "c", "d"])
    check = reached_check(desk=desk_of({(0, "door"): 0.9, (1, "key"): 0.9, (3, "door"): 0.6, (2, "door"): 0.5}))
    assert check(one, GOALS).tolist() == [[False, True, False, False], [True, False, False, True]]
    assert check(one, []).shape == (0, 4)
    reward = subgoals(criteria=lambda task: GOALS, check=check, bonus=1.0, per_transition=True)
    assert reward(make_group(trajectories=[one])).turns[0].tolist() == [0, 1, 0, 1]


def test_chances_by_hand():
    one = make_trajectory(texts=["a", "b"])
    asks = [reached_question(one, n, GOALS[0]) for n in range(2)]
    np.testing.assert_allclose(reached_chances(desk_of({(1, "key"): 0.75}), asks), [0.1, 0.75])


def test_no_verdict_names_rollout_and_criterion():
    one = make_trajectory(texts=["a", "xb"])
    with pytest.raises(VerifierError, match="no verdict on criterion 'key' in turn 2: unavailable") as caught:
        reached_check(desk=AskDesk(failing("xb", "unavailable")))(one, GOALS)
    assert caught.value.trajectory == one.id


def test_every_turn_and_criterion_is_labelled_by_the_rule():
    """The key is met after both turns, the door after the last one: each is reached once."""
    one = walk()
    label = reached_labels(criteria=lambda task: GOALS, check=lambda seen, goals: np.array([[1, 1], [0, 1]], bool))
    assert [(ask.about[1:], said) for ask, said in label(one)] == [
        ((0, "key"), "yes"),
        ((0, "door"), "no"),
        ((1, "key"), "no"),
        ((1, "door"), "yes"),
    ]
