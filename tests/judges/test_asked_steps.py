"""A step judge by questions: scores by hand, the contract of judges, and no verdict is no score."""

import numpy as np
import pytest
from helpers.answerers import Says, failing

from handaxe.asking.desk import AskDesk
from handaxe.core.errors import InputError, VerifierError
from handaxe.judges.asked_steps import asked_steps
from handaxe.testing.make_records import make_group, make_trajectory

LAB = "asks a language model; `handaxe judge attack METHOD` attacks it"
CONTRACT = [{"desk": AskDesk(Says({"a": 0.9, "b": 0.3}))}, {"desk": AskDesk(Says({"a": 0.9})), "low": 0.0}]


def group():
    return make_group(trajectories=[make_trajectory(texts=["xa", "xb"], id="0"), make_trajectory(texts=["xa"], id="1")])


def test_scores_by_hand():
    answerer = Says({"xa": 0.75, "xb": 0.1})
    judge = asked_steps(desk=AskDesk(answerer))
    first, second = judge.score_steps(group())
    np.testing.assert_allclose(first, [0.5, -0.8])
    np.testing.assert_allclose(second, [0.5])
    np.testing.assert_allclose(judge.score(group()), [-0.3, 0.5])
    np.testing.assert_allclose(asked_steps(desk=AskDesk(answerer), low=0.0).score_steps(group())[0], [0.75, 0.1])


def test_all_questions_of_a_group_are_asked_at_once():
    class Once(Says):
        batches = 0

        def answer(self, asks):
            self.batches += 1
            return super().answer(asks)

    answerer = Once({})
    asked_steps(desk=AskDesk(answerer)).score_steps(group())
    assert answerer.batches == 1 and len(answerer.asked) == 2  # xa of both rollouts is one question


def test_no_verdict_names_the_rollout():
    judge = asked_steps(desk=AskDesk(failing("xb", "unavailable")))
    with pytest.raises(VerifierError, match="no verdict on turn 2: unavailable 'why'") as caught:
        judge.score_steps(made := group())
    assert caught.value.trajectory == made[0].id


def test_low_is_below_high():
    with pytest.raises(InputError, match=r"low is 1.0 and high 1.0"):
        asked_steps(desk=AskDesk(Says({})), low=1.0)
