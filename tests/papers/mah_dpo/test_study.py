import pytest

from handaxe.papers.mah_dpo import mah_dpo
from handaxe.papers.mah_dpo.weight_sweep import SHARES


@pytest.mark.slow
def test_both_heads_train_and_every_weight_is_played():
    found = mah_dpo(seeds=1, tasks=6, samples=4, held_out=4, epochs=2)(5)
    assert {f"correct/{share:g}" for share in SHARES} | {"correct/single", "correct/start"} <= found.keys()
    assert found["margin/correct"] > 0 and found["margin/brief"] > 0
