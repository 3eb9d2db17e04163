import numpy as np
import pytest

from handaxe import rewards
from handaxe.core.errors import TaskError, VerifierError
from handaxe.testing.make_records import make_group, make_trajectory

CONTRACT = []
LAB = "lifts a user's function"


def with_texts(*texts):
    return make_group(trajectories=[make_trajectory(texts=[text]) for text in texts])


def test_outcome_matches_the_docstring_example():
    scores = rewards.outcome(lambda trajectory: len(trajectory.final_text))(with_texts("ab", "", "abc"))
    assert scores.outcome.tolist() == [2, 0, 3] and scores.outcome.dtype == np.float64
    assert scores.turns is None


def test_outcome_matches_the_module_example():
    @rewards.outcome
    def says_four(trajectory):
        return trajectory.final_text == "4"

    assert says_four(with_texts("4", "5", "4")).outcome.tolist() == [1, 0, 1]


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), "1", [1.0], 1j, np.array([1.0])])
def test_a_score_that_is_no_number_names_the_trajectory(value):
    group = with_texts("a", "b")
    reward = rewards.outcome(lambda trajectory: value if trajectory.sample == 1 else 0.0)
    with pytest.raises(VerifierError, match=group[1].id) as caught:
        reward(group)
    assert caught.value.trajectory == group[1].id


def test_an_exception_becomes_a_verifier_error_that_names_the_trajectory():
    group = with_texts("a", "b")

    def fails(trajectory):
        return 1.0 / (1 - trajectory.sample)

    with pytest.raises(VerifierError, match="ZeroDivisionError") as caught:
        rewards.outcome(fails)(group)
    assert caught.value.trajectory == group[1].id
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_task_error_passes_through():
    def fails(trajectory):
        raise TaskError("no answer")

    with pytest.raises(TaskError):
        rewards.outcome(fails)(with_texts("a"))
