import math

import pytest
import torch

from handaxe import engines
from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.models.load import load
from handaxe.papers.helpsteer2_preference.annotations import QUALITY, preferences
from handaxe.papers.helpsteer2_preference.staged_reward_model import extrapolated, staged_reward_model, weights_only
from handaxe.testing.make_records import make_group

LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"
CONTRACT = []


def state(*values, moment=9.0):
    tensors = {"weights.a": torch.tensor(values), "optimizer.a": torch.tensor([moment])}
    return {"version": 3, "frozen": "", "tensors": tensors}


def test_extrapolation_by_hand():
    found = extrapolated(state(1.0, 0.0), state(2.0, -1.0), 1.5)
    assert list(found["tensors"]) == ["weights.a"]
    assert found["tensors"]["weights.a"].tolist() == [2.5, -1.5]


@pytest.mark.parametrize("factor, wanted", [(0.0, [1.0, 4.0]), (1.0, [3.0, -2.0])])
def test_factors_zero_and_one_give_the_ends(factor, wanted):
    assert extrapolated(state(1.0, 4.0), state(3.0, -2.0), factor)["tensors"]["weights.a"].tolist() == wanted


def test_counters_are_not_extrapolated():
    first, second = ({"tensors": {"weights.n": torch.tensor(n)}} for n in (1, 5))
    assert extrapolated(first, second, 2.0)["tensors"]["weights.n"].item() == 5
    assert weights_only(state(1.0))["tensors"].keys() == {"weights.a"}


def test_losses_by_hand():
    """D = 0.5: plain .4741, scaled with m = 2 .9482, margin with m = 2 1.7014."""
    plain = math.log1p(math.exp(-0.5))
    assert (plain, 2 * plain, math.log1p(math.exp(1.5))) == pytest.approx((0.4741, 0.9482, 1.7014), abs=1e-4)


@pytest.fixture(scope="module")
def engine():
    return engines.LocalEngine(load("tiny").model)


def labelled():
    group = make_group(layouts=["Utpp", "Utppp", "Utp"])
    values = torch.tensor([4.0, 0.0, 3.0]).double().numpy()
    return [(group, Scores(values, channels={QUALITY: values}))]


def fitted(engine, **options):
    model = staged_reward_model(pairs=preferences(noise=0.0), epochs=1, **options)
    model.begin(engine)
    return model, model.fit(labelled())


def test_both_stages_learn_and_the_weights_lie_beyond_the_second(engine):
    model, metrics = fitted(engine, factor=1.0)
    assert metrics["rating/labels"] == 3 and metrics["labels"] == metrics["comparing/labels"] == 3
    first, second = (weights_only(one.state_dict()["engine"])["tensors"] for one in (model.rating, model.comparing))
    assert any(not torch.equal(own, first[name]) for name, own in second.items())
    model.extrapolate(2.0)
    for name, own in weights_only(model.state_dict()["engine"])["tensors"].items():
        assert torch.allclose(own, 2 * second[name] - first[name], atol=1e-6)
    with pytest.raises(InputError, match="after a fit to ratings"):
        fitted(engine, preference="none")[0].extrapolate(2.0)


@pytest.mark.parametrize("options, label", [({"preference": "none"}, 3), ({"ratings": False}, 3)])
def test_one_stage_alone(engine, options, label):
    model, metrics = fitted(engine, **options)
    assert metrics["labels"] == label and (model.rating is None) != (model.comparing is None)
    again = staged_reward_model(pairs=preferences(noise=0.0), **options)
    again.begin(engine)
    again.load_state_dict(model.state_dict())
    (group, _), *_ = labelled()
    assert again.score(group).tolist() == model.score(group).tolist()


def test_wrong_words_raise():
    for options in ({"preference": "none", "ratings": False}, {"preference": "other"}):
        with pytest.raises(InputError, match="preference is"):
            staged_reward_model(pairs=preferences(noise=0.0), **options)
