from dataclasses import replace

import pytest
from helpers.group_records import with_rollouts

from handaxe.doctor.trial_steps import restored_state, run_trial
from handaxe.methods.build import build
from handaxe.methods.run_spec import run_template

SMALL = {"model": "tiny", "groups": 4, "group_size": 4, "held_out": 8, "steps": 3}


@pytest.fixture(scope="session")
def made():
    """Arguments of a small run of the root method in a world of arithmetic. A test restores its changes."""
    return build(run_template("grpo_no_kl", world="arithmetic").read(SMALL))


@pytest.fixture(scope="session")
def played(made):
    """A trial step of the small run."""
    with restored_state(made["engine"], (), [made["tasks"]]):
        found = run_trial(made, steps=1, groups=4)
    assert not found.error
    return found


@pytest.fixture
def changed_attempt():
    """A function of (groups, change) that applies the change to the first rollout of the groups."""

    def change(groups, how):
        first, *others = groups
        group = first.played.group
        rollouts = (how(group[0]), *group.trajectories[1:])
        return [with_rollouts(first, replace(group, trajectories=rollouts)), *others]

    return change
