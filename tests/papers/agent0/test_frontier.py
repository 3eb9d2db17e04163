import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.curricula.in_order import in_order
from handaxe.curricula.task_pool import task_pool
from handaxe.papers.agent0.frontier import frontier, uncertain_tasks
from handaxe.papers.agent0.votes import NOTE, Proposal
from handaxe.testing.crash import kill_until_done, run_until_killed
from handaxe.testing.make_records import make_trajectory
from handaxe.training.loop.aux_policy import AuxLearner
from handaxe.training.record.checkpoint import Checkpoints
from handaxe.training.sft.supervised import as_rated


def asked(name, share, answer="7"):
    """A question, as a proposer's attempt shows it."""
    task = Task(f"asked-{name}", (Message("user", f"{name}=?"),), metadata={"expression": name})
    said = Proposal(name, answer, share, 1.0, 10)
    return replace(
        make_trajectory(texts=[name]),
        id=f"{name} {share}",
        notes={NOTE: said._asdict()},
        aux_turns=(replace(make_trajectory(texts=[answer], task=task), by="solver"),),
    )


def test_frontier_matches_its_example():
    played = [as_rated([asked("a", 0.2), asked("b", 0.3)]), as_rated([asked("c", 0.8, "9"), asked("d", 0.9)])]
    kept = uncertain_tasks(played, low=0.3, high=0.8)
    assert [(one.id, one.answer, one.metadata["score"]) for one in kept] == [
        ("asked-b", "7", 0.3), ("asked-c", "9", 0.8),
    ]  # fmt: skip
    assert kept[0].metadata["expression"] == "b" and kept[0].messages[0].content == "b=?"


def test_unreadable_repeated_and_rejected_questions_make_no_task():
    nothing = replace(make_trajectory(texts=["?"]), id="unread")
    played = [as_rated([asked("a", 0.5), asked("a", 0.6), asked("b", 0.5), asked("c", 0.0, ""), nothing])]
    kept = uncertain_tasks(played, low=0.0, high=0.8, accept=lambda task: task.id != "asked-b")
    assert [(one.id, one.metadata["score"]) for one in kept] == [("asked-a", 0.5)]
    assert uncertain_tasks([as_rated([asked("a", 0.1 + 0.2)])], low=0.3, high=0.3) != []
    assert uncertain_tasks([], low=0.3, high=0.8) == []


def made(world, site, *, low=0.0, high=1.0, second=None):
    rollout = world.proposing(read=world.read_anything, solve=world.linear(max_turns=2), samples=2)
    arguments = {**world.PLAY, "tasks": in_order([world.OPENING]), "rollout": rollout}
    return frontier(
        second=second or AuxLearner(),
        aux_name="solver",
        low=low,
        high=high,
        steps=2,
        group_size=4,
        arguments=arguments,
    )(site)


@pytest.mark.slow
def test_the_pool_has_the_uncertain_questions_and_is_restored_on_resume(world, tmp_path):
    found = []
    for options in ({}, {"out": tmp_path}, {"out": tmp_path, "resume": True}):
        site, second = world.speaking_site(tasks=task_pool([world.task("t")]), **options), AuxLearner()
        before = world.weights(site.engine)
        (row,) = made(world, site, second=second)
        tasks = site.tasks.tasks
        assert row["questions"] == 8 and row["tasks"] == len(tasks) > 1
        assert all(one.id.startswith("asked-") and one.answer and 0 < one.metadata["score"] <= 1 for one in tasks)
        assert world.same(before, world.weights(site.engine)) and world.same(before, world.weights(second.engine))
        found.append(tasks)
    assert found[0] == found[1] == found[2]


def test_without_an_uncertain_question_the_pool_stays(world):
    site = world.speaking_site(tasks=task_pool([world.task("t")]))
    (row,) = made(world, site, low=2.0, high=2.0)
    assert row["tasks"] == 0 and [one.id for one in site.tasks.tasks] == ["t"]


def test_frontier_rejects_invalid_arguments(world):
    with pytest.raises(InputError, match="low is 1.0 and high 0.5"):
        made(world, world.site(), low=1.0, high=0.5)
    with pytest.raises(InputError, match=r"frontier changes which tasks there are: .*task_pool"):
        made(world, world.site())


PHASES = [f"01-repeat/{k:02d}-{name}" for k, name in enumerate(["reinforce_second", "frontier", "reinforce"] * 2)]


@pytest.mark.exact
@pytest.mark.slow
def test_a_run_killed_in_any_phase_ends_with_the_weights_of_an_uninterrupted_one(world, tmp_path):
    """Curriculum, data and solver's steps of two rounds, each killed at its first reward: the same weights."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    kill_until_done(Path(world.__file__), "resume_two_policies", (str(whole), ""), after=[])
    for phase in PHASES:
        run_until_killed(Path(world.__file__), "resume_two_policies", (str(cut), phase))
    kill_until_done(Path(world.__file__), "resume_two_policies", (str(cut), ""), after=[])
    first, second = torch.load(whole / "final.pt"), torch.load(cut / "final.pt")
    for left, right in zip(first, second, strict=True):
        assert left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)
    assert any(not torch.equal(first[0][name], first[1][name]) for name in first[0])
    for folder in (whole, cut):
        saved = Checkpoints(folder / "run" / PHASES[-1] / "checkpoints").found()[-1].path / "state.json"
        assert "learner/aux_learner" in json.loads(saved.read_text())["parts"]
