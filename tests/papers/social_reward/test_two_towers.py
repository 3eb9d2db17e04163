import numpy as np
import pytest

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.papers.social_reward.two_towers import TwoTowers, triplet_loss


def test_the_loss_by_hand():
    """Squared distances 0.5 and 0.6 with margin 0.3 -> 0.2; beyond the margin 0."""
    text = torch.zeros((2, 1), dtype=torch.float64)
    better = torch.tensor([[0.5], [0.0]], dtype=torch.float64) ** 0.5
    worse = torch.tensor([[0.6], [1.0]], dtype=torch.float64) ** 0.5
    assert float(triplet_loss(text[:1], better[:1], worse[:1])) == pytest.approx(0.2, abs=1e-9)
    assert float(triplet_loss(text, better, worse)) == pytest.approx(0.1, abs=1e-9)


def test_the_loss_equals_a_slow_loop():
    rng = np.random.default_rng(0)
    sides = [rng.normal(size=(7, 3)) for _ in range(3)]
    value = 0.0
    for text, better, worse in zip(*sides, strict=True):
        near, far = (sum((text[d] - one[d]) ** 2 for d in range(3)) for one in (better, worse))
        value += max(0.0, near - far + 0.5) / 7
    found = triplet_loss(*(torch.from_numpy(one) for one in sides), margin=0.5)
    assert float(found) == pytest.approx(value, abs=1e-9)


def test_only_a_score_with_the_prompt_depends_on_the_prompt():
    text_NR, picture_NF = np.eye(2), np.ones((2, 3))
    for prompt in (True, False):
        first, second = TwoTowers(3, 2, prompt=prompt).scores(text_NR, picture_NF)
        assert abs(first) <= 1 and (first != second) == prompt


def test_the_towers_learn_a_preference_that_the_prompt_decides():
    rng = np.random.default_rng(0)
    asked_N = rng.integers(2, size=80)
    text_NR = np.eye(2)[asked_N]
    better_NF, worse_NF = np.eye(2)[asked_N], np.eye(2)[1 - asked_N]
    for prompt, least, most in ((True, 0.99, 1.0), (False, 0.0, 0.8)):
        model = TwoTowers(2, 2, prompt=prompt)
        model.fit(text_NR, better_NF, worse_NF, steps=100)
        right = (model.scores(text_NR, better_NF) > model.scores(text_NR, worse_NF)).mean()
        assert least <= right <= most


def test_a_margin_of_zero_is_an_error():
    with pytest.raises(InputError, match="margin is 0"):
        triplet_loss(*[torch.zeros((1, 1))] * 3, margin=0)
