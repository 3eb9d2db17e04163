import pytest

pytest.importorskip("bm25s")

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.asearcher.trails import trail_documents, trails
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def played(world, task, *, max_turns=24):
    rollout = world.make_rollout(max_turns)
    return demonstrate(world.env(world.tools), task, world.expert, format=Compact(), rollout=rollout)


def test_trails_keeps_the_world_contract():
    check_world(trails(size=40, lengths=(1, 2, 3)), count=20)


def test_documents_name_the_next_number_and_the_answer():
    assert [(one["id"], one["text"]) for one in trail_documents((("4071", "5526", "1390"),))] == [
        ("4071", "to5526"),
        ("5526", "end1390"),
    ]


def test_a_rollout_follows_the_trail_and_the_question_tells_no_length():
    world = trails(size=40)
    for task in world.tasks("train", 20, 0):
        one, length = played(world, task), task.metadata["length"]
        assert len(one.calls) == length and one.final_text == task.answer
        assert task.messages[0].content == f"{one.calls[0].arguments['query']}?"
        for call, reply in zip(one.calls[1:], one.replies, strict=False):
            assert reply.content.split()[-1] == "to" + call.arguments["query"]
        assert one.replies[-1].content.split()[-1] == "end" + task.answer
        assert (
            world.gauges["long"].top(one, 1.0) == (length >= 10) and world.gauges["turns"].top(one, 1.0) == length + 1
        )
        assert world.correct(Group(task, (one,))).outcome[0] == 1


def test_a_limit_of_turns_leaves_longer_trails_unsolved():
    world = trails(size=40, lengths=(12,))
    (task,) = world.tasks("test", 1, 0)
    assert played(world, task, max_turns=5).ending.kind == "truncated"
    assert world.correct(Group(task, (played(world, task, max_turns=5),))).outcome[0] == 0


def test_longest_demonstrations_fit_the_start():
    world = trails(size=40, lengths=(20,))
    one = played(world, world.tasks("train", 1, 0)[0], max_turns=21)
    assert len(one.sequences[0].ids) <= world.start_context and len(one.turns) <= world.start_turns


def test_arguments_out_of_range_raise():
    for options in ({"lengths": (0,)}, {"lengths": (21,)}, {"lengths": ()}, {"size": 39}, {"size": 401}):
        with pytest.raises(InputError, match="give lengths from 1"):
            trails(**options)
