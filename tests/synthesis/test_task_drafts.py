import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.synthesis.task_drafts import draft_task, draft_text, task_draft, task_row


def test_tasks_survive_the_way_through_a_draft():
    task = Task("x", (Message("system", "s"), Message("user", "q")), [1, "a"], ("f",), {"gold_calls": [], "level": 2})
    again = draft_task(task_draft(task))
    assert (again.messages, again.answer, again.tools, again.metadata) == (
        task.messages,
        task.answer,
        task.tools,
        task.metadata,
    )


def test_the_id_of_a_task_is_no_part_of_its_draft():
    one, other = (task_draft(Task(name, (Message("user", "q"),), "1")) for name in ("x", "y"))
    assert one.id == other.id and draft_task(one).id == f"draft-{one.id}"


def test_a_row_has_the_columns_of_the_world_jsonl():
    alone = task_draft(Task("x", (Message("user", "q"),), "1", ("f",), {"level": 2}), notes={"rate": 0.5})
    synthesis = {"draft": alone.id, "rate": 0.5}
    assert task_row(alone) == {"question": "q", "answer": "1", "tools": ["f"], "level": 2, "synthesis": synthesis}
    several = task_draft(Task("x", (Message("system", "s"), Message("user", "q")), "1"))
    assert task_row(several)["messages"] == [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    assert draft_text(several) == "q"


@pytest.mark.parametrize(
    ("task", "why"),
    [
        (Task("x", (Message("assistant", "", (ToolCall("f", {}),)),), "1"), "'x' has images or earlier calls"),
        (Task("x", (Message("tool", "t"),), "1"), "'x' has images or earlier calls"),
        (Task("x", (Message("user", "q"),), "1", None, {"answer": 1, "tools": 2}), "metadata answer, tools"),
    ],
)
def test_tasks_that_a_file_cannot_hold_are_errors(task, why):
    with pytest.raises(InputError, match=why):
        task_draft(task)
