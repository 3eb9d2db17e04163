"""Pipeline: judging tasks of a world, about pairs of rollouts or single steps."""

from __future__ import annotations

from typing import Literal

from handaxe.asking.desk import AskDesk
from handaxe.core.errors import InputError
from handaxe.synthesis import steps
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.draft_rollouts import DraftRollouts
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.step import SynthesisStep

__all__ = ["judgements"]


def judgements(
    at: PipelineContext,
    *,
    of: Literal["pairs", "steps"] = "pairs",
    writes: Literal["rationales", "labels", "both"] = "rationales",
    length: float = 0.2,
    tries: int = 3,
    samples: int = 4,
    max_tokens: int = 256,
    batch: int = 256,
) -> Pipeline:
    """Make questions which of two rollouts of a task is correct, or whether a step is.

        pairs   propose -> corrupt, or sample_groups with a policy -> judging_tasks -> dedupe -> decontaminate
        steps   propose -> label_steps -> judging_steps -> dedupe -> decontaminate

    The rule draws tasks of the world, plays the expert, and corrupts its rollout or labels the steps of rollouts with
    mistakes; a policy plays the rollouts itself.

    Args:
        of: "pairs", or "steps" in a world with verdicts.
        writes: of the model that `--proposer` names: "rationales" keeps tasks that it judges correctly, with its
            reasons; "labels" has it rewrite the expert's last turn, or judge each step beside the rule.
        length: greatest share by which the lengths of two rollouts differ.
        tries: draws of a kind of corruption.
        samples: rollouts of a task, of the policy or for steps.
        max_tokens: of a model's answer.
        batch: tasks of a round.

    Raises:
        InputError: see the steps; a policy beside a model that rewrites.

    Example:
        "12*34=?"  ->  "Question: "12*34=?" A: "... tool: 408 assistant: 403" B: "... assistant: 408" ...", answer B

    Paper: arXiv:2505.02387 (RM-R1), arXiv:2508.05613 (Cooper), arXiv:2510.14942 (GroundedPRM): data of judges.
    Unconfirmed: see the steps.
    Differs: see the steps.
    """
    labeller = at.desk if writes != "rationales" else None
    judge = at.desk if writes != "labels" else None
    rollouts = DraftRollouts(at.world, at.env, at.policy, samples=samples)
    last: SynthesisStep
    if of == "steps":
        middle, last = (
            steps.label_steps(rollouts, desk=labeller),
            steps.judging_steps(desk=judge, max_tokens=max_tokens),
        )
    else:
        middle = _pairs(at, labeller, rollouts, length, tries, max_tokens)
        last = steps.judging_tasks(desk=judge, length=length, max_tokens=max_tokens)
    chosen = (
        steps.draw_tasks(at.world, options=at.options),
        middle,
        last,
        steps.dedupe(similarity=1.1),
        steps.decontaminate(at.tests),
    )
    about = {"world": at.world.name, "options": at.options, "of": of, "writes": writes}
    return Pipeline("judgements", chosen, batch=batch, about=about)


def _pairs(
    at: PipelineContext, desk: AskDesk | None, rollouts: DraftRollouts, length: float, tries: int, max_tokens: int
) -> SynthesisStep:
    if at.policy is not None and desk is not None:
        raise InputError("a policy plays both rollouts of a pair, and a model rewrites none: give --writes rationales")
    if at.policy is not None:
        return steps.sample_groups(rollouts)
    return steps.corrupt(at.world, at.env, desk=desk, tries=tries, length=length, max_tokens=max_tokens)
