import pytest

pytest.importorskip("bm25s")

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.library.world import library
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
    return tmp_path / "library"


def test_expert_queries_occur_in_previous_replies():
    """In nearly all cases; a snippet is not the whole document."""
    world = library()
    led = []
    for task in world.tasks("test", 60, 0):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), context=512)
        assert world.correct(Group(task, (one,))).outcome[0] == 1
        assert len(one.calls) == task.metadata["hops"] and {reply.status for reply in one.replies} == {"ok"}
        led.append(task.answer in one.replies[-1].content)
    assert sum(led) / len(led) > 0.9


def test_the_index_is_cached(cache):
    library(size=60)
    (made,) = cache.iterdir()
    before = made.stat().st_mtime_ns
    library(size=60)
    assert [folder.stat().st_mtime_ns for folder in cache.iterdir()] == [before]
    library(size=60, world_seed=1)
    assert len(list(cache.iterdir())) == 2


def test_hops_out_of_range_raise():
    with pytest.raises(InputError, match="hops 1 to 4"):
        library(hops=(5,), size=60).tasks("train", 1, 0)
