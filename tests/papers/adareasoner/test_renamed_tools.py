import re

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message, ParsedTurn, Task, ToolCall
from handaxe.core.requests import Act
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.adareasoner.renamed_tools import rename_tasks, renamed_call, renamed_tools
from handaxe.rollouts.driver.workers import Workers
from handaxe.tools.calculator import calculator
from handaxe.tools.compute import compute
from handaxe.tools.decorator import tool
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.reference_calls import reference_calls

NAMES = {"calculator": "f417", "expression": "p83"}
ORIGINAL = {"calculator", "expression", "compute", "left", "operator", "right"}
TOOLS = (calculator, compute)
SCHEMAS = [one.schema for one in TOOLS]
ENV = renamed_tools(tool_chat(TOOLS))


def asks(**metadata):
    return Task("t", (Message("user", "12*34=?"),), "408", None, metadata)


def turn(name, arguments, errors=()):
    return ParsedTurn("", (ToolCall(name, arguments, "c0"),), errors)


def test_renamed_tools_matches_its_example():
    env = renamed_tools(tool_chat([calculator]))(asks(names=NAMES))
    (schema,) = env.start()[1]
    assert schema.name == "f417" and list(schema.parameters["properties"]) == schema.parameters["required"] == ["p83"]
    reply = env.step(turn("f417", {"p83": "12*34"}), seed=0)
    assert [(one.name, one.content, one.status) for one in reply.replies] == [("f417", "408", "ok")]
    assert reply.messages[0].name == "f417" and reply.messages[0].content == "408"


def words_of(*texts):
    return {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)}


def test_the_expert_is_correct_with_drawn_names_only():
    world, seen = arithmetic(easy=0.0), set()
    tasks = rename_tasks(world.tasks("train", 40, 0), tools=SCHEMAS, seed=3)
    for task in tasks:
        one = demonstrate(ENV, task, lambda task, facts: told(task, facts), format=Compact())
        assert world.correct(Group(task, (one,))).outcome[0] == 1 and one.replies[0].status == "ok"
        assert one.calls[0].name == task.metadata["names"]["calculator"] == one.replies[0].name
        read = Compact().decode(one.sequences[0].ids.tolist())
        assert not ORIGINAL & words_of(read, *(repr(schema) for schema in one.tools))
        seen.add(one.calls[0].name)
    assert len(seen) > 20


def told(task, facts):
    """Expert with the calls of the translated reference."""
    return Message("assistant", task.answer) if facts["turn"] else Message("assistant", "", reference_calls(task))


@pytest.mark.parametrize(
    "said",
    [
        turn("calculator", {"expression": "1+1"}),
        turn("f417", {"expression": "1+1"}),
        turn("f417", {"q": "1+1"}),
        turn("f417", {"p83": "1+"}),
        turn("f999", {}),
        ParsedTurn("", (), ("the arguments of 'f417' are not JSON",)),
    ],
    ids=["tool of before", "parameter of before", "unknown parameter", "refused", "unknown tool", "malformed"],
)
def test_errors_use_the_drawn_names(said):
    env = renamed_tools(tool_chat([calculator]))(asks(names=NAMES))
    env.start()
    reply = env.step(said, seed=0)
    assert all(one.status in ("invalid", "retry") for one in reply.replies) and not reply.done
    (message,) = reply.messages
    written = words_of(*(f"{call.name} {' '.join(call.arguments)}" for call in said.calls))
    assert not (words_of(message.content, message.name) - written) & ORIGINAL
    if said.calls and said.calls[0].name == "f417":
        assert "f417" in message.content or "expression" not in message.content
    if said.errors:
        assert "'f417'" in message.content


def test_successful_replies_stay_unchanged():
    @tool
    def lookup(expression: str) -> str:
        """Look a lookup up in an expression."""
        return f"calculator and lookup of an expression {expression}"

    env = renamed_tools(tool_chat([lookup]))(asks(names={"lookup": "f417", "expression": "p83"}))
    (schema,) = env.start()[1]
    assert schema.description == "Look a f417 up in an p83."
    reply = env.step(turn("f417", {"p83": "lookup"}), seed=0)
    assert reply.replies[0].content == "calculator and lookup of an expression lookup" == reply.messages[0].content


class Plain:
    """Environment without `astep`."""

    def __init__(self, env):
        self.env = env

    def step(self, turn, *, seed):
        return self.env.step(turn, seed=seed)


