import numpy as np
import pytest
import torch

from handaxe.errors import InputError
from handaxe.records import Message, ToolCall
from handaxe.testing.records import make_trajectory
from handaxe.training.loop import train
from handaxe.training.record.run_record import RunRecord
from handaxe.training.scripted import trajectory_from_messages
from handaxe.training.sft import sft
from handaxe.training.stage import batch_of


def demonstrations(world):
    call = ToolCall("add", {"numbers": "1"})
    words = [
        (Message("user", f"{i}?"), Message("assistant", "", (call,)), Message("tool", "1"), Message("assistant", "11"))
        for i in range(6)
    ]
    return [trajectory_from_messages(world.FORMAT, one, (world.SCHEMA,), id=str(i)) for i, one in enumerate(words)]


def test_it_learns_the_demonstrations_and_counts_its_steps(world):
    engine = world.make_engine()
    metrics = sft(
        engine, demonstrations(world), epochs=20, batch_size=4, learning_rate=0.02, micro_batch_rows=3, progress=False
    )
    assert len(metrics) == engine.version == 40
    assert metrics[0]["loss"] == pytest.approx(np.log(264), rel=0.1) and metrics[-1]["loss"] < 1


def test_micro_batches_change_nothing(world):
    found = []
    for rows in (1, 64):
        engine = world.make_engine(double=True)
        sft(engine, demonstrations(world), epochs=2, batch_size=4, micro_batch_rows=rows, progress=False)
        found.append(world.weights(engine))
    for name, value in found[0].items():
        torch.testing.assert_close(value, found[1][name], rtol=0, atol=1e-6)


def test_what_was_recorded_in_reinforcement_learning_has_the_same_ids_and_mask_here(world, tmp_path):
    """What the loss of the RL run saw, row by row, against what SFT on the record sees."""
    seen = []

    def loss(policy, batch):
        seen.append(batch)
        return world.reinforce(policy, batch)

    engine = world.Talking(world.calls_then_answers)
    arguments = world.arguments(engine=engine, loss=loss, steps=1, minibatches=1, micro_batch_rows=999, out=tmp_path)
    train(**arguments)
    with RunRecord.open(tmp_path) as record:
        trajectories = record.trajectories(step=0)
    (rl,), again = seen, batch_of([[one] for one in trajectories], engine)

    def rows(batch):
        return sorted(
            (ids[attend].tolist(), mask[attend].tolist())
            for ids, mask, attend in zip(batch.ids_BT, batch.mask_BT, batch.attend_BT)
        )

    assert rows(rl) == rows(again) and int(again.mask_BT.sum()) == sum(one.num_tokens for one in trajectories)


def test_trajectories_without_a_sampled_token_are_left_out(world):
    with pytest.raises(InputError, match="nothing to fine-tune on"):
        sft(world.make_engine(), [make_trajectory(layouts=["UUt"])], progress=False)
