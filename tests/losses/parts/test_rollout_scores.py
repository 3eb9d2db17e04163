import pytest
import torch
from helpers.pair_batches import pairs_with_strengths, rollout_means, strengths

from handaxe.core.errors import InputError
from handaxe.losses.parts.rollout_scores import head_scores, pair_metrics, pair_scores, rollout_mean
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy


def test_the_docstring_example():
    batch = small_batch([[1.0]] * 4)
    out = small_policy(batch, -1.0, heads={"reward": [[[1.0], [0.5], [2.0], [0.0]]]})
    found = pair_scores(out, batch, "reward")
    assert found.chosen_PK.flatten().tolist() == [1.0, 2.0] and found.rejected_PK.flatten().tolist() == [0.5, 0.0]
    assert found.margin_PK.flatten().tolist() == [0.5, 2.0]
    assert found.strength_P.tolist() == [1.0, 1.0] and found.pairs == 2


@pytest.mark.parametrize("seed", range(3))
def test_means_equal_a_loop_over_ragged_rollouts_of_several_rows(seed):
    batch = random_batch(seed)
    out = random_policy(batch, seed)
    want = rollout_means(out, batch, "gaussian")
    mean_RK, rollout_R = rollout_mean(out.heads["gaussian"], batch)
    assert rollout_R.tolist() == sorted(want)
    torch.testing.assert_close(mean_RK.detach(), torch.stack([want[int(r)] for r in rollout_R]), rtol=0, atol=1e-9)
    flat, _ = rollout_mean(out.heads["reward"][..., 0], batch)
    assert flat.shape == (len(want), 1)


def test_strengths_and_metrics_of_pairs():
    batch = pairs_with_strengths(1)
    found = pair_scores(random_policy(batch, 1), batch, "reward")
    want = strengths(batch)
    assert found.strength_P.tolist() == [want[one] for one in sorted(want)]
    strict_P1 = (found.strength_P > 0).double()[:, None]
    metrics = pair_metrics(found.margin_PK.detach(), strict_P1, found.pairs)
    assert float(metrics["ties"]) == pytest.approx(sum(one == 0 for one in want.values()) / len(want))


def test_a_missing_head_and_a_cut_rollout_are_one_sentence():
    batch = random_batch(0, rows=(2, 2), untrained=0.0)
    out = random_policy(batch, 0)
    with pytest.raises(InputError, match="reads the head 'other', and the engine has reward, gaussian"):
        head_scores(out, "other")
    part = batch.rows(torch.tensor([0]))
    with pytest.raises(InputError, match="rows in another micro-batch"):
        rollout_mean(random_policy(part, 0).heads["reward"], part)
