"""Attempts that branch or grow as a tree, in a run that trains: what the loop makes of them, and kills amid them."""

from pathlib import Path

import numpy as np
import pytest
import torch

from handaxe.core.records import Ending
from handaxe.core.validation import check_group
from handaxe.testing.crash import kill_until_done, run_until_killed
from handaxe.training.loop.train import train
from handaxe.training.record.run_record import RunRecord

STOPPED = Ending("truncated", "stopped")
SIZE = {"branching": 6, "tree": 5}


def groups(folder):
    with RunRecord.open(folder) as record:
        return list(record.groups())


@pytest.mark.parametrize("name", SIZE)
def test_an_attempt_is_a_whole_group_of_which_what_was_given_up_is_not_scored(world, tmp_path, name):
    result = train(**world.growing(name, steps=2, out=tmp_path))
    found = groups(tmp_path)
    assert len(found) == 4
    for one in found:
        siblings = one.played.group
        check_group(siblings)
        given_up = [t.ending == STOPPED for t in siblings]
        assert len(one.scores.outcome) == SIZE[name] == len(siblings) - sum(given_up)
        assert [one.place(i) is None for i in range(len(siblings))] == given_up
    for row in result.metrics:
        assert 0 < row["calls/executed"] <= row["calls/made"] and row["trajectories/left"] > 0
    apart = sum(t.usage.calls for one in found for t in one.played.group)
    assert sum(row["calls/made"] for row in result.metrics) < apart, "what branches share was called once"
    stopped = sum(row["stopped"] for row in result.metrics)
    assert (stopped > 0) == (name == "tree")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "branching")) for name in SIZE]
)
def test_killed_in_the_middle_of_a_tree_and_resumed_is_uninterrupted(world, tmp_path, name):
    """A child process that is killed again and again while a tool answers: the same weights, and the same trees."""
    steps = 5
    roles = world.growing(name, steps=steps, out=tmp_path / "whole")
    train(**roles)
    file = Path(world.__file__)
    for at in (2, 7, 19, 25, 19):
        run_until_killed(file, "resume_growing", (tmp_path / "run", steps, at, name))
    kill_until_done(file, "resume_growing", (tmp_path / "run", steps, 0, name), after=[])
    assert world.same(torch.load(tmp_path / "run" / "final.pt"), world.weights(roles["engine"]))
    for one, other in zip(groups(tmp_path / "whole"), groups(tmp_path / "run"), strict=True):
        assert [t.id for t in one.played.group] == [t.id for t in other.played.group]
        assert [t.branch_of for t in one.played.group] == [t.branch_of for t in other.played.group]
        for mine, theirs in zip(one.played.group, other.played.group, strict=True):
            np.testing.assert_array_equal(mine.sequences[0].ids, theirs.sequences[0].ids)
