import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Pair
from handaxe.losses.dpo import dpo
from handaxe.testing.make_records import make_trajectory
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.training.sft.supervised import as_rated, supervised_batch
from handaxe.training.stages.context import make_site
from handaxe.training.stages.prefer import prefer


def pairs(world, count=5):
    def say(question, answer):
        return trajectory_from_messages(world.FORMAT, (Message("user", question), Message("assistant", answer)))

    return [Pair(say(f"{i}?", "yes" + "!" * i), say(f"{i}?", "no")) for i in range(count)]


def preferred(world, engine, given, **options):
    stage = prefer(source=lambda site: [], pairs=lambda groups: given, **options)
    return stage(make_site(engine=engine, format=world.FORMAT))


def logps(world, engine, given):
    batch = supervised_batch([as_rated([pair.chosen, pair.rejected]) for pair in given], engine)
    logp_B = torch.where(batch.mask_BT, engine.forward(batch)["logp"], 0.0).sum(1)
    return logp_B[0::2], logp_B[1::2]


def test_chosen_trajectories_become_more_likely_than_rejected_ones(world):
    engine = world.make_engine(reference=True)
    chosen, rejected = logps(world, engine, pairs(world))
    metrics = preferred(world, engine, pairs(world), loss=dpo(beta=0.5), epochs=8, batch_size=3, learning_rate=0.01)
    assert len(metrics) == engine.version == 16
    assert metrics[0]["loss"] == pytest.approx(0.693147, abs=1e-5)  # log 2: the policy is the reference still
    assert metrics[-1]["loss/accuracy"] == 1 and metrics[-1]["loss"] < 0.6
    after = logps(world, engine, pairs(world))
    assert torch.all((after[0] - after[1]) - (chosen - rejected) > 0.2)
    again = preferred(world, engine, pairs(world), loss=dpo(beta=0.5), batch_size=3)
    assert again[0]["loss"] == pytest.approx(0.693147, abs=1e-5)  # each time against the policy before it


def test_micro_batches_hold_whole_pairs_and_change_nothing(world):
    found = []
    for rows in (1, 2, 5, 64):
        engine = world.make_engine(double=True, reference=True)
        preferred(world, engine, pairs(world), loss=dpo(), epochs=2, batch_size=4, micro_batch_rows=rows)
        found.append(world.weights(engine))
    for other in found[1:]:
        for name, value in other.items():
            torch.testing.assert_close(value, found[0][name], rtol=0, atol=1e-6)


def test_rows_carry_rollout_indices_and_strengths(world):
    seen = []

    def loss(policy, batch):
        seen.append(batch)
        return world.reinforce(policy, batch)

    two_rows = make_trajectory(layouts=["UUt pp", "UUt p"])
    one_row = make_trajectory(layouts=["UUt p"])
    given = [Pair(one_row, two_rows, 2.5), Pair(two_rows, one_row, 0.0)]  # the second one is a tie
    preferred(world, world.make_engine(), given, loss=loss, reference=False)
    (batch,) = seen
    assert batch.rollout_B.tolist() == [0, 1, 1] and batch.denominators.rollouts == 2 and "ref_logp" not in batch.extras
    assert bool((batch.extras["strength"] == 2.5).all()) and batch.extras["strength"].shape == batch.ids_BT.shape


def test_prefer_refuses_empty_pairs(world):
    silent, speaks = make_trajectory(layouts=["UUt"]), make_trajectory(layouts=["UUt p"])
    for given in ([], [Pair(speaks, speaks, 0.0)]):
        with pytest.raises(InputError, match="no pair"):
            preferred(world, world.make_engine(reference=True), given, loss=dpo())
    with pytest.raises(InputError, match="no token of a policy"):
        preferred(world, world.make_engine(reference=True), [Pair(speaks, silent)], loss=dpo())
