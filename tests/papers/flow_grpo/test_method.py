"""Constants of the method flow_grpo, read by the tests of every method (tests/papers), and its modules."""

import pytest
from helpers.methods import made

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError
from handaxe.methods.build import check_run
from handaxe.training.loop.aux_trainer import AuxTrainer

pytest.importorskip("bm25s")

REMEMBERS = "weights of the planner and of a verifier that trains"
RESUMED = ["--verifier", "trained"]


def spec(*words):
    return parse_train("flow_grpo", list(words), prog="handaxe train", also={"run": RunOptions})[0]


def test_rules_play_the_modules_by_default():
    assert set(made("flow_grpo").aux_policies.values()) == {"rule"} and made("flow_grpo").learners == ()


def test_every_source_is_accepted_before_a_model_is_loaded():
    check_run(spec("--executor", "smollm2", "--verifier", "self", "--generator", "http://127.0.0.1:9/v1#m"))
    check_run(spec("--executor", "self@start", "--verifier", "trained", "--generator", "tiny"))
    with pytest.raises(InputError, match="smolm"):
        check_run(spec("--executor", "smolm"))
    with pytest.raises(InputError, match="--generator"):
        check_run(spec("--generator", "http://127.0.0.1:9/v1"))


def test_a_world_without_modules_is_rejected():
    with pytest.raises(InputError, match="--verifier self: world hops has no verifier that a model could play"):
        check_run(spec("--world", "hops", "--verifier", "self"))


def test_a_trained_module_has_a_learner():
    (learner,) = made("flow_grpo", "--verifier", "trained", "--executor", "self").learners
    assert isinstance(learner, AuxTrainer) and learner.role == "verifier"
