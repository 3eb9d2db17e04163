import math

import pytest
from helpers.pair_batches import pair, pairs_with_strengths, rollout_means, strengths

from handaxe.core.errors import InputError
from handaxe.losses.preference.bradley_terry import bradley_terry
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate

TOGETHER, BATCH = "pairs", pairs_with_strengths


@pytest.mark.parametrize(
    "options, strength, value",
    [
        ({}, 1.0, 0.4740770),
        ({"scaled": True}, 2.0, 0.9481539),
        ({"scaled": True}, 3.0, 1.4222309),
        ({"margin": "strength"}, 1.0, 0.9740770),
        ({"margin": "strength"}, 2.0, 1.7014133),
        ({"margin": 1.0}, 5.0, 0.9740770),
        ({"centre": 0.01}, 1.0, 0.4740770 + 0.01 * 2.25),
        ({}, 0.0, 0.0),
    ],
)
def test_the_numbers_of_helpsteer2(options, strength, value):
    """D = 0.5: regular .4741, scaled .9482 and 1.4222, margin .9741 and 1.7014; a tie adds nothing."""
    out, batch = pair(1.0, 0.5, strength)
    found = differentiate(bradley_terry(**options), out, batch)
    assert found.value == pytest.approx(value, abs=1e-6)
    assert found.metrics["ties"] == float(strength == 0)
    assert found.metrics["accuracy"] == float(strength > 0)


def test_the_gradient_is_the_probability_of_the_wrong_order():
    out, batch = pair(1.0, 0.5)
    gradient = differentiate(bradley_terry(), out, batch).gradients["head/reward"][batch.mask_BT].flatten()
    wrong = 1 / (1 + math.exp(0.5))
    assert gradient.tolist() == pytest.approx([-wrong, wrong])


def test_centred_scores():
    """r = (0.8, -0.2), centre 0.01: the term is 0.0036."""
    out, batch = pair(0.8, -0.2)
    plain, centred = (differentiate(bradley_terry(centre=one), out, batch).value for one in (0.0, 0.01))
    assert centred - plain == pytest.approx(0.0036)


@pytest.mark.parametrize("options", [{}, {"scaled": True}, {"margin": "strength"}, {"margin": 0.3, "centre": 0.1}])
@pytest.mark.parametrize("seed", range(2))
def test_it_equals_a_slow_loop(options, seed):
    batch = pairs_with_strengths(seed)
    out = random_policy(batch, seed)
    score, strength = rollout_means(out, batch), strengths(batch)
    value = 0.0
    for one, s in strength.items():
        chosen, rejected = float(score[2 * one]), float(score[2 * one + 1])
        if s > 0:
            margin = s if options.get("margin") == "strength" else options.get("margin", 0.0)
            weight = s if options.get("scaled") else 1.0
            value += (
                weight * math.log1p(math.exp(margin - (chosen - rejected)))
                + options.get("centre", 0.0) * (chosen + rejected) ** 2
            )
    found = differentiate(bradley_terry(**options), out, batch)
    assert found.value == pytest.approx(value / len(strength), abs=1e-9)
    assert found.metrics["ties"] == pytest.approx(sum(s == 0 for s in strength.values()) / len(strength))


def test_several_outputs_are_averaged():
    batch = small_batch([[1.0], [1.0]])
    out = small_policy(batch, -1.0, heads={"reward": [[[1.0], [0.5]], [[0.0], [0.0]]]})
    assert differentiate(bradley_terry(), out, batch).value == pytest.approx((0.4740770 + math.log(2)) / 2, abs=1e-6)


@pytest.mark.parametrize("options", [{"margin": -1.0}, {"margin": "strong"}, {"centre": -0.1}])
def test_bad_options_are_one_sentence(options):
    with pytest.raises(InputError):
        bradley_terry(**options)


def test_a_missing_head_and_a_lone_side_are_named():
    out, batch = pair(1.0, 0.5)
    with pytest.raises(InputError, match="reads the head 'score', and the engine has reward"):
        bradley_terry(head="score")(out, batch)
    whole = random_batch(0, siblings=(2, 2), untrained=0.0)
    index = (whole.rollout_B != 1).nonzero()[:, 0]
    alone = whole.rows(index)
    with pytest.raises(InputError, match=r"pairs \[0\] have one side only"):
        bradley_terry()(random_policy(alone, 0), alone)
