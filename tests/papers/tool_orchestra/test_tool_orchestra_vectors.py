"""Constants of the method tool_orchestra_vectors, read by the tests of every method (tests/papers), and its sources."""

import pytest
from helpers.methods import made

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError
from handaxe.methods.build import check_run

ABOUT_REWARDS = True
TRAP_TASKS = 1
DEAD_PARTS = {"coordinates", "format"}


def spec(*words):
    return parse_train("tool_orchestra_vectors", list(words), prog="handaxe train", also={"run": RunOptions})[0]


def test_every_source_of_the_small_model_is_accepted():
    assert made("tool_orchestra_vectors").aux_policies == {"small": "rule"}
    for source in ("smollm2", "tiny", "self", "self@start", "trained", "http://127.0.0.1:9/v1#m"):
        check_run(spec("--small", source))
    with pytest.raises(InputError, match="smolm"):
        check_run(spec("--small", "smolm"))
    with pytest.raises(InputError, match="world gym has no small"):
        check_run(spec("--small", "tiny", "--world", "gym"))
