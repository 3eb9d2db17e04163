"""First turns of a trajectory, for pairs of single steps."""

from __future__ import annotations

from dataclasses import replace

from handaxe.core.records import Ending, TokenSequence, Trajectory

__all__ = ["first_turns"]


def first_turns(trajectory: Trajectory, count: int) -> Trajectory:
    """Cut a trajectory behind the policy's tokens of turn `count`, as a completed one; later tokens are gone.

    Idea: pairs of steps share all tokens before the step.

    Example:
        turns of tokens [5, 9) and [12, 20) of one sequence, count 1  ->  one turn and 9 ids
    """
    turns = trajectory.turns[:count]
    last = turns[-1]
    own = trajectory.sequences[: last.sequence + 1]
    sequences = (*own[:-1], _cut(own[-1], last.stop))
    return replace(trajectory, turns=turns, sequences=sequences, ending=Ending("completed"), branch_of=None)


def _cut(sequence: TokenSequence, stop: int) -> TokenSequence:
    arrays = ("ids", "author", "turn", "logp", "behaviour_logp", "version")
    return replace(
        sequence,
        **{name: getattr(sequence, name)[:stop] for name in arrays},
        features={name: values[:stop] for name, values in sequence.features.items()},
    )
