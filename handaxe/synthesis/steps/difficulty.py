"""Step: keeps tasks with intermediate pass rates of a policy."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, Engine, EnvFactory
from handaxe.core.records import Sampling
from handaxe.evaluation.evaluate import evaluate
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_task
from handaxe.worlds.world import World

__all__ = ["difficulty"]


def difficulty(
    world: World,
    env: EnvFactory,
    engine: Engine,
    format: ChatFormat,
    *,
    policy: str,
    samples: int = 4,
    low: float = 0.0,
    high: float = 1.0,
    max_turns: int = 4,
    max_tokens: int = 64,
) -> SynthesisStep:
    """Make the step "difficulty": measures the pass rate of a policy, and keeps tasks in a band.

        p = correct rollouts / scored rollouts, of `samples` rollouts at temperature 1;  kept  <=>  low <= p <= high

    Args:
        world: its rule decides what is correct.
        env: of the tasks.
        engine, format: of the policy, which does not change.
        policy: name and digest of the policy, for the card.
        samples: rollouts of a task, 1 or more.
        low, high: the band, 0 to 1.
        max_turns, max_tokens: of a rollout, and of a turn.

    Returns:
        A step that keeps drafts of kind "task", with the notes "pass_rate" and "policy".

    Raises:
        InputError: a number out of range. VerifierError: while running, no rollout could be scored.

    Example:
        low 0.1, high 0.9, 4 samples: a task with 0 or 4 correct rollouts is dropped

    Idea: groups with equal rewards have no gradient, so tasks of the middle teach most.
    """
    if samples < 1 or not 0 <= low <= high <= 1:
        raise InputError(f"samples {samples}, band {low} to {high}: give 1 or more, and 0 <= low <= high <= 1")
    sampling = Sampling(max_tokens=max_tokens)

    def outcome(draft: SynthesisDraft, rate: float | None) -> DraftOutcome:
        if rate is None:
            return dropped("unscored")
        if not low <= rate <= high:
            return dropped("too hard" if rate < low else "too easy")
        return kept(draft.noted({"pass_rate": rate, "policy": policy}))

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        found = evaluate(
            engine=engine,
            env=env,
            format=format,
            rollout=world.make_rollout(max_turns),
            tasks=[draft_task(one) for one in drafts],
            reward=world.correct,
            sampling=sampling,
            samples=samples,
            seed=at.seed,
            workers=at.workers,
            lockstep=True,
        )
        rates = {one.id: one.correct / one.scored for one in found.tasks if one.scored}
        return [outcome(one, rates.get(draft_task(one).id)) for one in drafts]

    band = {"policy": policy, "samples": samples, "low": low, "high": high}
    return SynthesisStep("difficulty", run, settings={**band, "max_turns": max_turns, "max_tokens": max_tokens})
