from handaxe.core.records import Message, Task, ToolCall, ToolReply
from handaxe.synthesis.draft_groups import LabelledRollout, group_draft, group_rollouts, judging_draft, rollout_text
from handaxe.synthesis.task_drafts import ORIGIN, draft_text, task_draft
from handaxe.testing.make_records import make_trajectory

DRAFT = task_draft(Task("x", (Message("user", "12*34=?"),), "408"), notes={"rate": 0.5})
ROLLOUTS = [
    LabelledRollout("so 408", 1.0, "expert", ((0, "12*34", 1), (1, "408", 1))),
    LabelledRollout("so 403", 0.0, "digit"),
]


def test_rollouts_survive_the_way_through_a_draft():
    group = group_draft(DRAFT, ROLLOUTS)
    assert group_rollouts(group) == ROLLOUTS and group_rollouts(DRAFT) == []
    assert (group.kind, group.parents, group.notes) == ("group", (DRAFT.id,), {"rate": 0.5})
    assert draft_text(group) == "12*34=?", "steps that read tasks also read a group"


def test_a_judging_task_has_the_question_of_its_group_as_origin():
    task = judging_draft(group_draft(DRAFT, ROLLOUTS), "Which one?", "A")
    assert draft_text(task) == "Which one?" and task.payload["answer"] == "A" and task.payload["tools"] == []
    assert task.payload[ORIGIN] == {"messages": [{"role": "user", "content": "12*34=?"}], "answer": "408"}
    assert task.notes == {"rate": 0.5}


def test_the_text_of_a_rollout_has_a_line_for_each_turn_and_reply():
    one = make_trajectory(
        texts=["", "408"],
        calls=[[ToolCall("calculator", {"expression": "12*34"}, "c")], []],
        replies=[[ToolReply("c", "calculator", "408")], []],
    )
    assert rollout_text(one).splitlines() == [
        'assistant: calculator({"expression": "12*34"})',
        "tool: 408",
        "assistant: 408",
    ]
