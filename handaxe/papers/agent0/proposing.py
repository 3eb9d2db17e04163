"""A policy that writes a question, which another engine then tries some times with its tools."""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Bounded, EnvFactory, Rollout, RolloutPlan
from handaxe.core.records import STOPPED, Ending, Task, Trajectory
from handaxe.core.requests import Attempt, Spawn, Stopped
from handaxe.ops.seeds import derive_seed
from handaxe.papers.agent0.votes import NOTE, Proposal, majority
from handaxe.rollouts.play import Play, Rules

__all__ = ["proposing"]

RULES = Rules(max_turns=1)


def proposing(
    *,
    read: Callable[[str], Task | None],
    solve: Rollout,
    samples: int = 10,
    by: str = "solver",
    env: EnvFactory | None = None,
    answer: Callable[[Trajectory], str] = lambda one: one.final_text.strip(),
) -> Rollout:
    """Let the policy write a question in one turn, and another engine play whole attempts at it, side by side.

        question = read(what the policy wrote)
        x_1, ..., x_k = solve(question), spoken by the engine `by`, each with a seed and an environment of its own
        p = share of the most frequent answer(x)

    The attempts of the other engine stand in the trajectory's `asked`: recorded, counted, never scored or trained. What
    became of the question stands in its notes (`papers.agent0.votes.Proposal`), for rewards and for who makes tasks of
    it: it is the task of these attempts. A text that is no question, or that did not end by itself, is not put to the
        other
    engine.

    Args:
        read: the task that a text asks; None where it is no question. Its answer, where it has one, is the proposer's
            own, which the other engine is not told.
        solve: how the other engine plays; its tools are those of the environment.
        samples: k, >= 1; 10 in the paper.
        by: the name of the other engine, of `train(others=)`, which says how it is sampled and in which format.
        env: where the other engine acts; the environment of the policy's own attempt unless told otherwise.
        answer: of an attempt, in a form in which equal answers are equal texts; "" for none.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. Attempts of the other engine
        whose environment failed are not among the k; where all failed, the whole ends as infra_error.

    Raises:
        InputError: samples below 1; when played, there is no engine called `by`, or the environment of the policy's own
            attempt is one of which only so many may be open at a time, and no `env` is given.

    Example:
        read("23*41") asks "23*41=?", answered 943, 943, "" and 94  ->  answer "943", p 0.5

    Paper: arXiv:2511.16043 (Agent0), the curriculum step; question and own answer stand in tags and a box there, which
    `read` may look for.
    Differs: nothing.
    """
    if samples < 1:
        raise InputError(f"samples is {samples}; give 1 or more")

    def rollout(attempt: Attempt) -> RolloutPlan:
        if by not in attempt.others:
            raise InputError(f"this rollout asks {by!r}: give others={{{by!r}: Speaker(...)}}")
        if env is None and isinstance(attempt.env, Bounded):
            raise InputError(
                f"{attempt.id!r} keeps its environment open while {by!r} waits for {samples} more, of which only "
                f"{attempt.env.most} may be open: give proposing(env=...)"
            )
        written = yield from Play(attempt, RULES).whole()
        task = read(written.final_text) if written.ending.kind == "completed" else None
        if task is None:
            return [_noted(written, Proposal())]
        own = "" if task.answer is None else str(task.answer)
        played, ending = yield from _played(attempt, replace(task, answer=None))
        scored = [one for one in played if one.ending.kind != "infra_error"]
        if not scored and ending is None:
            ending = Ending("infra_error", f"every attempt of {by!r} failed: {played[0].ending.reason}")
        vote = majority([answer(one) for one in scored])
        calls = sum(len(one.replies) for one in scored) / max(1, len(scored))
        said = Proposal(written.final_text.strip(), vote.answer, vote.share, calls, len(scored), own)
        return [_noted(replace(written, ending=ending or written.ending), said, played)]

    def _played(attempt: Attempt, task: Task) -> Generator[Any, Any, tuple[list[Trajectory], Ending | None]]:
        names = tuple(f"{attempt.id}/{by}/{k}" for k in range(samples))
        plans = tuple(solve(_asked(attempt, task, name, k)) for k, name in enumerate(names))
        try:
            found: list[list[Trajectory]] = yield Spawn(plans, names)
        except Stopped as stopped:
            return [one for part in stopped.spawned for one in part], STOPPED
        return [one for part in found for one in part], None

    def _asked(attempt: Attempt, task: Task, name: str, k: int) -> Attempt:
        voice = attempt.others[by]
        return replace(
            attempt,
            task=task,
            env=env or attempt.env,
            format=voice.format,
            sampling=voice.sampling,
            context=voice.context,
            id=name,
            sample=k,
            sibling=k,
            siblings=samples,
            seed=derive_seed(attempt.seed, by, k),
            by=by,
        )

    return rollout


def _noted(written: Trajectory, said: Proposal, played: list[Trajectory] | None = None) -> Trajectory:
    asked = tuple(played or ())
    return replace(
        written,
        notes={**written.notes, NOTE: said._asdict()},
        asked=(*written.asked, *asked),
        seconds=written.seconds + sum(one.seconds for one in asked),
    )
