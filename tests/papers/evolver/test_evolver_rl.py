"""Constants of the method evolver_rl, read by the tests of every method (tests/papers)."""

import pytest
from helpers.methods import embedded_model, made

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError
from handaxe.core.records import ParsedTurn, ToolCall
from handaxe.methods.build import build, make_method, make_world

REMEMBERS = "principles"


def test_the_memory_of_the_tool_is_that_of_the_learner():
    method = made("evolver_rl")
    (learner,) = method.learners
    (memory,) = [one for one in method.world.tools if hasattr(one, "store")]
    assert learner.store is memory.store


def test_a_world_without_memory_is_refused():
    with pytest.raises(InputError, match="choose --world principled_hops"):
        made("evolver_rl", "--world", "arithmetic")


def test_the_environment_of_a_run_searches_the_memory_that_the_learner_fills():
    words = ["--model", embedded_model("evolver_rl"), "--held-out", "1"]
    spec = parse_train("evolver_rl", words, prog="handaxe train", also={"run": RunOptions})[0]
    method = make_method(spec, make_world(spec))
    env = build(spec, method=method)["env"](method.world.tasks("test", 1, 0)[0])
    (learner,) = method.learners
    learner.store.offer("+ K: boss", success=True, trajectory="t")
    env.start()
    reply = env.step(ParsedTurn("", (ToolCall("principles", {"query": "K:"}, id="0-0"),)), seed=0)
    assert [message.content for message in reply.messages] == ["+ 0000 K: boss"]
