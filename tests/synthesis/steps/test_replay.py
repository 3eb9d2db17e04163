"""Reference calls are executed again."""

import itertools

import pytest

from handaxe.core.errors import InfrastructureError, InputError, TaskError
from handaxe.core.records import Message, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.replay import replay
from handaxe.synthesis.task_drafts import task_draft
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool

ENV = tool_chat([calculator])


def draft(answer, *expressions):
    calls = [{"name": "calculator", "arguments": {"expression": one}} for one in expressions]
    return task_draft(Task("", (Message("user", "q"),), answer, None, {"gold_calls": calls}))


def reason(one, env=ENV, **options):
    (outcome,) = replay(env, **options).run([one], SynthesisContext(0))
    return outcome.reason


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (draft("408", "12*34"), ""),
        (draft("408", "1+1", "12*34"), ""),
        (draft("408", "12*34", "1+1"), "another answer"),
        (draft("40", "12*34"), "another answer"),
        (draft("408", "12*", "12*34"), "a call failed"),
        (draft("408"), "no calls"),
        (
            task_draft(Task("", (Message("user", "q"),), "1", None, {"gold_calls": [{"name": "no", "arguments": {}}]})),
            "a call failed",
        ),
    ],
)
def test_only_calls_that_give_the_answer_are_kept(one, expected):
    assert reason(one) == expected


def test_changing_replies_are_dropped():
    counter = itertools.count(7)

    @tool
    def tick() -> str:
        """Count."""
        return f"408 {next(counter)}"

    one = task_draft(
        Task("", (Message("user", "q"),), "408", None, {"gold_calls": [{"name": "tick", "arguments": {}}]})
    )
    assert reason(one, tool_chat([tick])) == "replies differ"
    assert reason(one, tool_chat([tick]), tries=1) == ""


def test_environments_that_refuse_a_task_drop_it_and_failures_of_the_machine_are_raised():
    def refuses(task):
        raise TaskError("another kind")

    def dies(task):
        raise InfrastructureError("no sandbox")

    assert reason(draft("408", "12*34"), refuses) == "refused by the environment"
    with pytest.raises(InfrastructureError, match="no sandbox"):
        reason(draft("408", "12*34"), dies)


def test_tries_start_at_1():
    with pytest.raises(InputError, match="give 1 or more"):
        replay(ENV, tries=0)
