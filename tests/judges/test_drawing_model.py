import numpy as np
import pytest

from handaxe.core.records import Group
from handaxe.judges import drawing_model as module
from handaxe.judges.drawing_model import DrawingModel, drawing_model, fit_drawing_model, message_scores, pair_accuracy
from handaxe.judges.drawing_pairs import drawing_pairs
from handaxe.models.load import load
from handaxe.testing.make_records import make_trajectory
from handaxe.worlds.canvas.canvas import canvas
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("PIL")
WORLD = canvas(changes=0.0)
CONTRACT = [{"world": WORLD, "labels": 8}]
LAB = "scores drawings of the world canvas alone"


def test_accuracy_of_pairs_by_hand():
    assert pair_accuracy(np.array([(1.0, 0.0), (0.0, 2.0), (1.0, 1.0)])) == pytest.approx(0.5, abs=1e-9)


def test_a_fit_leaves_the_backbone_and_scores_equal_messages_equally():
    policy, pairs = load("tiny_vision"), drawing_pairs(WORLD.tasks("train", 8, 0))
    before = {name: value.clone() for name, value in policy.model.module.state_dict().items()}
    judge = fit_drawing_model(pairs, policy=policy)
    assert all((before[name] == value).all() for name, value in policy.model.module.state_dict().items())
    first = message_scores(judge.judge, pairs, policy.format)
    assert first.shape == (8, 2) and np.abs(first).max() > 0
    np.testing.assert_allclose(first[2:4], message_scores(judge.judge, pairs[2:4], policy.format), atol=1e-4)
    assert message_scores(judge.judge, [], policy.format).shape == (0, 2)


def test_the_judge_is_fitted_once_and_scores_the_last_image(monkeypatch):
    fits = []
    fit = fit_drawing_model
    monkeypatch.setattr(module, "fit_drawing_model", lambda pairs, epochs: fits.append(len(pairs)) or fit(pairs))
    judge, task = drawing_model(world=WORLD, labels=8), WORLD.tasks("test", 1, 0)[0]
    one = demonstrate(WORLD.env(()), task, WORLD.expert, format=load("tiny_vision").format)
    assert judge.score(Group(task, (one, one))).shape == (2,)
    assert judge.fitted() is judge.fitted() and fits == [8]


class Known:
    def score(self, group):
        return np.array([0.5, -2.0, 3.0])[: len(group)]


def test_a_rollout_without_an_image_is_below_its_siblings():
    task = WORLD.tasks("test", 1, 0)[0]
    one = demonstrate(WORLD.env(()), task, WORLD.expert, format=load("tiny_vision").format)
    blank = make_trajectory(id="blank", task=task)
    judge = DrawingModel(Known)
    assert judge.score(Group(task, (one, one, blank))).tolist() == [0.5, -2.0, -3.0]
    assert judge.score(Group(task, (one, blank))).tolist() == [0.5, -1.0]
    assert judge.score(Group(task, (blank,))).tolist() == [-1.0]
