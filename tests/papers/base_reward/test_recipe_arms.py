import numpy as np
import pytest

from handaxe.core.records import Message
from handaxe.judges import drawing_model
from handaxe.judges.drawing_pairs import drawing_pairs
from handaxe.judges.viewed import PreferredMessage
from handaxe.models.load import load
from handaxe.papers.base_reward.recipe_arms import ARMS, arm_scores, mixed_order
from handaxe.worlds.canvas.canvas import canvas

pytest.importorskip("PIL")
TASKS = canvas(changes=0.0, colours=2).tasks("train", 12, 0)
IMAGES, WORDS = drawing_pairs(TASKS[:4]), drawing_pairs(TASKS[4:8], shown="words")


def test_arms_differ_and_the_ensemble_is_the_mean_of_two_backbones(monkeypatch):
    monkeypatch.setattr(drawing_model, "PAIRS", 4)  # two steps: the first square is 0
    second = load("tiny_vision")
    with_noise = second.model.module.state_dict()
    name = next(iter(with_noise))
    with_noise[name] = with_noise[name] + 0.05
    second.model.module.load_state_dict(with_noise)
    before = second.model.module.state_dict()[name].clone()
    found = arm_scores(IMAGES, WORDS, {"image": drawing_pairs(TASKS[8:])}, second=second)
    assert tuple(found) == ARMS
    score_A = np.array([found[arm]["image"] for arm in ARMS])
    assert score_A.shape == (7, 4, 2)
    assert all(np.abs(score_A[0] - one).max() > 1e-6 for one in score_A[1:])
    np.testing.assert_allclose(score_A[6], (score_A[0] + score_A[5]) / 2, atol=1e-9)
    assert (second.model.module.state_dict()[name] == before).all()


def test_the_mixture_alternates_the_sources_and_depends_on_the_seed_alone():
    pairs = [PreferredMessage(Message("user", f"{k}"), Message("user", "x")) for k in range(40)]
    first = mixed_order(pairs, 0)
    assert first == mixed_order(pairs, 0) != mixed_order(pairs, 1)
    assert sorted(int(one.chosen.content) for one in first) == list(range(40))
    late = [int(one.chosen.content) >= 20 for one in first[:20]]
    assert 4 <= sum(late) <= 16
