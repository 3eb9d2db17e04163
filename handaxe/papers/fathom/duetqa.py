"""Pipeline of `handaxe synthesize`: questions of a proposer that a solver answers with search, and not without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.records import Sampling, Task
from handaxe.evaluation.evaluate import evaluate
from handaxe.synthesis import pipelines
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_task, draft_text

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

        propose -> solve or replay -> closed_book -> duet -> dedupe -> decontaminate

        closed_book   dropped if the answer stands in the question, if a rollout of the solver without tools has it, or
                      if none of these could be scored
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
        ->  share 0.5: kept; a rollout without tools that answers 5526: dropped as "solved without search"

    Paper: arXiv:2509.24107 (Fathom-DeepResearch), DuetQA: two models with search that propose and answer questions.
    Unconfirmed: the filters beyond their purpose, the number of rollouts and the share.
    Differs: the rule proposes questions of the world; a model reads training tasks as examples instead of live pages.
    """
    if samples < 1 or not 0 < least <= 1:
        raise InputError(f"duetqa takes samples from 1 and a share least above 0, up to 1, not {samples}, {least}")
    made = pipelines.questions(at._replace(policy=None), batch=batch)
    own = [_closed_book(at, samples, max_tokens), _duet(at, samples, least, max_turns, max_tokens)]
    chosen = (*made.steps[:2], *own, *made.steps[2:])
    return Pipeline("duetqa", chosen, batch=batch, about={"world": at.world.name, "options": at.options})


def _closed_book(at: PipelineContext, samples: int, max_tokens: int) -> SynthesisStep:
    def run(drafts: Sequence[SynthesisDraft], context: SynthesisContext) -> list[DraftOutcome]:
        tasks = [replace(draft_task(one), tools=()) for one in drafts]
        rates = _shares(at, tasks, context, samples, 1, max_tokens)
        out = list[DraftOutcome]()
        for draft, task in zip(drafts, tasks, strict=True):
            if str(task.answer).lower() in draft_text(draft).lower():
                out.append(dropped("answer in the question"))
            elif at.policy is not None and task.id not in rates:
                out.append(dropped("unscored"))
            elif rates.get(task.id, 0.0) > 0:
                out.append(dropped("solved without search"))
            else:
                out.append(kept(draft))
        return out

    settings = {"solver": _solver(at), "samples": samples, "max_tokens": max_tokens}
    return SynthesisStep("closed_book", run, settings=settings)


def _duet(at: PipelineContext, samples: int, least: float, max_turns: int, max_tokens: int) -> SynthesisStep:
    def run(drafts: Sequence[SynthesisDraft], context: SynthesisContext) -> list[DraftOutcome]:
        if at.policy is None:  # the expert solved the task in the step before
            return [kept(one.noted({"agreement": 1.0, "solver": "rule"})) for one in drafts]
        tasks = [draft_task(one) for one in drafts]
        rates = _shares(at, tasks, context, samples, max_turns, max_tokens)
        out = list[DraftOutcome]()
        for draft, task in zip(drafts, tasks, strict=True):
            rate = rates.get(task.id)
            if rate is None:
                out.append(dropped("unscored"))
            elif rate < least:
                out.append(dropped("the solver disagrees"))
            else:
                out.append(kept(draft.noted({"agreement": rate, "solver": _solver(at)})))
        return out

    settings = {"solver": _solver(at), "samples": samples, "least": least}
    return SynthesisStep("duet", run, settings={**settings, "max_turns": max_turns, "max_tokens": max_tokens})


def _solver(at: PipelineContext) -> str:
    return "rule" if at.policy is None else at.policy.digest


def _shares(
    at: PipelineContext,
    tasks: Sequence[Task],
    context: SynthesisContext,
    samples: int,
    max_turns: int,
    max_tokens: int,
) -> dict[str, float]:
    """Id -> share of the solver's scored rollouts with the answer of the task; {} for the rule."""
    if at.policy is None or not tasks:
        return {}
    found = evaluate(
        engine=at.policy.engine,
        env=at.env,
        format=at.policy.format,
        rollout=at.world.make_rollout(max_turns),
        tasks=tasks,
        reward=at.world.correct,
        sampling=Sampling(max_tokens=max_tokens),
        samples=samples,
        seed=context.seed,
        workers=context.workers,
        lockstep=True,
    )
    return {one.id: one.correct / one.scored for one in found.tasks if one.scored}
