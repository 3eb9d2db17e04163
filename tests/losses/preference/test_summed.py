import pytest
from helpers.pair_batches import pair, pairs_with_strengths

from handaxe.core.errors import InputError
from handaxe.losses.preference.bradley_terry import bradley_terry
from handaxe.losses.preference.neutral import neutral
from handaxe.losses.preference.summed import summed
from handaxe.testing.losses import differentiate

EXAMPLE = {"losses": {"pairs": (1.0, bradley_terry()), "ties": (0.5, neutral())}}
TOGETHER, BATCH = "pairs", pairs_with_strengths


def test_values_add_up_with_weights_and_metrics_keep_their_loss():
    for strength in (0.0, 1.0):
        out, batch = pair(1.0, 0.5, strength)
        parts = [differentiate(one, out, batch) for one in (bradley_terry(), neutral())]
        found = differentiate(summed(**EXAMPLE), out, batch)
        assert found.value == pytest.approx(parts[0].value + 0.5 * parts[1].value)
        assert found.metrics["pairs/loss"] == parts[0].value and found.metrics["ties/loss"] == parts[1].value
        assert found.metrics["loss"] == found.value


def test_no_losses_are_refused():
    with pytest.raises(InputError, match="at least one loss"):
        summed(losses={})
