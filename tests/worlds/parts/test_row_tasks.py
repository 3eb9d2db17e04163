import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Message, Task
from handaxe.rewards.exact_match import exact_match
from handaxe.worlds.parts.file_rows import FileRow
from handaxe.worlds.parts.row_tasks import (
    RowTasks,
    check_share,
    offered_reference_calls,
    prompt_text,
    row_reference_calls,
    row_split,
)

ROWS = RowTasks("my", "question", "answer", "messages", exact_match(), "exact_match")


def row(**cells):
    return FileRow("a.jsonl, line 1", cells)


def test_a_row_becomes_a_task():
    task = ROWS.task(row(question="2+2?", answer="4", tools=["add"], weight="2.5", kind="sum"))
    assert task.messages == (Message("user", "2+2?"),) and task.answer == "4" and task.tools == ("add",)
    assert task.metadata == {"weight": 2.5, "kind": "sum"} and task.id.startswith("my-")


def test_a_fault_of_the_reader_is_kept():
    with pytest.raises(TaskError, match="line 1 is bad"):
        ROWS.task(FileRow("a", {}, "line 1 is bad"))


def test_question_and_messages_together_raise():
    with pytest.raises(TaskError, match="has 'question' and 'messages'; give one of them"):
        ROWS.task(row(question="2+2?", messages=[{"role": "user", "content": "2+2?"}], answer="4"))


def test_a_plain_key_precedes_a_path():
    rows = RowTasks("my", "a.b", "answer", "messages", exact_match(), "exact_match")
    assert rows.task(row(**{"a.b": "plain?", "a": {"b": "path?"}, "answer": "4"})).messages[0].content == "plain?"
    assert rows.task(row(a={"b": "path?"}, answer="4")).messages[0].content == "path?"
    with pytest.raises(TaskError, match="has no 'a.b', only"):
        rows.task(row(a="text", answer="4"))


def test_equal_prompts_are_in_one_split_at_every_share():
    tasks = [Task(str(k), (Message("user", f"{k}?"),)) for k in range(300)]
    small, large = ({one.id for one in tasks if row_split(one, share) == "test"} for share in (0.1, 0.3))
    assert small < large and 10 < len(small) < 60 < len(large) < 130
    assert row_split(tasks[0], 0.1) == row_split(Task("other", tasks[0].messages), 0.1)


def test_prompt_text_of_a_conversation_has_roles_and_calls():
    chat = (Message("system", "x"), Message("user", "y"))
    assert prompt_text(chat[1:]) == "y"
    assert len({prompt_text(chat), prompt_text(chat[1:]), prompt_text((Message("user", "x"), chat[1]))}) == 3


def test_reference_calls_need_the_offered_tool():
    task = ROWS.task(row(question="2+2?", answer="4", calls=[{"name": "add", "arguments": {"x": 2, "z": None}}]))
    (call,) = row_reference_calls(task)
    assert call.arguments == {"x": 2}
    assert (
        offered_reference_calls(task, {"tools": ["add"]}) == (call,)
        and offered_reference_calls(task, {"tools": []}) == ()
    )
    assert row_reference_calls(ROWS.task(row(question="3?", answer="4"))) == ()


@pytest.mark.parametrize("share", [0, 1, -0.5, 2])
def test_a_share_out_of_range_raises(share):
    with pytest.raises(InputError, match="give a share above 0 and below 1"):
        check_share(share)
