import pytest

from handaxe.core.errors import InputError, TaskError, ToolDefinitionError
from handaxe.core.records import Group, Message, ParsedTurn, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.gated.outcome_state import OUTCOMES, outcome_state
from handaxe.papers.gated.workspace import LAST, final_state, workspace
from handaxe.testing.tools import check_env
from handaxe.testing.worlds import check_world
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.demonstrate import demonstrate

FALLS = "See `outcome_state`."


def does(*calls):
    """A policy with these calls, one per turn, and then an end."""

    def speaker(task, facts):
        if facts["turn"] < len(calls):
            name, arguments = calls[facts["turn"]]
            return Message("assistant", "", (ToolCall(name, arguments),))
        return Message("assistant", "done")

    return speaker


def played(world, task, *calls):
    return demonstrate(world.env(()), task, does(*calls), format=Compact(), max_turns=8)


def edit_of(task, new=None):
    edit = task.metadata["edit"]
    return ("replace", {"edit": f"{edit['file']} {edit['old']} {new or edit['new']}"})


@pytest.mark.parametrize("arguments", [{}, {"count": 2, "lines": 1}, {"count": 5, "lines": 4}])
def test_workspace_keeps_the_world_contract(arguments):
    world = workspace(**arguments)
    check_world(world, count=12)
    check_env(world.env(()), world.tasks("train", 1, 0)[0])


def test_final_state_distinguishes_four_outcomes():
    world = workspace()
    task = world.tasks("train", 1, 0)[0]
    key = task.metadata["edit"]["old"].partition("=")[0]
    submit = ("submit", {})
    made = {
        "open": played(world, task, edit_of(task)),
        "empty": played(world, task, ("read", {"file": "a"}), submit),
        "changed": played(world, task, edit_of(task, f"{key}=x"), submit),
        "resolved": played(world, task, edit_of(task), submit),
    }
    assert {name: final_state(one) for name, one in made.items()} == {name: name for name in OUTCOMES}
    group = Group(task, tuple(made.values()))
    assert outcome_state(state=final_state)(group).outcome.tolist() == [-1, 0, 0.5, 1]
    assert world.correct(group).outcome.tolist() == [0, 0, 0, 1]
    gauges = {name: [gauge.top(one, 0.0) for one in group] for name, gauge in world.gauges.items()}
    assert gauges == {"submitted": [0, 1, 1, 1], "changed": [1, 0, 1, 1]}


def test_submit_ends_the_rollout():
    world = workspace()
    task = world.tasks("train", 1, 0)[0]
    one = played(world, task, ("submit", {}), edit_of(task))
    assert len(one.turns) == 1 and one.ending.kind == "completed" and final_state(one) == "empty"


def test_the_file_of_the_key_is_not_in_the_question():
    world = workspace()
    for task in world.tasks("train", 20, 0):
        told = task.messages[0].content
        assert task.metadata["edit"]["old"] not in told
        assert told.startswith(f"set {task.metadata['edit']['new']} in a b c")
        assert task.metadata["edit"]["old"] in task.metadata["files"][task.metadata["edit"]["file"]]
    assert len({task.metadata["edit"]["file"] for task in world.tasks("train", 20, 0)}) == 3


def test_invalid_calls_are_reported_and_change_nothing():
    world = workspace()
    task = world.tasks("train", 1, 0)[0]
    env = world.env(())(task)
    env.start()

    def reply(name, **arguments):
        return env.step(ParsedTurn("", (ToolCall(name, arguments, "c0"),)), seed=0).replies[0]

    assert reply("read", file="z").status == reply("replace", edit="a k=1").status == "retry"
    assert reply("replace", edit="a nothing here").status == "retry"
    assert env.report()["state"]["Workspace"] == {"submitted": False, "changed": False, "resolved": False}
    state = env.snapshot()
    assert reply(edit_of(task)[0], **edit_of(task)[1]).content == "ok"
    assert env.report()["state"]["Workspace"]["resolved"]
    env.restore(state)
    assert not env.report()["state"]["Workspace"]["changed"]
    env.close()


def test_the_expert_submits_late_in_most_tasks():
    world, turns = workspace(), []
    for task in world.tasks("train", 40, 0):
        one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=64)
        assert final_state(one) == "resolved" and {reply.status for reply in one.replies} == {"ok"}
        assert len(one.sequences[0]) < 400
        turns.append(len(one.turns))
    assert max(turns) == LAST + 1 and 0.1 < sum(n <= 8 for n in turns) / len(turns) < 0.4


def test_arguments_out_of_range_raise():
    for wrong in ({"count": 1}, {"count": 6}, {"lines": 0}, {"lines": 5}):
        with pytest.raises(InputError):
            workspace(**wrong)
    with pytest.raises(TaskError, match="empty"):
        workspace().tasks("train", 0, 0)


def test_tools_with_a_taken_name_raise_early():
    @tool
    def submit() -> str:
        """Another."""
        return ""

    with pytest.raises(ToolDefinitionError, match="submit"):
        workspace().env([submit])
