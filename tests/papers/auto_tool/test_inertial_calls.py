import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.auto_tool.inertia_graph import InertiaGraph
from handaxe.papers.auto_tool.inertial_calls import (
    ANSWER,
    START,
    Inertia,
    executed_calls,
    inertial_calls,
    inertial_turns,
    learn_trajectory,
    nodes_of,
)
from handaxe.papers.auto_tool.parameter_edges import ParameterGraph
from handaxe.rollouts.driver.driver import run
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools.decorator import tool


@tool(timeout=None)
def find(key: str) -> str:
    """Find a number."""
    return f"found {key}9"


@tool(timeout=None)
def use(number: str) -> str:
    """Use a number."""
    return f"used {number}"


class Counted(ScriptedEngine):
    sampled = 0

    def sample(self, requests):
        self.sampled += len(requests)
        return super().sample(requests)


def script(text, turn):
    """Find and use three numbers, and answer."""
    del turn
    done = text.count("<TOOL>")
    if done >= 6:
        return "done"
    key = text.split("<USER>")[1].split("<END>")[0].split()[done // 2]
    return ToolCall("find", {"key": key}) if done % 2 == 0 else ToolCall("use", {"number": f"{key}9"})


def inertia(**options):
    return Inertia(InertiaGraph(similarity=lambda context, tool: 0.0), ParameterGraph(), **options)


def play(own, keys="11 22 33", max_turns=12):
    env = tool_chat([find, use])
    task = Task("t", (Message("user", keys),))
    engine = Counted(Compact(), script, tools=env(task).start()[1])
    attempt = Attempt(task, env, Compact(), Sampling(max_tokens=64), "t/0", 0, 0, 1024)
    ((one,),) = run([attempt], inertial_calls(inertia=own, max_turns=max_turns), engine, workers=1)
    return one, engine.sampled


def test_an_empty_graph_leaves_every_turn_to_the_policy():
    one, sampled = play(inertia())
    assert sampled == len(one.turns) == 7 and inertial_turns(one) == []
    assert nodes_of(one) == [START, "find", "use", "find", "use", "find", "use", ANSWER]


def test_a_filled_graph_makes_calls_within_its_share_and_never_two_in_a_row():
    own = inertia(share=0.3)
    for keys in ("44 55 66", "12 13 14", "77 78 79"):
        learn_trajectory(own, play(own, keys)[0])
    one, sampled = play(own)
    made = inertial_turns(one)
    assert made and len(made) <= 0.3 * len(one.turns) and sampled == len(one.turns) - len(made)
    assert made[0] == 3 and [call.arguments for call in one.turns[3].parsed.calls] == [{"number": "229"}]
    assert [call.name for call in one.calls][:4] == ["find", "use"] * 2
    whole = inertia(share=1.0)
    whole.tools, whole.parameters = own.tools, own.parameters
    one, _ = play(whole)
    assert all(b - a > 1 for a, b in zip(inertial_turns(one), inertial_turns(one)[1:]))


def test_a_threshold_above_every_score_makes_no_call():
    own = inertia(threshold=1.0)
    for keys in ("44 55 66", "12 13 14"):
        learn_trajectory(own, play(own, keys)[0])
    assert inertial_turns(play(own)[0]) == []


def test_learning_cuts_the_path_at_inertial_turns():
    own = inertia(share=1.0)
    for keys in ("44 55 66", "12 13 14"):
        learn_trajectory(own, play(own, keys)[0])
    before = own.tools.frequencies(["find"])["use"]
    one, _ = play(own)
    assert inertial_turns(one)
    learn_trajectory(own, one)
    gained = own.tools.frequencies(["find"])["use"] - before
    assert gained > 0
    assert [call.reply for call in executed_calls(one)][:2] == ["found 11" + "9", "used 119"]


def test_limits_hold_for_inertial_turns():
    own = inertia(share=1.0)
    for keys in ("44 55 66", "12 13 14"):
        learn_trajectory(own, play(own, keys)[0])
    one, _ = play(own, max_turns=3)
    assert len(one.turns) == 3 and one.ending.kind == "truncated"
    with pytest.raises(InputError, match="share"):
        inertia(share=2)
