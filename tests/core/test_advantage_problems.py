"""Rules for the form of advantages; a rule for each problem."""

import numpy as np
import pytest

from handaxe.core.advantage_problems import advantage_problems
from handaxe.core.records import Advantages
from handaxe.credit.group_norm import group_norm
from handaxe.testing.random_groups import random_group, random_scores

GROUP = random_group(0, size=3)


def tokens(change=lambda array, mask: array):
    return tuple(tuple(change(np.zeros(len(s)), s.mask) for s in one.sequences) for one in GROUP)


def test_advantages_of_a_credit_have_no_problem():
    assert not list(advantage_problems(group_norm()(GROUP, random_scores(GROUP, 0)), GROUP))
    assert not list(advantage_problems(Advantages(tokens(), tokens()), GROUP))


@pytest.mark.parametrize(
    "advantages, problem",
    [
        (None, "the result is a NoneType, not Advantages"),
        (Advantages(tokens()[:2]), "tokens has 2 entries for 3 siblings"),
        (Advantages(tokens(lambda array, mask: array[1:])), "has shapes"),
        (Advantages(tokens(lambda array, mask: array.astype(np.float32))), "is float32, not float64"),
        (Advantages(tokens(lambda array, mask: array + np.nan)), "is not finite"),
        (Advantages(tokens(lambda array, mask: array + ~mask)), "is not 0 off the mask"),
        (Advantages(tokens(), tokens(lambda array, mask: array + np.nan)), "returns of"),
        (Advantages(tokens(), None, tokens()), "not [T] bool"),
        (Advantages(tokens(), None, tokens()[:1]), "trains has 1 entries for 3 siblings"),
        (Advantages(tokens(), channels={"a": tokens()[:1]}), "channel a has 1 entries for 3 siblings"),
    ],
)
def test_each_broken_rule_is_a_problem(advantages, problem):
    assert problem in next(advantage_problems(advantages, GROUP))
