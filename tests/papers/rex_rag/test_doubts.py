import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.rex_rag.doubts import add_doubts
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.experts import calls_then_answer

CALLS = [ToolCall("search", {"query": "4071 boss"}), ToolCall("search", {"query": "5526 ally"})]
TASK = Task("t", (Message("user", "4071 boss ally?"),), answer="1390")
EXPERT = calls_then_answer(lambda task, facts: CALLS)


def said(expert, turn, task=TASK):
    return expert(task, {"turn": turn, "replies": [], "statuses": [], "tools": ["search"]})


def test_with_doubts_matches_its_example():
    expert = add_doubts(EXPERT, doubts=["hm "], share=1.0)
    assert said(expert, 0) == Message("assistant", "", (CALLS[0],))
    assert said(expert, 1) == Message("assistant", "hm ", (CALLS[1],))
    assert said(expert, 2) == Message("assistant", "1390")


def test_share_is_the_rate_of_doubts():
    expert = add_doubts(EXPERT, doubts=["hm ", "no "], share=0.5)
    tasks = [Task(f"t{i}", TASK.messages, answer="1") for i in range(200)]
    heard = [said(expert, 1, task).content for task in tasks]
    assert set(heard) == {"", "hm ", "no "} and 70 < heard.count("") < 130
    assert heard == [said(expert, 1, task).content for task in tasks]
    other = add_doubts(EXPERT, doubts=["hm ", "no "], share=0.5, seed=1)
    assert heard != [said(other, 1, task).content for task in tasks]
    assert not any(said(add_doubts(EXPERT, doubts=["hm "], share=0.0), 1, task).content for task in tasks)


def test_an_expert_with_one_call_never_doubts():
    world = arithmetic()
    (task,) = world.tasks("train", 1, 0)
    expert = add_doubts(world.need("expert"), doubts=["hm "], share=1.0)
    one = demonstrate(world.env(world.tools), task, expert, format=Compact())
    assert [turn.parsed.text for turn in one.turns][:-1] == [""] * (len(one.turns) - 1)
    assert one.final_text == str(task.answer)


@pytest.mark.parametrize("doubts, share", [([], 0.5), (["hm "], -0.1), (["hm "], 1.1)])
def test_invalid_arguments_raise(doubts, share):
    with pytest.raises(InputError, match="add_doubts has"):
        add_doubts(EXPERT, doubts=doubts, share=share)
