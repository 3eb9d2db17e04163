"""Pairs by questions in both orders: the mean by hand, consistency, places, and no choice is no comparison."""

import math

import numpy as np
import pytest
from helpers.answerers import Says, failing
from hypothesis import given
from hypothesis import strategies as st

from handaxe.asking.ask import AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.protocols import PairJudge
from handaxe.judges.asked_pairs import asked_pairs, mean_preference, pair_question
from handaxe.testing.make_records import make_task, make_trajectory


class Chooses(Says):
    """Probabilities of the first text by both texts."""

    def _of(self, ask):
        p = self.chances[ask.fields["first"], ask.fields["second"]]
        first, second = ask.prompt.labels
        return AskAnswer(label_logp={first: math.log(p), second: math.log(1 - p)})


def rollout(text, task="task-0"):
    return make_trajectory(texts=[text], id=text, task=make_task(id=task, question="2+2=?"))


A = rollout("a")
B = rollout("b")
C = rollout("c")
CHANCES = {("a", "b"): 0.9, ("b", "a"): 0.6, ("a", "c"): 0.8, ("c", "a"): 0.1}


def test_the_mean_of_both_orders_by_hand():
    """(0.9 + 1 - 0.6) / 2 = 0.65, and (0.8 + 1 - 0.1) / 2 = 0.85; the winner of the first pair depends on the order."""
    answerer = Chooses(CHANCES)
    judge = asked_pairs(desk=AskDesk(answerer))
    assert isinstance(judge, PairJudge)
    np.testing.assert_allclose(judge.compare([(A, B), (A, C), (C, A)]), [0.65, 0.85, 0.15], atol=1e-9)
    assert judge.consistent([(A, B), (A, C)]).tolist() == [False, True]
    assert len(answerer.asked) == 4  # each question once
    np.testing.assert_allclose(judge.both_orders([(B, A)]), [[0.6, 0.9]], atol=1e-9)


def test_a_preference_for_a_place_is_no_preference():
    judge = asked_pairs(desk=AskDesk(Chooses(dict.fromkeys(CHANCES, 0.99))))
    assert judge.compare([(A, B), (A, C)]) == pytest.approx([0.5, 0.5])
    assert not judge.consistent([(A, B)])[0]
    assert judge.compare([]).shape == (0,) and judge.consistent([]).shape == (0,)


def test_the_question_has_the_task_and_both_texts():
    ask = pair_question(AskDesk(Chooses({})), "which", A, B)
    assert ask.prompt.name == "which.terse@1" and ask.about == ("a", -1, "b")
    assert ask.fields == {"task": "2+2=?", "first": "a", "second": "b"}


def test_what_cannot_be_asked_is_one_sentence():
    desk = AskDesk(Chooses(CHANCES))
    with pytest.raises(InputError, match="of different tasks"):
        asked_pairs(desk=desk).compare([(A, rollout("b", task="other"))])
    with pytest.raises(InputError, match="has other fields than task, first, second: .*criterion"):
        asked_pairs(desk=desk, prompt="check").compare([(A, B)])


def test_no_choice_names_both_rollouts():
    with pytest.raises(VerifierError, match="did not choose between 'a' and 'b': unavailable 'why'"):
        asked_pairs(desk=AskDesk(failing("b", "unavailable"), min_coverage=0)).compare([(A, B)])


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=5))
def test_the_mean_equals_a_slow_loop_and_turns_with_the_pair(rows):
    found = mean_preference(np.array(rows, np.float64).reshape(-1, 2))
    assert found.tolist() == pytest.approx([(p + (1 - q)) / 2 for p, q in rows], abs=1e-9)
    turned = mean_preference(np.array([row[::-1] for row in rows], np.float64).reshape(-1, 2))
    assert (found + turned).tolist() == pytest.approx([1.0] * len(rows))
