import numpy as np
import pytest

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import Scores
from handaxe.rewards.parts.checks import checked, is_number, outcome_only
from handaxe.testing.records import make_group, make_scores, make_trajectory


def said(*texts):
    return make_group(trajectories=[make_trajectory(texts=[text]) for text in texts])


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


def test_what_can_be_reckoned_with():
    assert all(map(is_number, (0, -1.5, 10**299)))
    assert not any(map(is_number, (True, None, "1", [1], float("nan"), float("inf"), 10**400, -(10**400))))
