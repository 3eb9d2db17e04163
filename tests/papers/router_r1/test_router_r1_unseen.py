"""Constants of the method router_r1_unseen, read by the tests of every method (tests/papers), and its sources."""

import pytest
from helpers.methods import made

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError
from handaxe.methods.build import check_run

ABOUT_REWARDS = True
TRAP_TASKS = 1
UNBOUNDED = {"cost": "two recipes that both weigh the cost"}


def spec(*words):
    return parse_train("router_r1_unseen", list(words), prog="handaxe train", also={"run": RunOptions})[0]


def test_every_source_of_an_expert_is_accepted():
    assert set(made("router_r1_unseen").aux_policies.values()) == {"rule"}
    check_run(spec("--specialist", "tiny", "--generalist", "smollm2"))
    check_run(spec("--specialist", "self@start", "--generalist", "http://127.0.0.1:9/v1#m"))
    with pytest.raises(InputError, match="smolm"):
        check_run(spec("--generalist", "smolm"))
