"""Memory folding with memories of the environment: the policy continues in a new sequence with task and memories."""

from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Message
from handaxe.core.requests import Attempt
from handaxe.ops.turn_positions import initial_messages
from handaxe.rollouts.folding import SPEAKER
from handaxe.rollouts.play import Continuation, Play, Rules

__all__ = ["FOLDED", "structured_folding"]

FOLDED = "folded"
"""Key of the memory in `EnvReply.facts`, in the turn of a fold alone."""


def structured_folding(*, max_turns: int | Rules = 8) -> Rollout:
    """Play like `linear`, and begin a new sequence after each turn with a folded memory.

        sequence 0   opening + a0 + r0 + a1            a1 folds: facts["folded"] of turn 1 is the memory
        sequence 1   opening + memory + a2 + r2 + ...  memory: a user message that quotes it

    The call itself has no summary: whoever the environment asks writes the memory. It does not train.

    Args:
        max_turns: turns or `Rules`, over all sequences.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory.

    Raises:
        InputError: a limit out of range.

    Example:
        structured_folding(max_turns=8) in the world papers.deepagent.found_tools

    Paper: arXiv:2510.21618 (DeepAgent), memory folding: reasoning continues from the three memories.
    Differs: nothing known.
    """

    def continuation(play: Play) -> Continuation:
        memory = play.turns[-1].facts.get(FOLDED)
        if not isinstance(memory, str):
            return Continuation()
        quote = Message("user", f"Your memory: {memory}", name=SPEAKER)
        return Continuation(new_sequence=(*initial_messages(play.messages, turns=len(play.turns)), quote))

    rules = Rules.of(max_turns, continuation=continuation)

    def rollout(attempt: Attempt) -> RolloutPlan:
        return [(yield from Play(attempt, rules).run())]

    return rollout