@pytest.mark.parametrize("inside", ["astep", "step"])
def test_astep_equals_step(inside):
    env = ENV(asks(names=NAMES))
    if inside == "step":
        env.env = Plain(env.env)
    workers = Workers(1)
    try:
        workers.submit(0, Act(env, turn("f417", {"p83": "6*7"}), 3))
        ((_, answer),) = workers.ready(None)
    finally:
        workers.close()
    (reply,) = answer.value.replies
    assert (reply.content, reply.name) == ("42", "f417")


def test_a_task_without_names_is_unchanged():
    for task in (asks(), asks(names={})):
        env = ENV(task)
        assert [one.name for one in env.start()[1]] == ["calculator", "compute"]
        assert env.step(turn("calculator", {"expression": "6*7"}), seed=0).replies[0].content == "42"


def test_named_tools_and_snapshots_are_translated():
    (task,) = rename_tasks([Task("t", (Message("user", "?"),), None, ("compute",))], tools=SCHEMAS)
    env = ENV(task)
    assert [one.name for one in env.start()[1]] == [task.metadata["names"]["compute"]] == list(task.tools)
    env.restore(env.snapshot())
    assert env.report()["replies"] == {}
    env.close()


def test_reference_calls_are_translated():
    calls = [{"name": "calculator", "arguments": {"expression": "1+1"}}]
    for answer in (calls, {"calls": calls, "state": {"x": 1}}):
        made = rename_tasks([Task("t", (), answer, None, {"gold_calls": calls})], tools=SCHEMAS)[0]
        names = made.metadata["names"]
        wanted = [{"name": names["calculator"], "arguments": {names["expression"]: "1+1"}}]
        assert made.metadata["gold_calls"] == wanted
        assert (made.answer if isinstance(answer, list) else made.answer["calls"]) == wanted
    assert renamed_call(ToolCall("calculator", {"expression": "1+1"}), NAMES) == ToolCall("f417", {"p83": "1+1"})


def test_names_are_drawn_per_task_and_splits_share_none():
    tasks = arithmetic().tasks("train", 300, 0)
    drawn = {
        split: {
            name for one in rename_tasks(tasks, tools=SCHEMAS, split=split) for name in one.metadata["names"].values()
        }
        for split in ("train", "test")
    }
    assert not drawn["train"] & drawn["test"] and min(map(len, drawn.values())) > 500
    again = rename_tasks(tasks[5:6], tools=SCHEMAS)[0]
    assert again == rename_tasks(tasks, tools=SCHEMAS)[5] and again != rename_tasks(tasks, tools=SCHEMAS, seed=1)[5]
    assert len(set(again.metadata["names"].values())) == len(ORIGINAL)


def test_digits_sets_the_length_of_names():
    made = rename_tasks(arithmetic().tasks("train", 200, 0), tools=SCHEMAS, digits=1)
    drawn = {name for one in made for name in one.metadata["names"].values()}
    assert all(len(name) == 2 and name[1] in "123456789" for name in drawn) and len(drawn) > 80


def test_share_is_the_rate_of_renamed_tasks():
    made = rename_tasks(arithmetic().tasks("train", 400, 0), tools=SCHEMAS, share=0.3)
    assert 0.22 < sum(one.metadata["renamed"] == "yes" for one in made) / 400 < 0.38
    assert all(bool(one.metadata["names"]) == (one.metadata["renamed"] == "yes") for one in made)
    assert {one.metadata["renamed"] for one in rename_tasks(made, tools=SCHEMAS, share=0.0)} == {"no"}


def test_descriptions_are_drawn_among_the_given_ones():
    ways = ("Work an expression out.", "Arithmetic.")
    made = rename_tasks(arithmetic().tasks("train", 20, 0), tools=SCHEMAS, descriptions={"calculator": ways})
    said = {
        ENV(one).start()[1][0].description.replace(one.metadata["names"]["expression"], "expression") for one in made
    }
    assert said == set(ways)


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="share of 2"):
        rename_tasks([], tools=SCHEMAS, share=2)
    with pytest.raises(InputError, match="a letter and 0 digits"):
        rename_tasks([], tools=SCHEMAS, digits=0)
    for names in ({"calculator": "f417", "expression": "f417"}, {"calculator": "no name"}, ["f417"], {"calculator": 1}):
        with pytest.raises(TaskError, match="names"):
            ENV(asks(names=names))
