"""Pipeline of `handaxe synthesize`: questions of a proposer that a solver answers with search, and not without."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.synthesis import pipelines, steps
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.draft_rollouts import DraftRollouts
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.solvers import Solver, rollout_solver, rule_solver
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_text

__all__ = ["duetqa"]


def duetqa(
    at: PipelineContext,
    *,
    samples: int = 4,
    least: float = 0.25,
    max_turns: int = 10,
    max_tokens: int = 64,
    batch: int = 256,
) -> Pipeline:
    """Make questions by self-play of a proposer and a solver; a question is kept if it needs search and can be solved.

        propose -> solve or replay -> told -> closed_book -> duet -> dedupe -> decontaminate

        told          dropped if the answer stands in the question
        closed_book   dropped if a rollout of the solver without tools has it, or if none of these could be scored
        duet          kept if at least a share `least` of the solver's rollouts with tools has the proposer's answer

    Args:
        at: `--proposer` names the proposer: a rule, which draws tasks of the world, or a model, which writes them;
            `--policy` names the solver: a model, or by default the rule, the expert of the world.
        samples: rollouts of the solver for a question, 1 or more.
        least: share of rollouts with the proposer's answer, above 0 and at most 1. Unconfirmed.
        max_turns, max_tokens: of a rollout, and of a turn.
        batch: proposals of a round.

    Raises:
        InputError: a number out of range.

    Example:
        4 rollouts with the answers 5526, 5526, 9769 and none to a question of the proposer with the answer 5526
        ->  share 0.5: kept; a rollout without tools that answers 5526: dropped by closed_book

    Paper: arXiv:2509.24107 (Fathom-DeepResearch), DuetQA: two models with search that propose and answer questions.
    Unconfirmed: the filters beyond their purpose, the number of rollouts and the share.
    Differs: the rule proposes questions of the world; a model reads training tasks as examples instead of live pages.
    """
    if samples < 1 or not 0 < least <= 1:
        raise InputError(f"duetqa takes samples from 1 and a share least above 0, up to 1, not {samples}, {least}")
    made = pipelines.questions(at._replace(policy=None), batch=batch)
    own = [
        SynthesisStep("told", _untold),
        steps.answer_votes(_closed_solver(at, samples, max_tokens), of="answer", high=0.0, name="closed_book"),
        steps.answer_votes(_solver(at, samples, max_turns, max_tokens), of="answer", low=least, name="duet"),
    ]
    chosen = (*made.steps[:2], *own, *made.steps[2:])
    return Pipeline("duetqa", chosen, batch=batch, about={"world": at.world.name, "options": at.options})


def _untold(drafts: Sequence[SynthesisDraft], context: SynthesisContext) -> list[DraftOutcome]:
    del context
    told = [str(one.payload["answer"]).lower() in draft_text(one).lower() for one in drafts]
    return [dropped("answer in the question") if own else kept(one) for one, own in zip(drafts, told, strict=True)]


def _closed_solver(at: PipelineContext, samples: int, max_tokens: int) -> Solver:
    """The policy without tools; the rule knows no fact by heart."""
    if at.policy is None:
        return rule_solver(at.world, lambda task: "", name="rule")
    given = {"samples": samples, "max_tokens": max_tokens}
    return rollout_solver(DraftRollouts(at.world, at.env, at.policy, max_turns=1, tools=False, **given))


def _solver(at: PipelineContext, samples: int, max_turns: int, max_tokens: int) -> Solver:
    """The policy with tools; or the rule, since the expert solved each task in a step before."""
    if at.policy is None:
        return rule_solver(at.world, lambda task: str(task.answer), name="rule")
    played = DraftRollouts(at.world, at.env, at.policy, samples=samples, max_turns=max_turns, max_tokens=max_tokens)
    return rollout_solver(played)
