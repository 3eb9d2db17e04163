import itertools

import pytest

pytest.importorskip("bm25s")

from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.bleuberi.descriptions import descriptions, rouge_l
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


def test_descriptions_keeps_the_world_contract():
    check_world(descriptions(size=16), count=12)


def test_both_orders_are_correct():
    world = descriptions(size=16)
    for task in world.tasks("test", 12, 0):
        assert len(task.answer) == (1 if task.metadata["fields"] == 1 else 2)
        for reference in task.answer:
            one = demonstrate(
                world.env(world.tools), task, lambda t, f: Message("assistant", reference), format=Compact()
            )
            assert world.correct(Group(task, (one,))).outcome[0] == 1 and world.gauges["rouge_l"].top(one, 1.0) == 1


def slow_rouge(said, reference):
    longest = 0
    for size in range(len(said) + 1):
        for chosen in itertools.combinations(said, size):
            rest = iter(reference)
            if all(word in rest for word in chosen):
                longest = size
    return 2 * longest / (len(said) + len(reference))


def test_rouge_l_matches_its_example():
    assert rouge_l(["desk", "is", "52"], "desk is 52 , rank is 7".replace(" ,", "").split()) == pytest.approx(2 / 3)
    assert rouge_l([], []) == 0 and rouge_l(["b"], []) == 0
    for left in itertools.product("bcd", repeat=4):
        for right in (list("bcdb"), list("ddb"), list("cbbcd")):
            assert rouge_l(left, right) == pytest.approx(slow_rouge(list(left), right))
