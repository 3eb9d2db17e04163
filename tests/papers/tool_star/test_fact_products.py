import pytest

pytest.importorskip("bm25s")

from handaxe.core.errors import InputError
from handaxe.core.records import Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tool_star.fact_products import NEEDLESS_PERIOD, fact_products
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


def test_fact_products_keeps_the_world_contract():
    check_world(fact_products(size=16), count=12)


def test_stated_questions_have_their_fact_in_the_text_and_need_no_tool():
    world, plain = fact_products(size=16, stated=0.5), fact_products(size=16)
    check_world(world, count=12)
    stated = [task for task in world.tasks("train", 60, 0) if task.metadata.get("stated") == "yes"]
    assert 15 < len(stated) < 45 and not [one for one in plain.tasks("train", 60, 0) if "stated" in one.metadata]
    gauge = world.gauges["stated_calls"]
    for task in stated:
        name, _, _, value = task.messages[0].content.partition(".")[0].split()
        assert task.messages[0].content == f"{name} rank is {value}. {name} rank?" and task.answer == value
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
        unsure = demonstrate(
            world.env(world.tools),
            task,
            lambda task, facts: world.expert(task, {**facts, "sure": False}),
            format=Compact(),
        )
        assert (gauge.top(one, 1.0), gauge.top(unsure, 1.0), unsure.final_text) == (0.0, 1.0, value)
    with pytest.raises(InputError, match="stated is 2"):
        fact_products(stated=2)


def test_hard_questions_need_both_tools_and_some_easy_demonstrations_use_both():
    world = fact_products(size=16)
    used, gauge = {"yes": [], "no": []}, world.gauges["used_both"]
    for task in world.tasks("train", 60, 0):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
        used[task.metadata["needs_both"]].append(gauge.top(one, 1.0))
        assert one.calls[0].arguments == task.metadata["gold_calls"][0]["arguments"]
    assert set(used["yes"]) == {1.0}
    assert 0 < sum(used["no"]) / len(used["no"]) < 2.5 / NEEDLESS_PERIOD


def test_answers_follow_from_the_questions():
    for task in fact_products(size=16).tasks("test", 30, 0):
        left, sign, right = task.metadata["expression"].partition("*")
        assert bool(sign) == (task.metadata["needs_both"] == "yes")
        assert int(task.answer) == int(left) * int(right or 1)
        assert task.messages[0].content.endswith(f"{sign}{right}?") and left not in task.messages[0].content.split()


def test_failed_calls_do_not_count_in_used_both():
    world = fact_products(size=16)
    task = next(one for one in world.tasks("train", 9, 0) if one.metadata["needs_both"] == "yes")
    broken = task.metadata["expression"] + "*"

    def clumsy(task, facts):
        said = world.expert(task, facts)
        if facts["turn"] == 1:
            (call,) = said.calls
            return Message("assistant", "", (type(call)(call.name, {"expression": broken}),))
        return said

    one = demonstrate(world.env(world.tools), task, clumsy, format=Compact())
    assert len(one.calls) == 2 and world.gauges["used_both"].top(one, 0.0) == 0


def test_the_expert_is_independent_of_the_order_of_tools():
    world = fact_products(size=16)
    task = next(one for one in world.tasks("train", 9, 0) if one.metadata["needs_both"] == "yes")
    one = demonstrate(world.env(world.tools[::-1]), task, world.expert, format=Compact())
    assert [call.name for call in one.calls] == ["search", "calculator"]
