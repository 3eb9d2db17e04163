import math

import pytest

from handaxe.losses.ratios.token import token
from handaxe.testing.batches import small_batch, small_policy


def test_token_matches_the_docstring_example():
    batch = small_batch([[1.0, None, 1.0]], old=[[-1.0, None, -0.3]])
    out = small_policy(batch, [[-0.5, None, -0.7]])
    ratio_BT = token()(out, batch)
    assert ratio_BT.tolist() == [[0.0, 0.5, 0.0, pytest.approx(-0.4)]]
    assert ratio_BT[0, 1].exp().item() == pytest.approx(1.6487213)
    (3 * ratio_BT[0, 1] + ratio_BT[0, 3]).backward()
    assert out.logp_BT.grad.tolist() == [[0.0, 3.0, 0.0, 1.0]]


def test_clamp_bounds_both_sides():
    batch = small_batch([[1.0, 1.0]], old=[[-1.0, -300.0]])
    out = small_policy(batch, [[-300.0, -1.0]])
    assert token()(out, batch).tolist() == [[0.0, -20.0, 20.0]]
    assert token(clamp=2.0)(out, batch).tolist() == [[0.0, -2.0, 2.0]]
    assert math.isfinite(token()(out, batch).exp().sum().item())
