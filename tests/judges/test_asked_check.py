"""Criteria that a model checks: open ones alone, met ones stay, and no verdict is no score."""

import numpy as np
import pytest
from helpers.answerers import Says, failing

from handaxe.asking.desk import AskDesk
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import Criterion
from handaxe.judges.asked_check import asked_check
from handaxe.papers.cm2.checklist import checklist
from handaxe.testing.make_records import make_group, make_trajectory

GOALS = [Criterion("key", "It holds the key."), Criterion("door", "The door is open.")]


def rollout(*texts, id="0"):
    return make_trajectory(texts=list(texts), id=id)


class ByTurn(Says):
    """P(yes) by (text of the turn, criterion)."""

    def _of(self, ask):
        self.chances = {"": self.table.get((ask.fields["did"], ask.fields["criterion"]), 0.1)}
        return super()._of(ask)


def by_turn(table):
    made = ByTurn({})
    made.table = table
    return made


def test_the_docstring_example():
    one = rollout("a", "b", "c")
    answerer = by_turn({(one.turns[k].parsed.raw, GOALS[0].text): p for k, p in enumerate((0.2, 0.7, 0.1))})
    assert asked_check(desk=AskDesk(answerer))(one, GOALS[:1]).tolist() == [[False, True, True]]
    assert [ask.about[1] for ask in answerer.asked] == [0, 1]


def test_it_equals_a_loop_that_asks_everything():
    """The accumulated verdicts of all questions, one at a time, for random answers."""
    rng = np.random.default_rng(0)
    for trial in range(20):
        one = rollout(*[f"{trial} {k}" for k in range(4)])
        table = {(turn.parsed.raw, goal.text): rng.random() for turn in one.turns for goal in GOALS}
        slow = [[False] * 4 for _ in GOALS]
        for c, goal in enumerate(GOALS):
            for n, turn in enumerate(one.turns):
                slow[c][n] = (n > 0 and slow[c][n - 1]) or table[turn.parsed.raw, goal.text] > 0.5
        found = asked_check(desk=AskDesk(by_turn(table)))(one, GOALS)
        assert found.dtype == bool and found.tolist() == slow


def test_a_reward_reads_it():
    one = rollout("went", "found")
    answerer = by_turn({(one.turns[1].parsed.raw, GOALS[0].text): 0.9})
    paid = checklist(criteria=lambda task: GOALS, check=asked_check(desk=AskDesk(answerer)))(
        make_group(trajectories=[one])
    )
    assert paid.turns[0].tolist() == [0, 0.5]


@pytest.mark.parametrize("reason", ["too_long", "unavailable", "refused", "budget"])
def test_no_verdict_names_the_rollout(reason):
    check = asked_check(desk=AskDesk(failing("bad", reason)))
    assert not check(rollout("good"), GOALS).any()
    with pytest.raises(VerifierError, match=f"no verdict on criterion 'key' after turn 2: {reason} 'why'") as caught:
        check(rollout("good", "bad", id="lost"), GOALS)
    assert caught.value.trajectory == "lost"


def test_no_turn_and_no_criterion_ask_nothing():
    answerer = Says({})
    check = asked_check(desk=AskDesk(answerer))
    assert check(rollout("a"), []).shape == (0, 1) and answerer.asked == []


def test_a_threshold_out_of_range_is_refused():
    with pytest.raises(InputError, match="threshold is 1.0"):
        asked_check(desk=AskDesk(Says({})), threshold=1.0)
