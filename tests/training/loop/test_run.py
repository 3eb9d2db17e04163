import shutil

import pytest
import torch
from safetensors.torch import load_file

from handaxe.core.errors import CheckpointError, InputError
from handaxe.training.loop.config import PeriodicEvaluation
from handaxe.training.loop.train import train
from handaxe.training.record.run_record import RunRecord


@pytest.mark.exact
@pytest.mark.parametrize("first", [1, 2, 3])
def test_stopped_and_resumed_is_uninterrupted(world, tmp_path, first):
    """At every place relative to the checkpoints, which are written every 2 steps and at the end."""
    whole = world.make_engine()
    expected = train(**world.arguments(engine=whole, steps=5))
    kept = {"out": tmp_path, "checkpoint_every": 2}
    train(**world.arguments(**kept, steps=first))
    if first == 3:  # as if it had been killed after the step, before its checkpoint
        shutil.rmtree(tmp_path / "checkpoints" / "step-000003")
    engine = world.make_engine()
    result = train(**world.arguments(**kept, steps=5, engine=engine, resume=True))
    assert world.same(world.weights(whole), world.weights(engine)) and engine.version == whole.version
    assert [one["reward"] for one in result.metrics] == [one["reward"] for one in expected.metrics]
    with RunRecord.open(tmp_path) as record:
        kinds = [(one.step, one.kind) for one in record.events()]
        assert record.steps() == [0, 1, 2, 3, 4]
    assert kinds == [(0, "started"), (first, "finished"), (first - (first == 3), "resumed"), (5, "finished")]


@pytest.mark.exact
def test_equal_runs_leave_equal_files_whatever_was_drawn_before(world, tmp_path):
    """Also the state of torch's generator, from which dropout draws."""
    for seed, name in enumerate(("one", "two")):
        torch.manual_seed(seed)
        train(**world.arguments(steps=2, out=tmp_path / name))
    one, two = (
        load_file(tmp_path / name / "checkpoints" / "step-000002" / "engine" / "engine.safetensors")
        for name in ("one", "two")
    )
    assert one.keys() == two.keys() and all(torch.equal(one[key], two[key]) for key in one)


def test_beside_a_run_nobody_else_writes(world, tmp_path):
    train(**world.arguments(steps=1, out=tmp_path))
    with RunRecord(tmp_path), pytest.raises(InputError, match=r"process \d+ is writing the run in"):
        train(**world.arguments(steps=2, out=tmp_path, resume=True))
    with RunRecord.open(tmp_path) as record:
        assert record.steps() == [0] and [one.kind for one in record.events()] == ["started", "finished"]


def test_resuming_nothing_is_starting(world, tmp_path):
    result = train(**world.arguments(steps=1, out=tmp_path / "new", resume=True))
    assert len(result.metrics) == 1 and result.path == tmp_path / "new"


def test_resuming_what_is_done_does_nothing(world, tmp_path):
    train(**world.arguments(steps=2, out=tmp_path))
    engine = world.make_engine()
    result = train(**world.arguments(engine=engine, steps=2, out=tmp_path, resume=True))
    assert len(result.metrics) == 2 and engine.version == 4 and not result.stopped


def test_a_damaged_checkpoint_stops_the_resume(world, tmp_path):
    train(**world.arguments(steps=3, out=tmp_path, checkpoint_every=1))
    (tmp_path / "checkpoints" / "step-000003" / "state.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"state\.json is damaged.*to resume from step-000002"):
        train(**world.arguments(steps=4, out=tmp_path, resume=True))
    shutil.rmtree(tmp_path / "checkpoints" / "step-000003")
    train(**world.arguments(steps=4, out=tmp_path, resume=True))
    with RunRecord.open(tmp_path) as record:
        assert record.steps() == [0, 1, 2, 3]


def test_a_record_of_another_run_is_refused(world, tmp_path):
    train(**world.arguments(steps=2, out=tmp_path))
    for file in tmp_path.glob("record.sqlite*"):
        file.unlink()
    with pytest.raises(CheckpointError, match="belong to different runs"):
        train(**world.arguments(steps=3, out=tmp_path, resume=True))


def test_an_error_in_a_role_is_noted_and_raised_as_it_is(world, tmp_path):
    def credit(group, scores):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        train(**world.arguments(credit=credit, out=tmp_path))
    with RunRecord.open(tmp_path) as record:
        assert record.steps() == [] and record.events()[-1].kind == "failed"
        assert "ZeroDivisionError('mine')" in record.events()[-1].text


def test_negative_numbers_are_refused(world):
    with pytest.raises(InputError, match="steps is -1; give 0 or more"):
        train(**world.arguments(steps=-1))
    with pytest.raises(InputError, match="every is -1; give the steps between evaluations"):
        PeriodicEvaluation(evaluate=lambda engine, done: {}, every=-1)
