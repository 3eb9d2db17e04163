"""A method that makes its own tasks by exploring, and keeps tips of what it has tried."""

from __future__ import annotations

from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.records import Task
from handaxe.curricula.task_pool import TaskPool
from handaxe.curricula.tip_pool import tip_pool, tips_of
from handaxe.losses.adjustments.clip_with_room import clip_with_room
from handaxe.losses.surrogates.unclipped import unclipped
from handaxe.methods.method import Method
from handaxe.papers.agent_evolver.explore import explore
from handaxe.papers.agent_evolver.hint_clip_bonus import hint_clip_bonus
from handaxe.rollouts.hinted import hinted
from handaxe.training.stages.teach_expert import teach_expert
from handaxe.worlds.parts.hints import with_tips

__all__ = ["from_experience"]


def from_experience(
    base: Method, *, explored: int = 0, tips: int = 0, wider: float = 0.4, taught: int = 0, eps: float = 0.2
) -> Method:
    """The base, on tasks of its own making and with tips of its own; the base itself where both are 0.

        explored   a stage before the loop plays so many attempts without a task, and makes the run's tasks of them
        tips       of a group of G, sibling i reads round((G - 1 - i) / (G - 1) tips) of a task's tips, the last none;
                   a record in which they are taken out again trains, at log-probs measured without them, and where
                   A > 0 its ratio is clipped at 1 + eps + wider
        taught     a stage that teaches to read tips (`worlds.parts.hints.with_tips`), for a policy that never has

    Evaluations are those of the base: their tasks are the world's, and nobody is told a tip.

    Args:
        base: the method.
        explored: attempts, >= 0.
        tips: most of a task, >= 0.
        wider: how much further the ratio may rise after a tip, >= 0.
        taught: steps, >= 0; 0 for a model that reads tips, or for none.
        eps: of the clip on either side, which takes the place of the base's surrogate where there are tips.

    Raises:
        InputError: a number below 0; the base has a curriculum of its own; the world has no `exploring`, or, with
            `taught`, no reference.
    """
    if min(explored, tips, taught) < 0:
        raise InputError(f"explored is {explored}, tips {tips} and taught {taught}; give 0 or more of each")
    if not explored and not tips:
        return base
    if base.tasks is not None:
        raise InputError("explored tasks and tips need a base without a curriculum of its own; choose another --base")
    made = base
    if taught and tips:
        made = replace(made, stages=(*made.stages, teach_expert(world=with_tips(base.world), steps=taught)))
    if explored:
        made = replace(made, stages=(*made.stages, explore(world=base.world, attempts=explored)), tasks=_pooled)
    if tips:
        measured = made.annotate if "old_logp" in made.annotate else (*made.annotate, "old_logp")
        clipped = clip_with_room(eps_low=eps, eps_high=eps, wider=wider)
        made = replace(
            made,
            tasks=tip_pool(top=tips).curriculum,
            rollout=hinted(rollout=made.rollout, criteria=tips_of, strip=True),
            credit=hint_clip_bonus(credit=made.credit),
            surrogate=unclipped(),
            adjustments=(clipped, *made.adjustments),
            annotate=measured,
        )
    return made


def _pooled(tasks: list[Task], seed: int) -> TaskPool:
    return TaskPool(tasks, seed=seed, shuffle=True)
