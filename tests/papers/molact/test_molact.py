"""MolAct's two stages: what each trains on, and that the second begins where the first ended."""

import pytest

pytest.importorskip("rdkit")
pytest.importorskip("reasoning_gym")

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.methods.build import make_method, make_world
from handaxe.methods.run import run
from handaxe.training.loop.config import RunConfig
from handaxe.training.record.run_record import RunRecord

SMALL = ["--steps", "1", "--groups", "2", "--group-size", "2", "--held-out", "2", "--first-steps", "1", "--seed", "3"]


def chosen(*words):
    small = [*SMALL, "--model", "tiny", "--max-tokens", "8"]
    return parse_train("molact", [*small, *words], prog="handaxe train", also={"run": RunOptions})[0]


def kinds(folder):
    with RunRecord.open(folder) as record:
        return {one.task.metadata["kind"] for one in record.trajectories()}


@pytest.mark.slow
@pytest.mark.parametrize("first", ["edit", "optimise"])
def test_edits_train_first_and_improvements_second(first, tmp_path):
    made = chosen("--first-stage", first)
    result = run(made, RunConfig(out=tmp_path / "run", progress=False, recipe={"name": "molact", "arguments": {}}))
    (stage,) = (path for path in (tmp_path / "run" / "stages").iterdir() if path.is_dir())
    assert stage.name == "00-reinforce" and kinds(stage) == {first} and kinds(tmp_path / "run") == {"optimise"}
    assert len(result.metrics) == 1
    with RunRecord.open(tmp_path / "run") as record:
        versions = {int(v) for one in record.trajectories() for s in one.sequences for v in s.version[s.mask]}
    assert versions == {1}, "the second stage samples from the weights that the first one left"


@pytest.mark.slow
@pytest.mark.parametrize("base", ["grpo", "ppo", "dapo"])
def test_the_first_stage_runs_on_every_base(base, tmp_path):
    made = chosen("--base", base)
    run(made, RunConfig(out=tmp_path / "run", progress=False, recipe={"name": "molact", "arguments": {}}))
    with RunRecord.open(tmp_path / "run" / "stages" / "00-reinforce") as record:
        (metrics,) = record.metrics()
    assert metrics["trajectories"] == 4  # 2 tasks of 2 attempts, as the setting says


def test_no_stage_trains_on_held_out_tasks():
    world = make_world(chosen())
    make_method(chosen(), world)
    held_out = {task.metadata["source"] for task in world.tasks("test", 200, 0)}
    assert not held_out & {task.metadata["source"] for task in world.tasks("train", 640, 0)}
