import math

import numpy as np
import pytest

from handaxe.core.errors import InputError, VerifierError
from handaxe.judges.step_status import step_status
from handaxe.rewards.judged import judged
from handaxe.testing.make_records import make_group, make_trajectory

CONTRACT = [{"judge": step_status()}, {"judge": step_status(), "squash": "sigmoid"}]
LAB = "passes the score of a judge on; see the judges"


class Says:
    def __init__(self, *scores):
        self.scores = scores

    def score(self, group):
        return np.array(self.scores)


def group(count):
    return make_group(trajectories=[make_trajectory(sample=i) for i in range(count)])


def test_the_docstring_example():
    found = judged(judge=Says(1.5, -0.5), squash="sigmoid")(group(2))
    assert found.outcome.tolist() == pytest.approx([0.8175745, 0.3775407])
    assert judged(judge=Says(1.5, -0.5))(group(2)).outcome.tolist() == [1.5, -0.5]


def test_the_judge_is_asked_once_for_all_siblings():
    asked = []

    class Counts(Says):
        def score(self, group):
            asked.append(len(group))
            return super().score(group)

    judged(judge=Counts(1.0, 2.0, 3.0))(group(3))
    assert asked == [3]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_score_that_is_no_number_is_unscored_and_named(bad):
    with pytest.raises(VerifierError, match="was given the score") as found:
        judged(judge=Says(1.0, bad))(group(2))
    assert found.value.trajectory == group(2)[1].id


def test_bad_judges_and_words_are_one_sentence():
    with pytest.raises(InputError, match="scores of shape"):
        judged(judge=Says(1.0))(group(2))
    with pytest.raises(InputError, match="squash is 'none' or 'sigmoid', not 'tanh'"):
        judged(judge=Says(1.0), squash="tanh")
