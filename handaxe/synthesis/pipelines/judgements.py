"""Pipeline: judging tasks of a world, from corrupted rollouts of its expert or from rollouts of a policy."""

from __future__ import annotations

from typing import Literal

from handaxe.synthesis import steps
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.draft_rollouts import DraftRollouts
from handaxe.synthesis.pipeline import Pipeline

__all__ = ["judgements"]


def judgements(
    at: PipelineContext,
    *,
    writes: Literal["rationales", "corruptions", "both"] = "rationales",
    length: float = 0.2,
    tries: int = 3,
    samples: int = 4,
    max_tokens: int = 256,
    batch: int = 256,
) -> Pipeline:
    """Make questions which of two rollouts of a task is correct.

        propose -> corrupt, or sample_groups with a policy -> judging_tasks -> dedupe -> decontaminate

    The rule draws tasks of the world, plays the expert, and corrupts its rollout; a policy plays both rollouts itself.
    `--proposer` names the model that judges the pairs or corrupts rollouts.

    Args:
        writes: of the model: "rationales" keeps pairs that it judges correctly, with its reasons; "corruptions" has it
            rewrite the expert's last turn.
        length: greatest share by which the lengths of two rollouts differ.
        tries: draws of a kind of corruption.
        samples: rollouts of the policy for a task.
        max_tokens: of a model's answer.
        batch: tasks of a round.

    Example:
        "12*34=?"  ->  "Question: "12*34=?" A: "... tool: 408 assistant: 403" B: "... assistant: 408" ...", answer B

    Paper: arXiv:2505.02387 (RM-R1), arXiv:2508.05613 (Cooper): data of judges by a model's rationales and rewrites.
    Unconfirmed: see the steps.
    Differs: see the steps.
    """
    corruptor = at.desk if writes != "rationales" else None
    judge = at.desk if writes != "corruptions" else None
    if at.policy is None:
        groups = steps.corrupt(at.world, at.env, desk=corruptor, tries=tries, length=length, max_tokens=max_tokens)
    else:
        groups = steps.sample_groups(DraftRollouts(at.world, at.env, at.policy, samples=samples))
    chosen = (
        steps.draw_tasks(at.world, options=at.options),
        groups,
        steps.judging_tasks(desk=judge, length=length, max_tokens=max_tokens),
        steps.dedupe(similarity=1.1),
        steps.decontaminate(at.tests),
    )
    about = {"world": at.world.name, "options": at.options, "writes": writes}
    return Pipeline("judgements", chosen, batch=batch, about=about)
