"""Constants of the method grpo_tcr_taught, read by the tests of every method (tests/papers), and its sources."""

import pytest
from helpers.methods import made

from handaxe.engines.local.engine import LocalEngine
from handaxe.models.load import load
from handaxe.training.stages.context import make_site
from handaxe.worlds.arithmetic import arithmetic

SHORT = ["--sft-tasks", "8", "--sft-epochs", "1"]


@pytest.mark.parametrize("demonstrations, calling", [("gold", 0.5), ("stitched", 1.0)])
def test_stitched_conversations_call_always_and_gold_ones_by_need(demonstrations, calling):
    method = made("grpo_tcr_taught", "--demonstrations", demonstrations, *SHORT)
    world = arithmetic()
    policy = load("tiny")
    tasks = method.tasks(world.tasks("train", 40, 0), 0)
    site = make_site(engine=LocalEngine(policy.model), format=policy.format, env=world.env(world.tools))
    (row, *_) = method.stages[0](site._replace(tasks=tasks))
    found = row["lessons/calling"]
    assert found == calling if demonstrations == "stitched" else 0 < found < 1
