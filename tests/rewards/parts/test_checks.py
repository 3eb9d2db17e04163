import numpy as np
import pytest

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import Scores
from handaxe.rewards.parts.checks import is_number, outcome_only, validate_scores
from handaxe.testing.make_records import make_group, make_scores, make_trajectory


def with_texts(*texts):
    return make_group(trajectories=[make_trajectory(texts=[text]) for text in texts])


def test_validate_scores_names_component_and_trajectory():
    group = with_texts("a", "b")
    with pytest.raises(VerifierError, match=f"'mine'.*{group[1].id}"):
        validate_scores(make_scores([0.0, float("nan")]), group, "mine")
    with pytest.raises(VerifierError, match=group[0].id):
        validate_scores(make_scores([0.0, 0.0], turns=[[float("inf")], [0.0]]), group, "mine")
    with pytest.raises(InputError, match="'mine'.*2 siblings"):
        validate_scores(make_scores([0.0]), group, "mine")
    with pytest.raises(InputError, match="'mine'"):
        validate_scores(make_scores([0.0, 0.0], turns=[[1.0, 2.0], [0.0]]), group, "mine")


def test_outcome_only_refuses_per_turn_values():
    plain = Scores(np.zeros(1))
    assert outcome_only(plain, "mine") is plain
    with pytest.raises(InputError, match="rewards.turns_to_outcome"):
        outcome_only(make_scores([0.0], turns=[[1.0]]), "mine")


def test_is_number_refuses_bools_and_huge_integers():
    assert all(map(is_number, (0, -1.5, 10**299)))
    assert not any(map(is_number, (True, None, "1", [1], float("nan"), float("inf"), 10**400, -(10**400))))
