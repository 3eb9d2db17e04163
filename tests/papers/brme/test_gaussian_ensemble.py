import numpy as np
import pytest

from handaxe import engines
from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.models.load import load
from handaxe.papers.brme.gaussian_ensemble import gaussian_ensemble
from handaxe.papers.brme.robust_score import robust_score
from handaxe.testing.make_records import make_group, make_rated

LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"
CONTRACT = []


@pytest.fixture(scope="module")
def fitted():
    model = gaussian_ensemble(heads=3, epochs=2, nominal_weight=0.25)
    model.begin(engines.LocalEngine(load("tiny").model))
    group = make_group(layouts=["Utpp", "Utppp", "Utp"])
    return model, group, model.fit([(group, Scores(np.array([1.0, 0.0, 1.0])))])


def test_both_stages_learn(fitted):
    model, group, metrics = fitted
    assert metrics["pairs/labels"] == 2 and metrics["labels"] == 3
    assert model.last.outputs(group).shape == (3, 6)


def test_the_score_is_the_mixture(fitted):
    model, group, _ = fitted
    wanted = robust_score(model.last.outputs(group), nominal_weight=0.25).mixed_G
    assert model.score(group) == pytest.approx(wanted, abs=1e-9)


def test_the_targets_are_standardised_scores_of_the_first_model(fitted):
    model, group, _ = fitted
    seen = []

    class Seeing:
        def fit(self, targets):
            seen.extend(targets)
            return {"labels": 3.0}

    first = model.first.score(group)
    model.first.fit, kept = (lambda labelled: {"labels": 2.0}), model.last
    try:
        model.last = Seeing()
        model.fit([(group, Scores(np.array([1.0, 0.0, 1.0])))])
    finally:
        model.last = kept
        del model.first.fit
    assert seen[0][1].outcome == pytest.approx((first - first.mean()) / first.std(), abs=1e-6)


def test_metrics_measure_disagreement_and_nothing_is_learned(fitted):
    model, group, _ = fitted
    before = model.score(group)
    metrics = model.learn([make_rated(group=group)], step=0)
    robust = model.robust(group)
    assert metrics["disagreement"] == pytest.approx((robust.nominal_G - robust.worst_G).mean(), abs=1e-9)
    assert metrics["spread_nominal"] > 0 and model.score(group).tolist() == before.tolist()


def test_a_copy_restored_from_the_state_scores_equally(fitted):
    model, group, _ = fitted
    again = gaussian_ensemble(heads=3, nominal_weight=0.25, seed=5)
    again.begin(engines.LocalEngine(load("tiny").model))
    again.load_state_dict(model.state_dict())
    assert again.score(group).tolist() == model.score(group).tolist()


def test_one_head_raises():
    with pytest.raises(InputError, match="2 heads or more"):
        gaussian_ensemble(heads=1)
