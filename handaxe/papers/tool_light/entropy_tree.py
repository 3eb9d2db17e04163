"""Entropy-guided sampling: one main chain, and branches at its most uncertain steps."""

from collections.abc import Generator, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Branch, Ending, Trajectory
from handaxe.core.requests import Attempt, Measure, Spawn, Stopped
from handaxe.ops.seeds import derive_seed
from handaxe.papers.tool_light.step_entropy import SIZES, StepEntropy, most_uncertain, step_entropy
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.fork import fork

__all__ = ["NOTE", "chain_entropy", "entropy_tree"]

NOTE = "step_entropy"
"""Key of the notes: one [entropy, tokens] a step, see `StepEntropy`."""


def entropy_tree(
    *, points: int = 3, branches: int = 3, sizes: Sequence[int] = SIZES, max_turns: int | Rules = 4
) -> Rollout:
    """Play a main chain, then sample again behind the uncertain tokens of its most uncertain steps.

        (H_k, n_k)   step_entropy of step k, a turn of the policy
        K            the `points` steps with the greatest H_k, among steps with more than n_k tokens
        for k in K:  `branches` chains that share everything up to token n_k of step k

        main      q a0 a1 a2 | r0 | b0 b1 b2 | r1 | c0        n_0 = 2, K = {0}
        branch    q a0 a1 x2 | r0'| y0 ...                    a0 a1 are shared

    Args:
        points: steps with branches, >= 1; 3 in the paper.
        branches: chains of such a step, >= 1; 3 in the paper.
        sizes: numbers of first tokens of a step; 10, 20, ..., 50 in the paper.
        max_turns: turns or `Rules`, per chain, as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns the main chain and its branches, the most
        uncertain step first: 1 + points * branches chains, fewer for a main chain with fewer steps. The notes of each
        chain hold `NOTE`; shared steps have the values of the main chain.

    Raises:
        InputError: a number out of range, an environment without snapshots, or an engine without `measure`.

    Example:
        main chain with the step entropies 0.2, 0.9, 0.5, 0.7  ->  3 branches each at the steps 1, 3 and 2: 10 chains

    Paper: arXiv:2509.23285 (Tool-Light), entropy-guided sampling.
    Differs: entropies of the whole vocabulary; a step that ends with its first n_k tokens has no branch.
    Unconfirmed: a step that is shorter than the smallest size.
    """
    if points < 1 or branches < 1 or not sizes or min(sizes) < 1:
        raise InputError(
            f"entropy_tree has points={points}, branches={branches} and sizes={tuple(sizes)}; give 1 or more of each"
        )
    rules = Rules.of(max_turns, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        trunk = Play(attempt, rules)
        first = yield from trunk.run(_turns(trunk, sizes))
        if first.ending.kind == "infra_error" or first.ending.reason == "stopped":
            return [first]
        plays = _branches(trunk, _places(trunk, points), branches)
        if not plays:
            return [first]
        try:
            found = yield Spawn(tuple(_plan(one, sizes) for one in plays), tuple(one.attempt.id for one in plays))
        except Stopped as stopped:
            found = stopped.spawned
        return [first, *(chain for branch in found for chain in branch)]

    rollout.branches = True  # type: ignore[attr-defined]
    return rollout


def chain_entropy(trajectory: Trajectory) -> float:
    """Mean of the step entropies of a chain, in nats; infinite for a trajectory without measured steps.

    Example:
        steps of 0.2 and 0.4 nats -> 0.3
    """
    found = [entropy for entropy, _ in trajectory.notes.get(NOTE, [])]
    return sum(found) / len(found) if found else float("inf")


def _plan(play: Play, sizes: Sequence[int]) -> RolloutPlan:
    return [(yield from play.run(_turns(play, sizes)))]


def _turns(play: Play, sizes: Sequence[int]) -> Generator[Request, Any, Ending]:
    """Play turn after turn, and measure each."""
    while True:
        before = len(play.turns)
        ending = yield from play.turn()
        for turn in play.turns[before:]:
            ids = play.sequences[turn.sequence].ids[: min(turn.stop, turn.start + max(sizes))]
            request = Measure(ids, turn.start, ("entropy",), turn.sampling.temperature or 1.0)
            found = yield from play.measure(request)
            play.notes.setdefault(NOTE, []).append([*step_entropy(found["entropy"], sizes=sizes)])
        if ending is not None:
            return ending


def _places(trunk: Play, points: int) -> list[Branch]:
    steps = [StepEntropy(*one) for one in trunk.notes.get(NOTE, [])]
    lengths = [turn.stop - turn.start for turn in trunk.turns]
    able = [k for k, step in enumerate(steps) if step.tokens < lengths[k]]
    chosen = [able[i] for i in most_uncertain([steps[k] for k in able], count=points)]
    turns = trunk.turns
    return [Branch(trunk.attempt.id, turns[k].sequence, turns[k].start + steps[k].tokens) for k in chosen]


def _branches(trunk: Play, places: Sequence[Branch], count: int) -> list[Play]:
    out = []
    for n, place in enumerate(places):
        for copy in range(count):
            seed = derive_seed(trunk.attempt.seed, "branch", n, copy)
            play = fork(trunk, place, id=f"{trunk.attempt.id}/branch-{n}-{copy}", seed=seed)
            play.notes[NOTE] = trunk.notes[NOTE][: len(play.turns)]  # one more than the mark has
            out.append(play)
    return out
