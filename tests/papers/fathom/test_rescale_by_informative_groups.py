import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.credit.group_norm import group_norm
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.papers.fathom.rescale_by_informative_groups import rescale_by_informative_groups
from handaxe.testing.make_records import make_group, make_rated, make_scores

BIAS = [
    BiasCase(
        "rescale_by_informative_groups() of group_norm(std=None)",
        lambda: group_norm(std=None),
        rescale_by_informative_groups,
        groups=2,
    )
]


def batch(*outcomes, advantage=0.75):
    return [make_rated(outcome=own, advantage=[advantage] * len(own)) for own in outcomes]


def levels(rated):
    return [[float(row.max()) for (row,) in one.advantages.tokens] for one in rated]


def test_rescale_by_informative_groups_matches_its_example():
    got = levels(rescale_by_informative_groups()(batch(*[[1, 0]] * 6, [0, 0], [1, 1])))
    np.testing.assert_allclose(got, [[1.0, 1.0]] * 8)


@pytest.mark.parametrize("seed", range(5))
def test_rescale_by_informative_groups_matches_a_slow_loop(seed):
    rng = np.random.default_rng(seed)
    outcomes = [rng.integers(0, 2, rng.integers(1, 4)).astype(float).tolist() for _ in range(6)]
    useful = 0
    for own in outcomes:
        useful += any(a != b for a in own for b in own)
    for one, own in zip(levels(rescale_by_informative_groups()(batch(*outcomes))), outcomes, strict=True):
        assert one == pytest.approx([0.75 * 6 / useful if useful else 0.75] * len(own))


def test_batches_without_an_informative_group_and_unscored_siblings():
    assert levels(rescale_by_informative_groups()(batch([1, 1], [0.7]))) == [
        [0.75, 0.75],
        [0.75],
    ]  # no group has to be made up for
    near = batch([0.1, 0.3 - 0.2], [0.0, 1.0])
    assert levels(rescale_by_informative_groups()(near))[1] == [1.5, 1.5]
    unscored = [make_rated(scores=make_scores([1.0, np.nan]), group=make_group(size=2), advantage=[0.75, 0.0])]
    assert levels(rescale_by_informative_groups()([*unscored, *batch([0.0, 1.0])]))[1] == [
        1.5,
        1.5,
    ]  # one counted sibling is alone


def test_a_channel_decides_which_groups_are_informative():
    scores = make_scores([0.2, 0.2], channels={"correct": [1.0, 0.0]})
    one = make_rated(group=make_group(size=2), scores=scores, advantage=[1.0, -1.0])
    other = make_rated(
        group=make_group(size=2), scores=make_scores([0.1, 0.3], channels={"correct": [1, 1]}), advantage=[1.0, 1.0]
    )
    assert levels(rescale_by_informative_groups(channel="correct")([one, other]))[0][0] == 2.0
    with pytest.raises(InputError, match="style"):
        rescale_by_informative_groups(channel="style")([one])
