from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.curricula.task_pool import task_pool
from handaxe.papers.agent_evolver.explore import explore
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.world import Exploration


def openings(count, seed):
    return [Task(f"open-{seed}-{k}", (Message("user", f"{k}"),)) for k in range(count)]


def propose(attempt):
    """A sum that the calculator works out, one that it does not, and the first once more."""
    calls = [{"name": "add", "arguments": {"numbers": "7"}}]
    good = Task(f"explored-{attempt.task.id}", (Message("user", f"sum {attempt.task.messages[0].content}?"),), "7",
                metadata={"gold_calls": calls})  # fmt: skip
    return [good, replace(good, answer="8", messages=(Message("user", f"{good.messages[0].content}!"),)), good]


def here(world, **options):
    return world.speaking_site(tasks=task_pool([world.task("t")]), **options)


def stage(proposing=propose, **options):
    world = replace(arithmetic(), exploration=Exploration(openings, proposing))
    return explore(world=world, attempts=4, **options)


@pytest.mark.slow
def test_the_pool_has_the_explored_tasks_and_is_restored_on_resume(world, tmp_path):
    found = []
    for options in ({}, {"out": tmp_path}, {"out": tmp_path, "resume": True}):
        site = here(world, **options)
        before = world.weights(site.engine)
        (row,) = stage()(site)
        assert row == {"step": 0.0, "attempts": 4.0, "proposed": 12.0, "repeated": 4.0, "failed": 4.0, "tasks": 4.0}
        assert world.same(before, world.weights(site.engine))
        found.append(site.tasks.tasks)
    assert found[0] == found[1] == found[2] and {one.answer for one in found[0]} == {"7"}


def test_without_a_valid_task_the_pool_stays(world):
    site = here(world)
    (row,) = stage(proposing=lambda attempt: [])(site)
    assert row["tasks"] == 0 and [one.id for one in site.tasks.tasks] == ["t"]


def test_explore_rejects_invalid_arguments(world):
    with pytest.raises(InputError, match="has no 'exploration'"):
        explore(world=arithmetic())
    with pytest.raises(InputError, match="attempts is 0"):
        explore(world=replace(arithmetic(), exploration=Exploration(openings, propose)), attempts=0)
    with pytest.raises(InputError, match=r"explore changes which tasks there are: .*task_pool"):
        stage()(world.site())
