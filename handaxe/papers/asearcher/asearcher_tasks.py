"""Pipeline of `handaxe synthesize`: obscured questions of the library that are not answered without search."""

from __future__ import annotations

from handaxe.core.errors import InputError
from handaxe.core.records import Task
from handaxe.papers.asearcher.direct_answers import answers_in_documents
from handaxe.synthesis import steps
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.draft_rollouts import DraftRollouts
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.solvers import Solver, asked_solver, rollout_solver, rule_solver
from handaxe.worlds.library.obscured import ObscuredTask, library_questions, obscured_task

__all__ = ["asearcher_tasks"]

SIZE = 400
FRAMES = (("What is ", "?"), ("Find ", "."), ("", "?"))
"""Before and after the words of a question, see `worlds.library.tasks.PHRASINGS`."""


def asearcher_tasks(
    at: PipelineContext,
    *,
    injections: int = 1,
    blurs: int = 0,
    known: float = 0.7,
    samples: int = 4,
    agree: float = 0.5,
    max_turns: int = 8,
    low: float = 0.0,
    high: float = 1.0,
    batch: int = 256,
) -> Pipeline:
    """Make questions harder by injected and blurred facts, and drop those that are answered without search.

        propose -> obscure -> solve -> closed_book -> dedupe -> decontaminate -> difficulty, with a policy

    The rule chooses facts and writes questions; a model (`--proposer`) writes them with these facts, and answers
    directly for closed_book. Without a model the policy answers without tools; without both, a rule that knows a share
    of the facts by heart.

    Args:
        injections: names replaced by facts, 1 or more.
        blurs: numbers replaced by ranges.
        known: share of the facts that the rule knows by heart.
        samples: direct answers to a question, and rollouts of the policy.
        agree: least share of the policy's rollouts with the answer, for a question whose facts are not recognized.
        max_turns: of a rollout.
        low, high: band of the policy's pass rate.
        batch: questions of a round.

    Raises:
        InputError: another world than library, or a number out of range.

    Example:
        "the river of kemi"  ->  "the river of the town whose mayor is tolven", kept if it is not answered by heart

    Paper: arXiv:2508.07976 (ASearcher), its data: injection, blurring, uniqueness, and direct answers of a model.
    Unconfirmed: numbers of injections and answers.
    Differs: a rule chooses the facts from generated documents of 400 entities.
    """
    if at.world.name != "library" or injections < 1 or blurs < 0 or not 0 <= known <= 1:
        raise InputError(
            f"asearcher_tasks takes --world library, injections from 1, blurs from 0 and known from 0 to 1, not "
            f"{at.world.name}, {injections}, {blurs} and {known}"
        )
    solver = None
    if at.policy is not None:
        played = DraftRollouts(at.world, at.env, at.policy, samples=samples, max_turns=max_turns)
        solver = rollout_solver(played)

    def rule(task: Task) -> ObscuredTask | None:
        questions = library_questions(world=0, size=SIZE)
        return obscured_task(task, questions, injections=(injections,), blurs=blurs)

    name = f"library, {injections} injections, {blurs} blurs"
    chosen = [
        steps.draw_tasks(at.world, options=at.options),
        steps.obscure(rule, unique=_is_unique, name=name, desk=at.desk, solver=solver, agree=agree),
        steps.solve(at.world, at.env),
        steps.answer_votes(_closed_book(at, known, samples), of="answer", high=0.0, name="closed_book"),
        steps.dedupe(similarity=1.1),
        steps.decontaminate(at.tests),
    ]
    if at.policy is not None:
        engine, format, digest = at.policy
        band = steps.difficulty(
            at.world,
            at.env,
            engine,
            format,
            policy=digest,
            samples=samples,
            max_turns=max_turns,
            low=low,
            high=high,
        )
        chosen.append(band)
    about = {"world": at.world.name, "options": at.options}
    return Pipeline("asearcher_tasks", tuple(chosen), batch=batch, about=about)


def _closed_book(at: PipelineContext, known: float, samples: int) -> Solver:
    if at.desk is not None:
        return asked_solver(at.world, at.desk, samples=samples)
    if at.policy is not None:
        return rollout_solver(DraftRollouts(at.world, at.env, at.policy, samples=samples, max_turns=1, tools=False))

    def by_heart(task: Task) -> str:
        found = _answers(task, known)
        return next(iter(found)) if found and len(found) == 1 else ""

    return rule_solver(at.world, by_heart, name=f"{known:g} of the facts by heart")


def _is_unique(task: Task) -> bool | None:
    """Whether the documents have this answer alone, found by the text of the question; None if no answer is found, as
    for a text of another form.
    """
    found = _answers(task, 1.0)
    return found == {str(task.answer)} if found else None


def _answers(task: Task, known: float) -> set[str] | None:
    """Answers that a share of the facts allows; None for a text of another form."""
    text = task.messages[-1].content
    before, after = next((before, after) for before, after in FRAMES if text.startswith(before))
    try:
        return answers_in_documents(text.removeprefix(before).removesuffix(after), known=known)
    except InputError:
        return None
