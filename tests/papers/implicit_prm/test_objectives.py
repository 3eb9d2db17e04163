import numpy as np
import pytest

from handaxe.core.records import Scores
from handaxe.engines.local.engine import LocalEngine
from handaxe.judges.implicit_prm import implicit_prm
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.implicit_prm.objectives import OBJECTIVES, prm_by_objective
from handaxe.testing.make_records import make_group, make_trajectory


def engine():
    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96), seed=0)
    model.module.double()
    return LocalEngine(model)


def group():
    layouts = [["UUt pp tTt p"], ["Utppp"], ["Utp"], ["UUUtpp t p"]]
    return make_group(trajectories=[make_trajectory(layouts=own, id=f"r{i}") for i, own in enumerate(layouts)])


def fitted(judge, steps=30):
    judge.begin(engine())
    for _ in range(steps):
        told = judge.fit([(group(), Scores(np.array([1.0, 0.0, 1.0, 0.0])))])
    return judge, told


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_raises_correct_rollouts_above_wrong_ones(objective):
    judge, told = fitted(prm_by_objective(objective, beta=0.5, learning_rate=0.01))
    score_G = judge.score(group())
    assert score_G[[0, 2]].min() > score_G[[1, 3]].max()
    assert told["labels"] == 4, "of rollouts or of pairs"


def test_objectives_fit_differently_and_cross_entropy_is_the_default():
    scores = {
        name: fitted(prm_by_objective(name, beta=0.5, learning_rate=0.01))[0].score(group()) for name in OBJECTIVES
    }
    for name in ("dpo", "nca", "kto"):
        assert abs(scores[name] - scores["ce"]).max() > 0.01
    plain = fitted(implicit_prm(beta=0.5, learning_rate=0.01))[0]
    assert np.array_equal(plain.score(group()), scores["ce"])
