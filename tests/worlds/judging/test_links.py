import pytest

from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.worlds import check_world
from handaxe.worlds.judging.links import SIZE, links, path
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = links()


def test_links_keeps_the_world_contract():
    check_world(WORLD, count=12)


def test_a_path_by_hand():
    assert path([3, 4, 2, 1], 1) == (3, 2) and path([3, 4, 2, 1], 4) == (1, 3)


@pytest.mark.parametrize("task", WORLD.tasks("test", 20, 0), ids=lambda task: task.id)
def test_the_answer_follows_two_links(task):
    table, start = task.messages[0].content.split()
    place = start
    for _ in range(2):
        assert table[int(place) - 1] != place and len(table) == SIZE
        place = table[int(place) - 1]
    assert task.answer == start + place
    assert path(task.metadata["table"], task.metadata["other"])[1] != int(place)
    wrong = demonstrate(WORLD.env(()), task, lambda task, facts: WORLD.expert(task, facts), format=Compact())
    assert WORLD.correct(Group(task, (wrong,))).outcome[0] == 1
