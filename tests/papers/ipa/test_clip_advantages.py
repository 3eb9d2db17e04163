import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Advantages
from handaxe.credit.group_norm import group_norm
from handaxe.credit.return_to_go import return_to_go
from handaxe.credit.transformed import transformed
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.papers.ipa.clip_advantages import clip_advantages
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.testing.random_groups import random_group, random_scores

CONTRACT = [{}, {"limit": 5.0}]
OF_GROUPS = True
BIAS = [
    BiasCase(
        "return_to_go(gamma=0.9, baseline=0.5) within clip_advantages(0.2), as in ipa",
        lambda: transformed(return_to_go(gamma=0.9, baseline=0.5), clip_advantages(limit=0.2)),
    )
]


def test_clip_advantages_bounds_both_sides():
    one = make_trajectory(layouts=["Ut ppp"])
    group, mask = make_group(trajectories=[one]), one.sequences[0].mask
    values = np.zeros(len(mask))
    values[mask] = [0.9, 0.1, -0.5]
    given = Advantages(((values,),), returns=((values,),), trains=((mask,),))
    found = transformed(lambda group, scores: given, clip_advantages())(group, make_scores([0.0]))
    assert found.tokens[0][0][mask].tolist() == [0.2, 0.1, -0.2]
    assert found.returns is given.returns and found.trains is given.trains and values[mask][0] == 0.9


@pytest.mark.parametrize("seed", range(3))
def test_clip_advantages_equals_a_slow_loop(seed):
    group = random_group(seed, size=4)
    scores = random_scores(group, seed)
    plain, cut = return_to_go()(group, scores), transformed(return_to_go(), clip_advantages(limit=0.3))(group, scores)
    found = set()
    for before, after in zip(plain.tokens, cut.tokens, strict=True):
        for x, y in zip(np.concatenate(before), np.concatenate(after), strict=True):
            wanted = 0.3 if x > 0.3 else -0.3 if x < -0.3 else x
            assert y == wanted
            found.add(np.sign(y) if x != y else None)
    assert found == {1.0, -1.0, None}


def test_clip_advantages_keeps_zeros():
    group = make_group(trajectories=[make_trajectory(layouts=["Utp"])] * 2)
    found = transformed(group_norm(), clip_advantages())(group, make_scores([0.3, 0.3]))
    assert not any(array.any() for own in found.tokens for array in own)


@pytest.mark.parametrize("limit", [0.0, -1.0, float("inf"), float("nan")])
def test_clip_advantages_refuses_limits_that_are_not_positive(limit):
    with pytest.raises(InputError, match="limit"):
        clip_advantages(limit=limit)
