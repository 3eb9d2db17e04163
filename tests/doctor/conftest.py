from dataclasses import replace

import pytest

from handaxe.doctor.played import play_steps, unchanged
from handaxe.methods.build import build
from handaxe.methods.run_spec import run_template

SMALL = {"model": "tiny", "groups": 4, "group_size": 4, "held_out": 8, "steps": 3}


@pytest.fixture(scope="session")
def made():
    """The arguments of a small run of the plain recipe in the world of sums. A test puts back what it changes."""
    return build(run_template("grpo_no_kl", world="sums").read(SMALL))


@pytest.fixture(scope="session")
def played(made):
    """A step of it."""
    with unchanged(made["engine"], (), [made["tasks"]]):
        found = play_steps(made, steps=1, groups=4)
    assert not found.error
    return found


@pytest.fixture
def changed_attempt():
    """A function of (groups, change) that gives the groups with their first attempt changed."""

    def change(groups, how):
        first, *others = groups
        attempts = (how(first.group[0]), *first.group.trajectories[1:])
        return [replace(first, group=replace(first.group, trajectories=attempts)), *others]

    return change
