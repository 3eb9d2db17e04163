import asyncio
from collections import Counter

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool
from handaxe.tools.noisy import noisy

QUERIES = [{"expression": text} for text in ("2*3", "5*5", "12*34")]


def contents_by_seed(made, expression, seeds):
    return Counter(made.run(ToolCall("calculator", {"expression": expression}), seed=seed).content for seed in seeds)


def test_reply_is_that_of_either_query():
    made = noisy(calculator, chance=0.5, queries=QUERIES[:1])
    assert set(contents_by_seed(made, "12*34", range(30))) == {"408", "6"}


def test_noise_has_its_chance_and_another_query():
    found = contents_by_seed(noisy(calculator, chance=0.4, queries=QUERIES), "12*34", range(2000))
    assert abs(found["408"] / 2000 - 0.6) < 0.04 and abs(found["6"] / found["25"] - 1) < 0.3
    assert set(contents_by_seed(noisy(calculator, chance=1.0, queries=QUERIES), "12*34", range(50))) == {"6", "25"}
    assert set(contents_by_seed(noisy(calculator, chance=0.0, queries=QUERIES), "12*34", range(50))) == {"408"}
    assert set(contents_by_seed(noisy(calculator, chance=1.0, queries=QUERIES[2:]), "12*34", range(50))) == {"408"}


def test_chance_may_depend_on_the_arguments():
    made = noisy(calculator, chance=lambda given: float("*" in given["expression"]), queries=QUERIES)
    assert contents_by_seed(made, "1+1", range(20)) == {"2": 20} and "408" not in contents_by_seed(
        made, "12*34", range(20)
    )


def test_noise_follows_the_seed_and_is_undetectable():
    made, call = noisy(calculator, chance=0.5, queries=QUERIES), ToolCall("calculator", {"expression": "7*8"}, "t0c0")
    for seed in range(20):
        first, again = made.run(call, seed=seed), made.run(call, seed=seed)
        assert (first.content, first.status, first.call_id) == (again.content, "ok", "t0c0")
    assert made.schema == calculator.schema and made is not calculator
    assert calculator.run(call).content == "56"


def test_invalid_arguments_are_refused():
    made = noisy(calculator, chance=1.0, queries=QUERIES)
    assert made.run(ToolCall("calculator", {"text": "1"})).status == "invalid"


def test_methods_and_coroutines_can_be_noisy():
    class Box:
        @tool
        async def look(self, at: int) -> int:
            """Look."""
            await asyncio.sleep(0)
            return at

    made = noisy(Box().look, chance=1.0, queries=[{"at": 5}])
    assert made.run(ToolCall("look", {"at": 1})).content == "5"


def test_noisy_tool_works_in_an_environment():
    env = tool_chat([noisy(calculator, chance=1.0, queries=QUERIES)])(Task("t", (Message("user", "?"),)))
    reply = env.step(ParsedTurn("", (ToolCall("calculator", {"expression": "1+1"}, "c0"),)), seed=3)
    assert reply.replies[0].content in ("6", "25", "408")


def test_invalid_arguments_of_noisy_raise():
    with pytest.raises(InputError, match=r"chance is 1.5"):
        noisy(calculator, chance=1.5, queries=QUERIES)
    with pytest.raises(InputError, match="queries is empty"):
        noisy(calculator, chance=0.5, queries=[])
    with pytest.raises(InputError, match="text.*does not fit"):
        noisy(calculator, chance=0.5, queries=[*QUERIES, {"text": "1"}])
    with pytest.raises(InputError, match="overrides Tool.prepare"):
        noisy(noisy(calculator, chance=0.5, queries=QUERIES), chance=0.5, queries=QUERIES)
