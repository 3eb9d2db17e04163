"""Rollout of a proposer: the policy writes a question, an aux policy answers it several times with tools."""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Bounded, EnvFactory, Rollout, RolloutPlan
from handaxe.core.records import STOPPED, Ending, Task, Trajectory
from handaxe.core.requests import Attempt, Spawn, Stopped
from handaxe.ops.majority import majority
from handaxe.ops.seeds import derive_seed
from handaxe.papers.agent0.votes import NOTE, Proposal
from handaxe.rollouts.play import Play, Rules

__all__ = ["proposing"]

RULES = Rules(max_turns=1)


def proposing(
    *,
    read: Callable[[str], Task | None],
    solve: Rollout,
    samples: int = 10,
    aux_name: str = "solver",
    env: EnvFactory | None = None,
    answer: Callable[[Trajectory], str] = lambda one: one.final_text.strip(),
) -> Rollout:
    """Let the policy write a question in a single turn, and an aux policy answer in k whole rollouts, side by side.

        question = read(text of the policy)
        x_1, ..., x_k = solve(question), sampled by the aux policy, each with its own seed and environment
        p = share of the most frequent answer(x)

    The solver's rollouts are the trajectory's `asked`: recorded and counted, never scored or trained. The result is in
    the trajectory's notes (`papers.agent0.votes.Proposal`), for rewards and for stages that make tasks of questions. A
    text that is no question, or that was truncated, is not passed to the solver.

    Args:
        read: task of a text; None if the text is no question. Its answer, if any, is the proposer's own and is hidden
            from the solver.
        solve: rollout strategy of the solver, with the tools of the environment.
        samples: k, >= 1; 10 in the paper.
        aux_name: name of the aux policy, of `train(aux_policies=)`, which has its own sampling and chat format.
        env: environment of the solver; None: that of the policy's own rollout.
        answer: answer of a rollout, normalised so that equal answers are equal texts; "" for none.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. Solver rollouts with a failed
        environment are not among the k; if all failed, the trajectory ends as infra_error.

    Raises:
        InputError: samples below 1; when played: there is no aux policy `aux_name`, or the policy's own environment is
            limited in number and no `env` is given.

    Example:
        read("23*41") asks "23*41=?", answered 943, 943, "" and 94  ->  answer "943", p 0.5

    Paper: arXiv:2511.16043 (Agent0), the curriculum step; its question and own answer are in tags and a box, which
    `read` may parse.
    Differs: nothing.
    """
    if samples < 1:
        raise InputError(f"samples is {samples}; give 1 or more")

    def rollout(attempt: Attempt) -> RolloutPlan:
        if aux_name not in attempt.aux_policies:
            raise InputError(
                f"this rollout needs the aux policy {aux_name!r}: give aux_policies={{{aux_name!r}: AuxPolicy(...)}}"
            )
        if env is None and isinstance(attempt.env, Bounded):
            raise InputError(
                f"{attempt.id!r} keeps its environment open while {aux_name!r} needs {samples} more, and at most "
                f"{attempt.env.most} may be open: give proposing(env=...)"
            )
        written = yield from Play(attempt, RULES).run()
        task = read(written.final_text) if written.ending.kind == "completed" else None
        if task is None:
            return [_with_proposal(written, Proposal())]
        own = "" if task.answer is None else str(task.answer)
        played, ending = yield from _played(attempt, replace(task, answer=None))
        valid = [one for one in played if one.ending.kind != "infra_error"]
        if not valid and ending is None:
            ending = Ending("infra_error", f"every rollout of {aux_name!r} failed: {played[0].ending.reason}")
        vote = majority([answer(one) for one in valid])
        calls = sum(len(one.replies) for one in valid) / max(1, len(valid))
        proposal = Proposal(written.final_text.strip(), vote.answer, vote.share, calls, len(valid), own)
        return [_with_proposal(replace(written, ending=ending or written.ending), proposal, played)]

    def _played(attempt: Attempt, task: Task) -> Generator[Any, Any, tuple[list[Trajectory], Ending | None]]:
        names = tuple(f"{attempt.id}/{aux_name}/{k}" for k in range(samples))
        plans = tuple(solve(_solver_attempt(attempt, task, name, k)) for k, name in enumerate(names))
        try:
            found: list[list[Trajectory]] = yield Spawn(plans, names)
        except Stopped as stopped:
            return [one for part in stopped.spawned for one in part], STOPPED
        return [one for part in found for one in part], None

    def _solver_attempt(attempt: Attempt, task: Task, name: str, k: int) -> Attempt:
        solver = attempt.aux_policies[aux_name]
        return replace(
            attempt,
            task=task,
            env=env or attempt.env,
            format=solver.format,
            sampling=solver.sampling,
            context=solver.context,
            id=name,
            sample=k,
            sibling=k,
            siblings=samples,
            seed=derive_seed(attempt.seed, aux_name, k),
            by=aux_name,
        )

    return rollout


def _with_proposal(written: Trajectory, proposal: Proposal, played: list[Trajectory] | None = None) -> Trajectory:
    solutions = tuple(played or ())
    return replace(
        written,
        notes={**written.notes, NOTE: proposal._asdict()},
        aux_turns=(*written.aux_turns, *solutions),
        seconds=written.seconds + sum(one.seconds for one in solutions),
    )
