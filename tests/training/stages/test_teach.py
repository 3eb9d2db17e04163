import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.records import Advantages, Message, ToolCall
from handaxe.testing.make_records import make_rated, make_trajectory
from handaxe.training.loop.train import train
from handaxe.training.record import RunRecord
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.training.sft.supervised import as_rated, supervised_batch
from handaxe.training.stages.context import make_site
from handaxe.training.stages.sources import scripted
from handaxe.training.stages.teach import teach


def demonstrations(world):
    call = ToolCall("add", {"numbers": "1"})
    words = [
        (Message("user", f"{i}?"), Message("assistant", "", (call,)), Message("tool", "1"), Message("assistant", "11"))
        for i in range(6)
    ]
    return [trajectory_from_messages(world.FORMAT, one, (world.SCHEMA,), id=str(i)) for i, one in enumerate(words)]


def taught(world, engine, trajectories, out=None, **options):
    stage = teach(source=scripted(trajectories=trajectories), **options)
    return stage(make_site(engine=engine, format=world.FORMAT, out=out))


def test_it_learns_the_demonstrations_and_counts_its_steps(world, tmp_path):
    engine = world.make_engine()
    options = {"epochs": 20, "batch_size": 4, "learning_rate": 0.02, "micro_batch_rows": 3}
    metrics = taught(world, engine, demonstrations(world), tmp_path, **options)
    assert len(metrics) == engine.version == 40
    assert [metrics[0][name] for name in ("lessons", "lessons/calling", "lessons/direct")] == [6, 1, 0]
    assert metrics[0]["loss"] == pytest.approx(np.log(264), rel=0.1) and metrics[-1]["loss"] < 1
    with RunRecord.open(tmp_path) as record:
        assert record.steps() == list(range(40)) and record.about()["arguments"]["epochs"] == 20
    unkept = world.make_engine()
    assert taught(world, unkept, demonstrations(world), **options) == metrics
    assert world.same(world.weights(engine), world.weights(unkept))


def test_micro_batches_change_nothing(world):
    found = []
    for rows in (1, 64):
        engine = world.make_engine(double=True)
        taught(world, engine, demonstrations(world), epochs=2, batch_size=4, micro_batch_rows=rows)
        found.append(world.weights(engine))
    for name, value in found[0].items():
        torch.testing.assert_close(value, found[1][name], rtol=0, atol=1e-6)


def test_what_was_recorded_in_reinforcement_learning_has_the_same_ids_and_mask_here(world, tmp_path):
    """What the loss of the RL run saw, row by row, against what is seen when the record is taught."""
    seen = []

    def loss(policy, batch):
        seen.append(batch)
        return world.reinforce(policy, batch)

    engine = world.Talking(world.calls_then_answers)
    arguments = world.arguments(engine=engine, loss=loss, steps=1, minibatches=1, micro_batch_rows=999, out=tmp_path)
    train(**arguments)
    with RunRecord.open(tmp_path) as record:
        trajectories = record.trajectories(step=0)
    (rl,), again = seen, supervised_batch([as_rated([one]) for one in trajectories], engine)

    def rows(batch):
        return sorted(
            (ids[attend].tolist(), mask[attend].tolist())
            for ids, mask, attend in zip(batch.ids_BT, batch.mask_BT, batch.attend_BT)
        )

    assert rows(rl) == rows(again) and int(again.mask_BT.sum()) == sum(one.num_tokens for one in trajectories)


def test_it_begins_anew_unless_told_otherwise(world):
    """The optimiser forgets, and the reference becomes the policy."""
    for restart in (True, False):
        engine = world.make_engine(reference=True)
        lessons = demonstrations(world)
        taught(world, engine, lessons, epochs=3, learning_rate=0.02)
        batch = supervised_batch([as_rated(lessons)], engine)
        before = engine.forward(batch)["logp"]
        taught(world, engine, lessons, epochs=1, learning_rate=0.0, restart=restart)
        assert torch.equal(engine.forward(batch, reference=True)["logp"], before) == restart
        steps = {int(state["step"]) for state in engine._optimizer.state.values()}
        assert steps == ({1} if restart else {4})


def test_only_the_tokens_and_trajectories_that_train_are_learnt(world):
    seen = []

    def loss(policy, batch):
        seen.append(batch)
        return world.reinforce(policy, batch)

    one = make_rated(outcome=[1, 0, 0], trained=[True, False, True])
    whole = [[np.ones(len(s), bool) & s.mask for s in t.sequences] for t in one.group]
    whole[0][0][int(np.flatnonzero(whole[0][0])[0])] = False
    trains = tuple(tuple(own) for own in whole)
    given = [make_rated(group=one.group, outcome=[1, 0, 0], trained=[True, False, True])]
    vars(given[0]).update(advantages=Advantages(one.advantages.tokens, trains=trains))
    teach(source=lambda site: given, loss=loss)(make_site(engine=world.make_engine(), format=world.FORMAT))
    tokens = one.group[0].num_tokens - 1 + one.group[2].num_tokens
    assert sum(int(batch.mask_BT.sum()) for batch in seen) == tokens == seen[0].denominators.tokens


def test_nothing_to_learn(world):
    with pytest.raises(InputError, match="nothing to fine-tune on"):
        taught(world, world.make_engine(), [make_trajectory(layouts=["UUt"])])
    with pytest.raises(InputError, match="batch_size 0"):
        taught(world, world.make_engine(), demonstrations(world), batch_size=0)


def test_where_there_is_nothing_to_learn_it_learns_nothing_if_it_may(world):
    site = world.site()
    before = world.weights(site.engine)
    assert teach(source=lambda site: [], optional=True)(site) == []
    assert world.same(before, world.weights(site.engine)) and site.engine.version == 0
    with pytest.raises(InputError, match="nothing to fine-tune on"):
        teach(source=lambda site: [])(site)
