"""Selectors that add attempts of earlier steps, in the loop: what trains on them, what is told of them, resuming."""

from pathlib import Path

import pytest
import torch

from handaxe.papers.recompose.recompose import recompose
from handaxe.papers.spear.self_imitation import REPLAYED, self_imitation
from handaxe.selection.success_replay import success_replay
from handaxe.testing.crash import kill_until_done, start_child
from handaxe.training.loop.train import train
from handaxe.training.record.groups import group_fate
from handaxe.training.record.run_record import RunRecord


def selector(world):
    """Successes come and go with the step; half of the groups fail."""
    helped = success_replay(credit=world.centred, above=0.3, std_below=9.0, mean_below=0.42)
    return self_imitation(capacity=3, tolerate=2, worth=lambda trajectory: True, select=helped)


def split(world):
    """Half of a step's twelve attempts wait, and six of the step before train beside the others."""
    del world
    return recompose(share=0.5, capacity=6, above=0.35)


class Sees:
    """A loss that keeps the batches it was given."""

    def __init__(self, loss):
        self.loss, self.batches = loss, []

    def __call__(self, policy, batch):
        self.batches.append((batch, policy.logp_BT.detach()))
        return self.loss(policy, batch)


def run(world, **changes):
    loss, select = Sees(world.reinforce), changes.pop("select", selector(world))
    arguments = {"loss": loss, "credit": world.centred, "minibatches": 1, "steps": 6, "select": select} | changes
    return train(**world.arguments(**arguments)), loss.batches


@pytest.mark.parametrize("annotate", [(), ("old_logp", "ref_logp", "entropy")])
def test_their_ratio_is_to_the_policy_that_drew_them(world, annotate):
    result, batches = run(world, annotate=annotate, engine=world.make_engine(reference=True))
    assert sum(row.get("added", 0) for row in result.metrics) > 10
    replayed, apart = 0, 0.0
    for batch, logp_BT in batches:
        mask = batch.mask_BT
        assert (batch.old_logp_BT[mask] < -1e-4).all()  # no silent 0
        torch.testing.assert_close(batch.old_logp_BT[mask], batch.behaviour_logp_BT[mask], rtol=1e-3, atol=1e-3)
        assert set(annotate) <= set(batch.extras)
        if "ref_logp" in annotate:
            assert (batch.extras["ref_logp"][mask] < -1e-4).all() and (batch.extras["entropy"][mask] > 1).all()
        if REPLAYED in batch.extras:
            replayed += 1
            apart = max(apart, float((logp_BT - batch.old_logp_BT)[mask].abs().max()))
    assert replayed >= 2 and apart > 1e-3  # the policy has moved since


def test_the_replay_has_an_optimiser_step_of_its_own_and_its_age_is_told(world):
    result, _ = run(world)
    twice = [row for row in result.metrics if row["optimiser_steps"] == 2]
    assert twice and all(row["added"] >= 2 and 0 < row["added/share"] < 1 for row in twice)
    assert max(row["staleness/max"] for row in result.metrics) in (1.0, 2.0, 3.0, 4.0, 5.0)
    assert result.metrics[0]["staleness/max"] == 0.0
    assert all("added" in row for row in result.metrics if row["staleness/max"] > 0)


def test_a_recomposed_step_has_two_parts_and_every_attempt_trains_once_or_waits(world, tmp_path):
    select, steps = split(world), 6
    result, batches = run(world, select=select, steps=steps, out=tmp_path, micro_batch_rows=99)
    twice = [row["optimiser_steps"] == 2 for row in result.metrics]
    assert not twice[0] and all(twice[1:])
    apart, rows = [], iter(batches)
    for both in twice:
        parts = [next(rows) for _ in range(1 + both)]
        apart.append([float((now_BT - one.old_logp_BT)[one.mask_BT].abs().max()) for one, now_BT in parts])
    assert max(first for first, *_ in apart) < 1e-5, "what was just played is at ratio 1"
    assert min(later for _, later in apart[1:]) > 1e-3, "what waited was drawn by another policy"
    with RunRecord.open(tmp_path) as record:
        at_once = sum(int(one.trained.sum()) for one in record.groups())
    added = sum(int(row.get("added", 0)) for row in result.metrics)
    assert at_once + added + len(select.stored) == steps * 12 and len(select.stored) == 6


def test_what_was_replaced_is_recorded_and_does_not_train(world, tmp_path):
    select = success_replay(credit=world.centred, above=0.3, std_below=9.0, mean_below=0.42)
    result, _ = run(world, select=select, out=tmp_path)
    with RunRecord.open(tmp_path) as record:
        groups = record.groups()
    helped = [one for one in groups if not one.trained[0] and one.trained[1:].all()]
    assert len(helped) == sum(row.get("added", 0) for row in result.metrics) > 2
    assert all(len(one.played.group) == 4 and group_fate(one) == "trained" for one in groups)


def test_a_step_that_is_filled_up_keeps_what_was_added(world):
    counts = []

    def loss(policy, batch):
        counts.append((REPLAYED in batch.extras, len(set(batch.group_B.tolist()))))
        return world.reinforce(policy, batch)

    def often(rated):
        return [one for one in rated if one.scores.outcome[0] > 0.35]

    select = self_imitation(capacity=2, worth=lambda trajectory: True, select=often)
    result, _ = run(world, select=select, loss=loss, rounds=3, micro_batch_rows=99)
    assert max(row["groups"] for row in result.metrics) > 3  # more than one round was played
    fresh, again = [n for added, n in counts if not added], [n for added, n in counts if added]
    assert max(fresh) == 3 and again and set(again) == {2}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["selector", pytest.param("split", marks=pytest.mark.slow)])
def test_killed_and_resumed_is_uninterrupted(world, tmp_path, name):
    steps, engine = 6, world.make_engine()
    result, _ = run(world, engine=engine, steps=steps, select=globals()[name](world))
    assert sum(row.get("added", 0) for row in result.metrics) > 10
    start_child(Path(__file__), "resume", (str(tmp_path / "warm"), 0, name)).join()
    kills = kill_until_done(Path(__file__), "resume", (str(tmp_path / "run"), steps, name, 0.05), after=[0.3, 0.5, 0.8])
    assert kills >= 1
    assert world.same(torch.load(tmp_path / "run" / "final.pt"), world.weights(engine))


def resume(folder, steps, name, pause=0.0):
    """What a child process runs: go on with the run in `folder`, and leave the final weights there."""
    import time

    from helpers import training_world as world

    torch.set_num_threads(1)

    def slow(group):
        time.sleep(pause)
        return world.small_bytes(group)

    engine, select = world.make_engine(), globals()[name](world)
    whole = {"engine": engine, "steps": steps, "select": select, "reward": slow}
    run(world, **whole, out=Path(folder), resume=True, checkpoint_every=2)
    torch.save(world.weights(engine), Path(folder) / "final.pt")
