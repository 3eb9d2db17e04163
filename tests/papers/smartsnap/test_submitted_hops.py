import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.smartsnap.submission import read_submission
from handaxe.papers.smartsnap.submitted_hops import submitted_hops
from handaxe.testing import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("bm25s")


def played(world, count):
    tasks = world.tasks("train", count, 0)
    return [demonstrate(world.env(world.tools), task, world.expert, format=Compact()) for task in tasks]


def test_submitted_hops_keep_the_world_contract():
    check_world(submitted_hops(), count=8)


def test_the_expert_submits_every_useful_result_once():
    world = submitted_hops(padded=0.0, lean=0.0, repeats=1.0)
    for one in played(world, 6):
        found = read_submission(one)
        texts = [reply.content for reply in found.chosen]
        assert len(texts) == len(set(texts)) == one.task.metadata["hops"] == found.observations - 1
        assert world.gauges["supported"].top(one, 1.0) == 1
        assert world.correct(Group(one.task, (one,))).outcome.tolist() == [1]


def test_padded_and_lean_submissions_are_what_training_removes():
    (padded,) = played(submitted_hops(padded=1.0, lean=0.0, repeats=1.0, lengths=(3,)), 1)
    assert padded.calls[-1].arguments["evidences"] == [0, 1, 2, 3, 0, 1, 2, 3]
    world = submitted_hops(padded=0.0, lean=1.0, repeats=0.0, lengths=(2,))
    (lean,) = played(world, 1)
    assert lean.calls[-1].arguments["evidences"] == [1]
    assert world.gauges["supported"].top(lean, 1.0) == 0 and world.gauges["evidences"].top(lean, 1.0) == 1


def test_shares_out_of_range_are_refused():
    with pytest.raises(InputError, match="together at most 1"):
        submitted_hops(padded=0.7, lean=0.5)
