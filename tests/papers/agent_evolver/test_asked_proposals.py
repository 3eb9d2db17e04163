import json
from dataclasses import replace

import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.asking.ask import AskAnswer
from handaxe.asking.read import Unreadable
from handaxe.core.records import Message, Task
from handaxe.curricula.task_pool import task_pool
from handaxe.papers.agent_evolver.asked_proposals import TaskDraft, read_task_draft
from handaxe.papers.agent_evolver.explore import explore
from handaxe.papers.agent_evolver.text_role import TextRole
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.world import Exploration

CALL = {"name": "search", "arguments": {"query": "4071"}}
GOOD = {"question": "4071 boss?", "answer": "5526", "calls": [CALL]}


def read(found):
    return read_task_draft(AskAnswer(text=found if isinstance(found, str) else json.dumps(found)))


def test_read_proposal_matches_its_example():
    assert read(f"Well: {json.dumps({**GOOD, 'more': 1})} done") == TaskDraft("4071 boss?", "5526", [CALL])


@pytest.mark.parametrize(
    "found",
    [
        "a question",
        {**GOOD, "calls": []},
        {**GOOD, "calls": [CALL] * 9},
        {**GOOD, "question": " "},
        {**GOOD, "question": "x" * 501},
        {**GOOD, "answer": ""},
        {**GOOD, "answer": 5526},
        {**GOOD, "calls": ["search"]},
        {**GOOD, "calls": [{"name": "search", "arguments": "4071"}]},
        {"question": "4071 boss?", "answer": "5526"},
    ],
)
def test_a_proposal_of_another_form_is_unreadable(found):
    with pytest.raises(Unreadable):
        read(found)


def openings(count, seed):
    return [Task(f"open-{seed}-{k}", (Message("user", f"{k}"),)) for k in range(count)]


def proposed(question, answer, expression, name="calculator"):
    calls = [{"name": name, "arguments": {"expression": expression}}]
    return reply(json.dumps({"question": question, "answer": answer, "calls": calls}))


def test_proposals_of_a_server_are_replayed_and_test_tasks_are_left_out(world):
    """Of seven explorations one gives a valid task; the other proposals are wrong, repeated, a test task or no task."""
    first, second = arithmetic().tasks("test", 2, 0)
    answers = {
        "open-0": proposed("sum of 3 and 4?", "7", "3+4"),
        "open-1": proposed("Sum of 3 and 4?", "7", "3+4"),
        "open-2": proposed("sum of 3 and 5?", "7", "3+5"),
        "open-3": proposed(first.messages[-1].content, "7", "3+4"),
        "open-4": proposed("who?", "7", "7", name="no_such_tool"),
        "open-5": reply("I have no idea."),
        "open-6": proposed(
            f"Please: {second.messages[-1].content}", str(second.answer), str(second.metadata["expression"])
        ),
    }

    def answer(body):
        text = json.dumps(body["messages"])
        return next(found for key, found in answers.items() if f"from {key}" in text)

    def named(count, seed):
        del seed
        return [Task(f"open-{k}", (Message("user", f"from open-{k}"),)) for k in range(count)]

    made = replace(arithmetic(), exploration=Exploration(named, lambda attempt: pytest.fail("the rule proposed")))
    site = world.speaking_site(tasks=task_pool([world.task("t")]), env=made.env(made.tools))
    with ChatServer(answer) as server:
        stage = explore(world=made, attempts=7, proposer=TextRole(f"{server.url}#m", name="proposer"))
        (row,) = stage(site)
    counts = {"attempts": 7, "proposed": 6, "repeated": 1, "failed": 2, "contaminated": 2, "tasks": 1, "unread": 1}
    assert row == {"step": 0.0, **counts}
    (task,) = site.tasks.tasks
    assert task.messages[-1].content == "sum of 3 and 4?" and task.answer == "7"
    assert task.metadata["gold_calls"] == [{"name": "calculator", "arguments": {"expression": "3+4"}}]


def test_without_a_readable_proposal_the_pool_stays(world):
    made = replace(arithmetic(), exploration=Exploration(openings, lambda attempt: []))
    site = world.speaking_site(tasks=task_pool([world.task("t")]))
    with ChatServer(reply("no")) as server:
        (row,) = explore(world=made, attempts=2, proposer=TextRole(f"{server.url}#m", name="proposer"))(site)
    assert row["unread"] == 2 and row["tasks"] == 0 and [one.id for one in site.tasks.tasks] == ["t"]
