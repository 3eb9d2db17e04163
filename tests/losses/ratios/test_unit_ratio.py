import math

import pytest

from handaxe.core.errors import InputError
from handaxe.losses.ratios.unit_ratio import unit_ratio
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy


@pytest.mark.parametrize(
    ("unit", "wanted"),
    [("token", [0.2, 0.4, -0.1, 0.3]), ("turn", [0.6, 0.6, 0.2, 0.2]), ("rollout", [0.8] * 4)],
)
def test_unit_ratio_matches_the_docstring_example(unit, wanted):
    batch = small_batch([[1.0, 1.0, None, 1.0, 1.0]], turn=[[0, 0, None, 1, 1]])
    out = small_policy(batch, [[-0.8, -0.6, None, -1.1, -0.7]])
    assert unit_ratio(unit=unit)(out, batch)[batch.mask_BT].tolist() == pytest.approx(wanted)


@pytest.mark.parametrize(("unit", "wanted"), [("turn", [0.3, 0.3, 0.1, 0.1]), ("rollout", [0.2] * 4)])
def test_means_match_the_docstring_example(unit, wanted):
    batch = small_batch([[1.0, 1.0, None, 1.0, 1.0]], turn=[[0, 0, None, 1, 1]])
    out = small_policy(batch, [[-0.8, -0.6, None, -1.1, -0.7]])
    assert unit_ratio(unit=unit, mean=True)(out, batch)[batch.mask_BT].tolist() == pytest.approx(wanted)


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("unit", ["token", "turn", "rollout"])
def test_unit_ratio_equals_a_slow_loop(unit, mean):
    batch = random_batch(0, under_mask=math.nan, left_out=0.2)
    out = random_policy(batch, 0, under_mask=math.nan)
    apart, places = {}, batch.mask_BT.nonzero().tolist()

    def key(row, t):
        rollout, turn = int(batch.rollout_B[row]), int(batch.turn_BT[row, t])
        return {"token": (row, t), "turn": (row, turn, 0), "rollout": rollout}[unit]

    for row, t in places:
        moved = (out.logp_BT[row, t] - batch.old_logp_BT[row, t]).item()
        apart.setdefault(key(row, t), []).append(moved)
    found_BT = unit_ratio(unit=unit, mean=mean)(out, batch)
    wanted = {at: sum(own) / (len(own) if mean else 1) for at, own in apart.items()}
    assert [found_BT[row, t].item() for row, t in places] == pytest.approx([wanted[key(*at)] for at in places])


def test_another_unit_is_an_error():
    with pytest.raises(InputError, match="token, turn or rollout, not 'step'"):
        unit_ratio(unit="step")
