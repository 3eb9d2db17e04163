"""Rollouts at the tasks of drafts by rule: independence of other tasks, tools, and refusals."""

from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.synthesis.draft_rollouts import DraftRollouts, scored_ones
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.task_drafts import draft_task, task_draft
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic()
ENV = WORLD.env(WORLD.tools)
DRAFTS = [task_draft(one) for one in WORLD.tasks("train", 12, 0)]
HERE = SynthesisContext(seed=0, workers=2)


def test_a_rollout_depends_on_its_task_seed_and_number_alone():
    rollouts, tasks = DraftRollouts(WORLD, ENV, samples=3), [draft_task(one) for one in DRAFTS]
    together = [[one.final_text for one in group] for group, _ in rollouts.play(tasks, HERE)]
    alone = [[one.final_text for one in rollouts.play([task], HERE)[0][0]] for task in tasks]
    other = [[one.final_text for one in group] for group, _ in rollouts.play(tasks, SynthesisContext(seed=1))]
    assert together == alone != other and rollouts.play([], HERE) == []


def test_rollouts_without_tools_have_no_call_that_runs():
    ((group, _),) = DraftRollouts(WORLD, ENV, samples=3, tools=False).play([draft_task(DRAFTS[0])], HERE)
    assert not [reply for one in group for reply in one.replies if reply.status == "ok"]


def test_rollouts_without_a_score_are_left_out():
    ((group, scores),) = DraftRollouts(WORLD, ENV, samples=3).play([draft_task(DRAFTS[0])], HERE)
    found = scored_ones(group, replace(scores, outcome=np.array([1.0, np.nan, 0.0])))
    assert [(one.id, value) for one, value in found] == [(group[0].id, 1.0), (group[2].id, 0.0)]


def test_numbers_and_a_world_without_an_expert_are_refused():
    with pytest.raises(InputError, match="from 1, not 0"):
        DraftRollouts(WORLD, ENV, samples=0)
    with pytest.raises(InputError, match="expert"):
        DraftRollouts(replace(WORLD, expert=None), ENV)
