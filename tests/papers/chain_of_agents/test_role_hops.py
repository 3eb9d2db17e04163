import pytest

pytest.importorskip("bm25s")

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.chain_of_agents.role_hops import answer_in, is_sent_back, role_hops
from handaxe.rollouts.in_roles import role_turns
from handaxe.rollouts.linear import linear
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


def played(world, task, speaker=None, rollout=None):
    rollout = rollout or world.make_rollout(8)
    return demonstrate(world.env(world.tools), task, speaker or world.expert, format=Compact(), rollout=rollout)


def test_role_hops_keeps_the_world_contract():
    check_world(role_hops(size=40), count=12)


def test_the_expert_plays_three_roles_for_each_search():
    world = role_hops(lengths=(2,), errors=0.0, size=40)
    task = world.tasks("train", 1, 0)[0]
    made = played(world, task)
    assert [turn.role for turn in role_turns(made)] == ["planner", "worker", "checker"] * 2
    name, path = task.messages[-1].content.split()[0], task.metadata["path"]
    middle = task.metadata["gold_answers"][0]
    texts = [turn.text for turn in role_turns(made) if not turn.calls]
    assert texts == [
        f"{name} {path[0]}",
        f"{middle} {path[1]}",
        f"{middle} {path[1]}",
        f"<answer>{task.answer}</answer>",
    ]
    prompt = Compact().decode(made.sequences[2].ids)
    assert f"checker: {name} {' '.join(path)} | {name} {path[0]} {middle}<END>" in prompt
    assert answer_in(made) == task.answer and not is_sent_back(made)
    assert world.gauges["read_tokens"].top(made, 1.0) == sum(len(one) for one in made.sequences)


def test_a_wrong_sub_goal_is_sent_back_and_planned_again():
    world = role_hops(lengths=(2,), errors=1.0, size=40)
    task = world.tasks("train", 1, 0)[0]
    made = played(world, task)
    assert is_sent_back(made) and len(made.turns) == 12 and answer_in(made) == task.answer
    assert world.correct(Group(task, (made,))).outcome.tolist() == [1]


def test_a_text_ends_the_conversation_only_with_an_answer():
    world = role_hops(lengths=(2,), size=40)
    task = world.tasks("train", 1, 0)[0]
    said = iter([Message("assistant", "let me see"), Message("assistant", f"<answer>{task.answer}</answer>")])
    made = played(world, task, lambda task, facts: next(said), linear(max_turns=4))
    assert made.ending.kind == "completed" and len(made.turns) == 2 and answer_in(made) == task.answer


@pytest.mark.parametrize("text", ["1390", "<answer>1</answer><answer>2</answer>", "<answer>1<", ""])
def test_other_texts_state_no_answer(text):
    world = role_hops(lengths=(2,), size=40)
    task = world.tasks("train", 1, 0)[0]
    made = played(world, task, lambda task, facts: Message("assistant", text), linear(max_turns=1))
    assert answer_in(made) == "" and world.correct(Group(task, (made,))).outcome.tolist() == [0]


def test_facts_count_the_chain_in_order():
    world = role_hops(lengths=(2,), size=40)
    task = world.tasks("train", 1, 0)[0]
    first, second = (call["arguments"]["query"] for call in task.metadata["gold_calls"])
    calls = [Message("assistant", "", (ToolCall("search", {"query": query}),)) for query in (second, first, second)]
    made = played(world, task, lambda task, facts: calls[facts["turn"]], linear(max_turns=3))
    assert [(turn.facts["found"], turn.facts["missed"]) for turn in made.turns] == [(0, 1), (1, 0), (2, 0)]


def test_a_share_out_of_range_is_rejected():
    with pytest.raises(InputError, match="errors is 2"):
        role_hops(errors=2)
