import numpy as np
import pytest

from handaxe import rewards
from handaxe.errors import InputError, TaskError, VerifierError
from handaxe.records import Scores
from handaxe.rewards.lift import checked, outcome_only
from handaxe.testing.records import make_group, make_scores, make_trajectory


def said(*texts):
    return make_group(trajectories=[make_trajectory(texts=[text]) for text in texts])


def test_outcome_example():
    scores = rewards.outcome(lambda trajectory: len(trajectory.final_text))(said("ab", "", "abc"))
    assert scores.outcome.tolist() == [2, 0, 3] and scores.outcome.dtype == np.float64
    assert scores.turns is None


def test_module_example():
    @rewards.outcome
    def says_four(trajectory):
        return trajectory.final_text == "4"

    assert says_four(said("4", "5", "4")).outcome.tolist() == [1, 0, 1]


def test_per_turn_example():
    trajectory = make_trajectory(texts=["a", "bb"])
    silent = make_trajectory(layouts=["UUt"])
    scores = rewards.per_turn(lambda t: [len(turn.parsed.text) for turn in t.turns])(
        make_group(trajectories=[trajectory, silent])
    )
    assert [turn.tolist() for turn in scores.turns] == [[1, 2], []]
    assert scores.outcome.tolist() == [0, 0]


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), "1", [1.0], 1j, np.array([1.0])])
def test_outcome_names_the_trajectory_whose_reward_is_no_number(value):
    group = said("a", "b")
    reward = rewards.outcome(lambda trajectory: value if trajectory.sample == 1 else 0.0)
    with pytest.raises(VerifierError, match=group[1].id) as caught:
        reward(group)
    assert caught.value.trajectory == group[1].id


@pytest.mark.parametrize("value", [None, 1.0, [1.0], [1.0, float("nan")], [1.0, None], [1.0, 2.0, 3.0]])
def test_per_turn_names_the_trajectory_whose_values_do_not_fit(value):
    group = make_group(trajectories=[make_trajectory(texts=["a", "b"])])
    with pytest.raises(VerifierError, match=group[0].id):
        rewards.per_turn(lambda trajectory: value)(group)


def test_an_exception_becomes_a_verifier_error_that_names_the_trajectory():
    group = said("a", "b")

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
        rewards.outcome(fails)(said("a"))


def test_checked_names_component_and_trajectory():
    group = said("a", "b")
    with pytest.raises(VerifierError, match=f"'mine'.*{group[1].id}"):
        checked(make_scores([0.0, float("nan")]), group, "mine")
    with pytest.raises(VerifierError, match=group[0].id):
        checked(make_scores([0.0, 0.0], turns=[[float("inf")], [0.0]]), group, "mine")
    with pytest.raises(InputError, match="'mine'.*2 siblings"):
        checked(make_scores([0.0]), group, "mine")
    with pytest.raises(InputError, match="'mine'"):
        checked(make_scores([0.0, 0.0], turns=[[1.0, 2.0], [0.0]]), group, "mine")


def test_outcome_only():
    plain = Scores(np.zeros(1))
    assert outcome_only(plain, "mine") is plain
    with pytest.raises(InputError, match="rewards.total"):
        outcome_only(make_scores([0.0], turns=[[1.0]]), "mine")
