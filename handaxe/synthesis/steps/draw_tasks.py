"""Step: draws training tasks from the generator of a world."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.ops.seeds import derive_seed
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import task_draft
from handaxe.worlds.world import World

__all__ = ["draw_tasks"]


def draw_tasks(world: World, *, options: str = "") -> SynthesisStep:
    """Make the step "propose" of the rule: seeds -> tasks of the world's training split.

    The seeds of a round get the tasks of one draw, in order. A finite world has fewer tasks; further seeds are dropped
    as "exhausted".

    Args:
        world: whose generator draws.
        options: text of the world's options, on which the tasks depend.

    Returns:
        A step that reads drafts of kind "seed" and makes drafts of kind "task".

    Example:
        256 seeds of a round -> world.tasks("train", 256, seed of the round)

    Idea: a template needs no model, and its tasks have answers and reference calls by construction.
    """

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        first = int(drafts[0].payload["number"])
        tasks = world.tasks("train", len(drafts), derive_seed("synthesis", at.seed, first))
        made = [kept(task_draft(task, parents=(one.id,))) for one, task in zip(drafts, tasks, strict=False)]
        return made + [dropped("exhausted")] * (len(drafts) - len(made))

    return SynthesisStep("propose", run, settings={"by": "rule", "world": world.name, "options": options}, whole=True)
