import math

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.papers.llds.keep_likelihood import keep_likelihood
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate

OLD = [[-1.0, -0.5, -0.2]]


@pytest.mark.parametrize(
    ("logp", "value", "slopes"),
    [([-1.3, -0.4, -0.2], 0.02, [-0.2 / 3, 0.0, 0.0]), ([-1.1, -0.3, -0.2], 0.0, [0.0, 0.0, 0.0])],
)
def test_keep_likelihood_equals_the_worked_example(logp, value, slopes):
    batch = small_batch([[0.5] * 3], old=OLD)
    found = differentiate(keep_likelihood(), small_policy(batch, [logp]), batch)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert found.metrics == pytest.approx({"likelihood_drop": value / 0.2, "likelihood_gate": float(value > 0)})
    assert found.gradients["logp"][batch.mask_BT].tolist() == pytest.approx(slopes)


def test_tokens_of_negative_advantage_add_nothing_and_count_in_the_mean():
    batch = small_batch([[0.0, -1.0, -1.0]], old=OLD)
    found = differentiate(keep_likelihood(coefficient=1.0), small_policy(batch, [[-1.3, -2.0, -2.0]]), batch)
    assert found.value == pytest.approx(0.1) and found.metrics["likelihood_gate"] == pytest.approx(1 / 3)


def two_turns():
    """d 0.3, then 0.1 and -0.6: the second turn has become likelier, the whole too."""
    batch = small_batch([[1.0, None, 1.0, 1.0]], old=-1.0, turn=[[0, None, 1, 1]])
    return small_policy(batch, [[-1.3, None, -1.1, -0.4]]), batch


@pytest.mark.parametrize(("gate", "drop"), [("turn", 0.1), ("rollout", 0.0)])
def test_the_gate_opens_by_turn_or_by_rollout(gate, drop):
    found = differentiate(keep_likelihood(gate=gate), *two_turns())
    assert found.metrics["likelihood_drop"] == pytest.approx(drop, abs=1e-12)


@pytest.mark.parametrize(("last", "value"), [(None, 0.08), (0.0, 0.04), (0.1, 0.06), (5.0, 0.08)])
def test_the_last_turn_may_have_a_smaller_coefficient(last, value):
    """Each of two turns, in a row of its own, has d 0.4; another rollout's only turn has none."""
    batch = small_batch([[1.0], [1.0], [1.0, 1.0]], old=-1.0, turn=[[0], [1], [0, 0]], rollout=[3, 3, 5])
    out = small_policy(batch, [[-1.8], [-1.8], [-1.0, -1.0]])
    found = differentiate(keep_likelihood(coefficient=0.2, last=last), out, batch)
    assert found.value == pytest.approx(value) and found.metrics["likelihood_drop"] == pytest.approx(0.4)


@pytest.mark.parametrize("gate", ["turn", "rollout"])
@pytest.mark.parametrize("seed", range(3))
def test_keep_likelihood_equals_a_slow_loop(seed, gate):
    batch = random_batch(seed, under_mask=math.nan, left_out=0.2)
    out = random_policy(batch, seed, under_mask=math.nan)
    units: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    last: dict[int, int] = {}
    for row, t in batch.mask_BT.nonzero().tolist():
        rollout, turn = int(batch.rollout_B[row]), int(batch.turn_BT[row, t])
        last[rollout] = max(turn, last.get(rollout, -1))
        units.setdefault((row, turn) if gate == "turn" else (rollout,), []).append((row, t))
    total, wanted_BT = 0.0, torch.zeros_like(out.logp_BT)
    for places in units.values():
        good = [at for at in places if batch.adv_BT[at] >= 0]
        apart = {at: (batch.old_logp_BT[at] - out.logp_BT[at]).item() for at in good}
        for at in good:
            if sum(apart.values()) > 0 and apart[at] > 0:
                ending = batch.turn_BT[at] == last[int(batch.rollout_B[at[0]])]
                share = (0.05 if ending else 0.2) / batch.denominators.tokens
                total, wanted_BT[at] = total + share * apart[at], -share
    found = differentiate(keep_likelihood(last=0.05, gate=gate), out, batch)
    assert found.value == pytest.approx(total) and total > 0
    torch.testing.assert_close(found.gradients["logp"], wanted_BT, atol=1e-12, rtol=0)


@pytest.mark.parametrize("arguments", [{"gate": "rollout"}, {"last": 0.0}])
def test_rows_of_a_rollout_in_two_micro_batches_are_refused(arguments):
    half = small_batch([[1.0], [1.0]], rollout=[0, 0]).rows(slice(0, 1))
    with pytest.raises(InputError, match="whole rollouts"):
        keep_likelihood(**arguments)(small_policy(half, -1.0), half)


@pytest.mark.parametrize("arguments", [{"coefficient": -0.1}, {"last": -0.1}, {"gate": "token"}])
def test_keep_likelihood_refuses_negative_coefficients_and_unknown_gates(arguments):
    with pytest.raises(InputError, match="keep_likelihood"):
        keep_likelihood(**arguments)
