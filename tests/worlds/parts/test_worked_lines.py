import random
from dataclasses import replace

import pytest

from handaxe.core.records import Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.worked_lines import remaining, sum_equals, verdicts
from handaxe.worlds.worked_steps import worked_steps


def test_remaining_and_sum_equals_match_their_examples():
    assert remaining("4+7+3", "4+7=12") == "12+3" and remaining("12+3", "12+3=15") == "15"
    assert remaining("4+7+3", "7+3=10") is None and remaining("14+7", "1+7=8") is None
    assert remaining("4+7+3", "4+7+3=14") == "14"
    assert (
        sum_equals("4+7", "11")
        and sum_equals("4+7", "odd")
        and not sum_equals("4+7", "12")
        and not sum_equals("4+7", "even")
    )


def test_sum_equals_agrees_with_counting():
    rng = random.Random(0)
    for _ in range(50):
        terms = [rng.randrange(1, 50) for _ in range(rng.randrange(2, 5))]
        said = sum(terms) + rng.choice((-1, 0, 0, 1))
        assert sum_equals("+".join(map(str, terms)), str(said)) == (said == sum(terms))


@pytest.mark.parametrize("evil", ["__import__('os')", "1e9", "", "-1", "11 ", "9" * 5000])
def test_text_is_not_evaluated(evil):
    assert not sum_equals("4+7", evil) and not sum_equals(evil if evil != "11 " else "x", "11")
    assert remaining("4+7", f"4+7={evil}") is None


def rollout(*said):
    """A rollout; each turn is a text, or a list of lines."""
    world = worked_steps()
    task = replace(world.tasks("train", 1, 0)[0], messages=(Message("user", "4+7+3=?"),))
    task = replace(task, answer=None, metadata={"expression": "4+7+3", "terms": 3})

    def speaker(task, facts):
        one = said[facts["turn"]]
        if isinstance(one, str):
            return Message("assistant", one)
        return Message("assistant", "", tuple(ToolCall("line", {"text": text}) for text in one))

    return demonstrate(world.env(()), task, speaker, format=Compact(), max_turns=12)


@pytest.mark.parametrize(
    "said, wanted",
    [
        ((["4+7=12"], ["12+3=15"], "15"), [-1, 1, 1]),
        ((["4+7=11"], ["no"], ["4+7=11"], ["11+3=14"], "15"), [1, -1, 1, 1, -1]),
        (("14",), [1]),
        (("none",), [-1]),
        ((["4+7=11", "11+3=14"], "14"), [1, 1]),
        ((["4+7=11", "11+3=15"], "15"), [-1, 1]),
        ((["3+4=7"], "7"), [-1, -1]),
        ((["no"], "14"), [-1, 1]),
    ],
)
def test_verdicts_match_manual_verdicts(said, wanted):
    """Verdicts do not read the task's answer."""
    assert verdicts(rollout(*said)).tolist() == wanted


def test_verdicts_of_an_empty_rollout():
    assert verdicts(replace(rollout("14"), turns=())).shape == (0,)
