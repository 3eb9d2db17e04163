"""A recipe is tested by being there: each one builds, trains two steps, moves its weights and is evaluated."""

import math

import pytest
import torch

from handaxe import records
from handaxe.evaluation.result import Evaluation
from handaxe.recipes.catalogue import find_recipes, load_recipe
from handaxe.training.loop import train
from handaxe.training.record.run_record import RunRecord

pytest.importorskip("reasoning_gym")
NAMES = [one.name for one in find_recipes()]


def test_the_recipes_of_the_first_chapter_are_there():
    base = {"cispo", "dapo", "dr_grpo", "gspo", "grpo", "ppo", "reinforce_pp", "rloo"}
    assert base | {"artist", "otc", "quickstart", "retool", "simpletir", "toolrl"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_two_steps(name, tmp_path):
    build = load_recipe(name).build
    parts = build(steps=2, groups=3, group_size=4, held_out=4, seed=1)
    before = [p.detach().clone() for p in parts["engine"].model.module.parameters()]
    result = train(**parts, out=tmp_path / "run", progress=False)
    assert len(result.metrics) == 2
    pushed = any(row.get("grad_norm", 0.0) > 0 for row in result.metrics)
    moved = any(not torch.equal(a, b) for a, b in zip(before, parts["engine"].model.module.parameters()))
    assert moved == pushed
    played = [row for row in result.metrics if row["trajectories"]]  # with partial rollouts a step may finish nobody
    assert played and all(math.isfinite(row["reward"]) for row in played)
    with RunRecord.open(tmp_path / "run") as record:
        evaluated = record.evaluations()
        assert sorted(evaluated) == [0, 2]
        assert len(Evaluation.from_json(evaluated[2]["evaluation"]).tasks) == 4
        for trajectory in record.trajectories():
            records.check(trajectory)
