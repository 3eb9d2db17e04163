import torch

from handaxe.core.batch import combine_metrics
from handaxe.testing.batches import random_batch


def test_combine_metrics_sums_and_takes_maxima():
    parts = [{"loss": 0.25, "ratio_max": 1.5}, {"loss": 0.5, "ratio_max": 1.2, "kl": 0.1}]
    assert combine_metrics(parts) == {"loss": 0.75, "ratio_max": 1.5, "kl": 0.1}
    assert combine_metrics([]) == {}


def test_rows_cuts_to_the_longest_row_and_keeps_denominators():
    batch = random_batch(3)
    lengths = batch.attend_BT.sum(1)
    shortest = int(lengths.argmin())
    one = batch.rows(torch.tensor([shortest]))
    assert one.ids_BT.shape == (1, int(lengths[shortest])) and one.denominators == batch.denominators
    assert torch.equal(one.ids_BT[0], batch.ids_BT[shortest, : int(lengths[shortest])])
    for name, tensor in one.extras.items():
        assert tensor.shape[0] == 1, name


def test_map_changes_every_tensor():
    batch = random_batch(3)
    doubled = batch.map(lambda tensor: torch.cat([tensor, tensor]))
    assert len(doubled) == 2 * len(batch) and set(doubled.extras) == set(batch.extras)
    assert all(t.shape[0] == len(doubled) for t in doubled.extras.values())
