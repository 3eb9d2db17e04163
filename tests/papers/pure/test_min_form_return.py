import math

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.ops.ragged import gather, token_turn_indices
from handaxe.papers.pure.min_form_return import min_form_return
from handaxe.testing.credit import check_credit
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.testing.random_groups import random_group, random_scores

CONTRACT = [{}, {"form": "sum", "unit": "turn"}, {"lone": "reward", "temperature": 2.0}, {"stats_over": "eligible"}]
BIAS = [
    BiasCase("min_form_return()", min_form_return, by_turn=True),
    BiasCase('min_form_return(form="sum")', lambda: min_form_return(form="sum"), by_turn=True),
]


def values(credit, members, scores):
    """The advantage of each turn, which all of its tokens have."""
    out = []
    for one, own in zip(members, credit(members, scores).tokens, strict=True):
        flat, turn = gather(one, own), token_turn_indices(one)
        each = [set(flat[turn == k].tolist()) for k in range(len(one.turns))]
        assert all(len(found) == 1 for found in each)
        out.append([found.pop() for found in each])
    return out


def group(*turns):
    return make_group(layouts=["Ut" + "t".join("p" * n for n in own) for own in turns])


def alone(turns, **more):
    scores = make_scores([0], turns=[turns])
    (found,) = values(min_form_return(lone="reward", **more), group([2] * len(turns)), scores)
    return found


def test_min_form_return_equals_the_worked_examples():
    assert alone([0.8, 0.2, -0.6]) == pytest.approx([-0.5997, -0.5997, -0.5998], abs=5e-5)
    assert alone([0.8, 0.2, 0.5]) == pytest.approx([0.2156, 0.2138, 0.0237], abs=1.5e-4)
    assert alone([0.8, 0.2, 0.5], form="sum") == pytest.approx([1.5, 0.7, 0.5])


def test_low_temperature_gives_the_minimum_up_to_the_worst_turn_and_zero_after():
    assert alone([0.5, -0.25, 0.75, 0.5], temperature=1e-4) == [-0.25, -0.25, 0, 0]


def test_further_good_turns_raise_the_sum_and_not_the_minimum():
    few, many = [0.8], [0.8] * 5
    assert alone(many, form="sum")[0] > 4 * alone(few, form="sum")[0]
    assert alone(many)[0] == pytest.approx(alone(few)[0])


def test_the_kl_costs_each_token_its_future_kl():
    """0.1 times (0.5, -0.2), as in the example of `kl_return`, beside what the turn earns."""
    features = {"old_logp": [-0.5, -1.0], "ref_logp": [-1.0, -0.8]}
    one = make_group(trajectories=[make_trajectory(layouts=["Utpp"], features=features, off_mask=np.nan)])
    scores = make_scores([0], turns=[[1.0]])
    (own,) = min_form_return(lone="reward", kl_coefficient=0.1)(one, scores).tokens
    np.testing.assert_allclose(gather(one[0], own), [0.97, 1.02])
    (own,) = min_form_return(lone="zero", kl_coefficient=0.1)(one, scores).tokens
    np.testing.assert_allclose(gather(one[0], own), [-0.03, 0.02])  # the KL alone
    plain = make_group(layouts=["Utpp"])
    with pytest.raises(InputError, match="'old_logp'"):
        min_form_return(kl_coefficient=0.1)(plain, scores)
    unscored = make_scores([float("nan")], turns=[[1.0]])
    (own,) = min_form_return(kl_coefficient=0.1)(one, unscored).tokens
    assert not gather(one[0], own).any()


@pytest.mark.parametrize("form", ["min", "sum"])
@pytest.mark.parametrize("unit", ["token", "turn"])
def test_min_form_return_equals_a_slow_loop(form, unit):
    members = random_group(3, size=4)
    scores = random_scores(members, 3)
    star, size = [], []
    for one, own in zip(members, scores.turns, strict=True):
        down = [math.exp(-r / 0.5) for r in own]
        star.append([w / sum(down) * r if form == "min" else r for w, r in zip(down, own)])
        size.append([turn.stop - turn.start if unit == "token" else 1 for turn in one.turns])
    found = values(min_form_return(form=form, unit=unit, temperature=0.5), members, scores)
    for i in range(4):
        baseline = sum(sum(star[j]) / sum(size[j]) for j in range(4) if j != i) / 3
        for k in range(len(star[i])):
            wanted = sum(star[i][m] - baseline * size[i][m] for m in range(k, len(star[i])))
            assert found[i][k] == pytest.approx(wanted)


def test_the_baseline_is_the_mean_per_token_of_the_siblings():
    """Rewards 0.6 over 3 tokens, 0.2 a token, against 0.1 over 2: 0.1 - 2 * 0.2 and 0.6 - 3 * 0.05."""
    scores = make_scores([0, 0], turns=[[0.6], [0.1]])
    np.testing.assert_allclose(values(min_form_return(), group([3], [2]), scores), [[0.45], [-0.3]])
    np.testing.assert_allclose(values(min_form_return(unit="turn"), group([3], [2]), scores), [[0.5], [-0.5]])


def test_lone_unscored_and_empty_siblings_get_zero():
    credit = min_form_return()
    assert values(credit, group([2]), make_scores([0], turns=[[0.7]])) == [[0]]
    lost = make_scores([np.nan, 0, 0], turns=[[9.0], [1.0], [0.0]])
    assert values(credit, group([1], [1], [1]), lost) == [[0], [1], [-1]]
    silent = make_group(layouts=["Ut", "Utp", "Utp"])
    assert values(credit, silent, make_scores([0, 0, 0], turns=[[], [1.0], [0.0]])) == [[], [1], [-1]]
    assert alone([1e3, -1e3], temperature=1e-3) == [-1e3, -1e3]
    check_credit(credit, turns=False, seeds=2)


def test_min_form_return_reads_a_channel():
    scores = Scores(np.zeros(2), (np.ones(1), np.ones(1)), turn_channels={"steps": (np.ones(1), np.zeros(1))})
    assert values(min_form_return(channel="steps"), group([1], [1]), scores) == [[1], [-1]]


def test_min_form_return_refuses_bad_arguments():
    for wrong in ({"temperature": 0.0}, {"form": "max"}, {"unit": "step"}):
        with pytest.raises(InputError, match="temperature above 0"):
            min_form_return(**wrong)
