from functools import partial

import pytest

pytest.importorskip("bm25s")
pytest.importorskip("bfcl_eval")

from dataclasses import replace

from handaxe.core.records import Ending, Group
from handaxe.evaluation.attack_trials import LabCase
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.deepagent.found_actions import found_actions
from handaxe.papers.deepagent.found_tools import found_tools
from handaxe.worlds.parts.demonstrate import demonstrate

CONTRACT = []
"""It reads the state of the world `found_tools`, which the records of the contract lack."""
WORLD = found_tools(lengths=(2,))
LAB = [LabCase("found_actions(...)", partial(found_tools, lengths=(1,)), lambda world: found_actions())]


def played(task, *, folds):
    world = found_tools(lengths=(2,), fold_after=1 if folds else 2)
    return demonstrate(world.env(()), task, world.expert, format=Compact(), rollout=world.make_rollout(8))


def test_steps_and_folds_earn_the_worked_example():
    (task,) = WORLD.tasks("train", 1, 0)
    folded, plain = played(task, folds=True), played(task, folds=False)
    cut = replace(folded, ending=Ending("truncated", "turns"))
    group = Group(task, (folded, plain, cut))
    assert found_actions()(group).outcome.tolist() == [2.5, 2.0, 2.0]
    assert found_actions(per_call=0.25, fold=0.0)(group).outcome.tolist() == [0.5, 0.5, 0.5]
