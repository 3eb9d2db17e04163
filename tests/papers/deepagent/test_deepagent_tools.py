"""Constants of the method deepagent_tools, read by the tests of every method (tests/papers), and its reward."""

import pytest
from helpers.methods import made

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.methods.build import check_run
from handaxe.models.chat_formats.compact import Compact
from handaxe.training.loop.aux_trainer import AuxTrainer
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("bm25s")
pytest.importorskip("bfcl_eval")


def spec(*words):
    return parse_train("deepagent_tools", list(words), prog="handaxe train", also={"run": RunOptions})[0]


def test_steps_and_a_fold_earn_the_action_reward():
    """Chains of two steps with a fold: 2 * 1 + 0.5."""
    method = made("deepagent_tools", "--world.lengths", "2")
    world = method.world
    task = world.tasks("train", 1, 0)[0]
    one = demonstrate(world.env(()), task, world.expert, format=Compact(), rollout=method.rollout)
    channels = method.reward(Group(task, (one,))).channels
    assert channels["success"] == [1.0] and channels["action"] == [2.5]
    plain = made("deepagent_tools", "--world.lengths", "2", "--fold", "0", "--per-call", "0.25")
    assert plain.reward(Group(task, (one,))).channels["action"] == [0.5]


def test_rules_play_the_roles_by_default_and_every_source_is_accepted():
    assert set(made("deepagent_tools").aux_policies.values()) == {"rule"}
    check_run(spec("--simulator", "smollm2", "--memory", "http://127.0.0.1:9/v1#m"))
    check_run(spec("--simulator", "self@start", "--memory", "tiny"))
    with pytest.raises(InputError, match="smolm"):
        check_run(spec("--memory", "smolm"))
    (learner,) = made("deepagent_tools", "--memory", "trained").learners
    assert isinstance(learner, AuxTrainer) and learner.role == "memory"
