import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message, ParsedTurn, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.android_world.phone_tasks import phone_task, phone_tasks
from handaxe.papers.android_world.phone_templates import TEMPLATES
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = phone_tasks()


def played(task, speak):
    one = demonstrate(WORLD.env(()), task, speak, format=Compact(), max_turns=20)
    return one, WORLD.correct(Group(task, (one,))).outcome[0]


def test_the_expert_solves_every_template_within_the_budget():
    tasks = WORLD.tasks("train", 40, 900) + WORLD.tasks("test", 40, 900)
    for task in tasks:
        one, score = played(task, WORLD.expert)
        assert score == 1.0 and one.final_text == "done" and len(one.turns) <= task.metadata["budget"]
    assert {task.metadata["template"] for task in tasks} == set(TEMPLATES)
    assert len({task.id for task in tasks}) == 80


def test_the_budget_ends_a_rollout():
    task = phone_task("delete", 7)
    one, score = played(task, lambda task, facts: Message("assistant", "", (ToolCall("open", {"app": "notes"}),)))
    assert len(one.turns) == task.metadata["budget"] == 6
    assert str(one.ending.kind) == "truncated" and one.ending.reason == "turns" and score == 0.0


def test_a_claim_without_a_change_fails():
    one, score = played(phone_task("set", 7), lambda task, facts: Message("assistant", "done"))
    assert score == 0.0
    claimed = WORLD.gauges["claimed"]
    assert (claimed.top(one, 0.0), claimed.bottom(one, 0.0)) == (1.0, 1.0)


def test_composites_are_scored_by_parts():
    task = phone_task("set_add_delete", 3)
    add = next(one for one in task.metadata["params"]["parts"] if one["action"] == "add")
    calls = [ToolCall("open", {"app": add["app"]}), ToolCall("add", {"row": f"{add['key']} {add['value']}"})]

    def speak(task, facts):
        return Message("assistant", "", (calls.pop(0),)) if calls else Message("assistant", "done")

    assert played(task, speak)[1] == pytest.approx(1 / 3, abs=1e-12)


def test_a_restored_rollout_keeps_rows_and_budget():
    task = phone_task("add", 5)
    (part,) = task.metadata["params"]["parts"]
    env = WORLD.env(())(task)
    env.start()
    turn = ParsedTurn("", (ToolCall("open", {"app": part["app"]}, "0"),))
    env.step(turn, seed=0)
    state = env.snapshot()
    for _ in range(3):
        reply = env.step(turn, seed=0)
    assert reply.done
    env.restore(state)
    added = ParsedTurn("", (ToolCall("add", {"row": f"{part['key']} {part['value']}"}, "1"),))
    reply = env.step(added, seed=0)
    assert reply.facts["success"] == 1.0 and not reply.done
    env.close()


def test_unknown_templates_raise():
    for templates in ((), ("call",)):
        with pytest.raises(InputError, match="templates are some of"):
            phone_tasks(templates=templates)
