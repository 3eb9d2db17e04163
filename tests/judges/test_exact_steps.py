import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.judges.exact_steps import exact_labels, exact_steps
from handaxe.testing.make_records import make_group, make_trajectory


def by_calls(trajectory):
    return np.array([1.0 if turn.parsed.calls else -1.0 for turn in trajectory.turns])


CONTRACT = [{"verdicts": by_calls}]
LAB = "rule of the world; see the methods"


def test_exact_steps_matches_the_docstring_example():
    group = make_group(trajectories=[make_trajectory(texts=["", "x", ""], calls=[["f"], [], ["f"]])])
    judge = exact_steps(verdicts=by_calls)
    assert judge.score_steps(group)[0].tolist() == [1, -1, 1] and judge.score(group).tolist() == [1]


def test_another_number_of_verdicts_is_an_error():
    group = make_group(trajectories=[make_trajectory(texts=["a", "b"])])
    with pytest.raises(InputError, match=r"shape \(1,\)"):
        exact_steps(verdicts=lambda one: np.ones(1)).score_steps(group)


def test_labels_leave_out_turns_without_a_verdict():
    one = make_trajectory(texts=["a", "b", "c"])
    assert exact_labels(lambda _: np.array([1.0, 0.0, -1.0]))([one]) == [(one, 0, True), (one, 2, False)]
