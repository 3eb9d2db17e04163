import re
import sys

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, ToolReply
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.ftrl.solve_f1 import solve_f1
from handaxe.papers.ftrl.toolchains import SCENARIOS, remaining_metadata, toolchains
from handaxe.rewards.parts.solved import read_unsolved
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.mark.parametrize(
    "options",
    [{}, {"merged": 2}, {"merged": 3, "optional": True, "brief": False}, {"optional": True, "spurious_rate": 1.0}],
)
def test_toolchains_keeps_the_world_contract(options):
    check_world(toolchains(size=60, **options))


@pytest.mark.parametrize("merged", [1, 2])
def test_each_expert_call_solves_a_sub_question(merged):
    world = toolchains(spurious_rate=0.0, merged=merged)
    for task in world.tasks("test", 40, 0):
        one = demonstrate(world.env(()), task, world.expert, format=Compact(), context=512)
        width, depth = SCENARIOS[task.metadata["scenario"]]
        assert len(one.calls) == width * depth and len(one.turns) == depth + 1
        assert solve_f1()(Group(task, (one,))).outcome[0] == pytest.approx(
            (depth * 2 * width / (width + 1) + 1) / (depth + 1)
        )
        gauges = {name: (gauge.top(one, 1.0), gauge.bottom(one, 1.0)) for name, gauge in world.gauges.items()}
        assert gauges == dict.fromkeys(("call_precision", "call_recall"), (width * depth, width * depth))


def test_spurious_calls_occur_at_the_given_rate_and_keep_answers_correct():
    world, made, turns = toolchains(spurious_rate=0.4), 0, 0
    for task in world.tasks("train", 100, 0):
        one = demonstrate(world.env(()), task, world.expert, format=Compact())
        assert world.correct(Group(task, (one,))).outcome[0] == 1
        made += len(one.calls) - sum(map(len, read_unsolved(task).values()))
        turns += len(one.turns) - 1
    assert 0.3 < made / turns < 0.5


def test_distractors_are_offered_with_the_needed_tools():
    for task in toolchains(distractors=3).tasks("train", 40, 0):
        assert len(task.tools) == len(task.metadata["unsolved"]) + 3 and set(task.metadata["unsolved"]) < set(
            task.tools
        )


def test_remaining_metadata_after_replies():
    (task,) = toolchains(scenarios=("chain",)).tasks("train", 1, 0)
    ((first,), (second,)) = task.metadata["rounds"]
    left = remaining_metadata(
        task, [ToolReply("0", first["name"], first["result"]), ToolReply("1", second["name"], "nobody")]
    )
    assert left["solve_rate"] == 0.5 and left["rounds"] == [[second]]
    assert left["unsolved"] == {second["name"]: [second["result"]]}
    assert left["gold_calls"] == [{"name": second["name"], "arguments": second["arguments"]}]
    assert remaining_metadata(task, [])["rounds"] == task.metadata["rounds"]


def test_incorrect_gold_calls_raise(monkeypatch):
    """A changed table after the creation of a question is detected by executing the gold calls."""
    world = toolchains(size=40)
    wrong = {"name": "boss", "arguments": {"name": "nobody"}}
    monkeypatch.setattr(sys.modules["handaxe.papers.ftrl.toolchains"], "tool_call", lambda *asked, merged: wrong)
    with pytest.raises(TaskError, match="nobody"):
        world.tasks("train", 40, 0)


def test_questions_are_key_words_or_sentences():
    for brief, form in (
        (True, r"^\w+ \w+ \w+, \w+ \w+ \w+\?$"),
        (False, r"^Who is the \w+ of the \w+ of \w+, and who is"),
    ):
        (task,) = toolchains(scenarios=("parallel chain",), brief=brief).tasks("test", 1, 0)
        assert re.search(form, task.messages[0].content)


def test_invalid_arguments_raise():
    for options in (
        {"scenarios": ("star",)},
        {"scenarios": ()},
        {"distractors": 5},
        {"merged": 4},
        {"spurious_rate": 2.0},
    ):
        with pytest.raises(InputError):
            toolchains(**options)
    with pytest.raises(TaskError, match="empty"):
        toolchains().tasks("train", 0, 0)
