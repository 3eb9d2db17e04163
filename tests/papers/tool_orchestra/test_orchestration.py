import pytest

from handaxe.core.errors import InputError
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tool_orchestra.orchestration import WANTED, orchestration
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.routing.world import routing


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def test_orchestration_keeps_the_world_contract():
    check_world(orchestration(), count=20)


def test_two_wishes_are_drawn_and_stated():
    tasks = orchestration().tasks("train", 200, 0)
    for one, plain in zip(tasks, routing().tasks("train", 200, 0), strict=True):
        first, second = one.metadata["like"], one.metadata["second"]
        assert one.messages[0].content == f"{plain.messages[0].content} want {first} 9 {second} 5"
        expected = dict.fromkeys(("cost", "seconds", "small", "calculator", "python"), 0.0)
        assert one.metadata["preference"] == expected | {first: 0.9, second: 0.5, "outcome": 1.0}
    pairs = {(one.metadata["like"], one.metadata["second"]) for one in tasks}
    assert len(pairs) == len(WANTED) * (len(WANTED) - 1)


def test_gauges_count_calls_of_wished_tools_alone():
    world = orchestration()
    tasks = world.tasks("test", 60, 0)
    for key, gauge in (("like", world.gauges["liked"]), ("second", world.gauges["seconded"])):
        for task in tasks:
            one = demonstrate(world.env(()), task, world.expert, format=Compact())
            (call,) = one.calls
            wished = task.metadata[key] in ("calculator", "python")
            assert gauge.bottom(one, 1.0) == wished
            assert gauge.top(one, 1.0) == (call.name == task.metadata[key])


def test_shares_out_of_range_raise():
    with pytest.raises(InputError, match="easy and text are shares"):
        orchestration(easy=1.5)
