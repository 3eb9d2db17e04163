from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.losses.terms.value import value
from handaxe.testing.batches import small_batch, small_policy
from handaxe.testing.losses import differentiate


def example(now, old, target):
    batch = small_batch([[1.0, None]], extras={"value": [[old, 7.0]], "returns": [[target, 7.0]]})
    return small_policy(batch, -1.0, value=[[now, 7.0]]), batch


# V, Vold, R, eps, loss, gradient, clipped
EXAMPLES = [
    (1.0, 0.0, 0.2, 0.5, 0.32, 0.8, 0.0),
    (1.0, 0.0, 2.0, 0.5, 1.125, 0.0, 1.0),
    (1.0, 0.0, 2.0, None, 0.5, -1.0, 0.0),
    (0.3, 0.0, 2.0, 0.5, 1.445, -1.7, 0.0),
    (-1.0, 0.0, -2.0, 0.5, 1.125, 0.0, 1.0),
]


@pytest.mark.parametrize(("now", "old", "target", "eps", "loss", "gradient", "clipped"), EXAMPLES)
def test_value_matches_the_docstring_example(now, old, target, eps, loss, gradient, clipped):
    out, batch = example(now, old, target)
    found = differentiate(value(eps=eps), out, batch)
    assert found.value == pytest.approx(loss)
    assert found.gradients["value"].tolist() == [[0.0, pytest.approx(gradient), 0.0]]
    assert found.metrics == {
        "value_loss": pytest.approx(loss),
        "value_mean": pytest.approx(now),
        "value_clip_fraction": clipped,
    }
    assert differentiate(value(eps=eps, coefficient=0.5), out, batch).value == pytest.approx(0.5 * loss)


def test_missing_values_and_returns_are_named():
    out, batch = example(1.0, 0.0, 0.2)
    with pytest.raises(InputError, match="critic"):
        value()(replace(out, value_BT=None), batch)
    with pytest.raises(InputError, match="'returns'"):
        value()(out, replace(batch, extras={}))
    only = replace(batch, extras={"returns": batch.extras["returns"]})
    with pytest.raises(InputError, match="'value'"):
        value()(out, only)
    assert differentiate(value(eps=None), out, only).value == pytest.approx(0.32)
