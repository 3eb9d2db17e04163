"""Rollout with a separate sequence for each turn: prompt of task and environment memory, then the turn."""

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Message
from handaxe.core.requests import Attempt
from handaxe.ops.turn_positions import initial_messages
from handaxe.rollouts.play import Continuation, Play, Rules

__all__ = ["MEMORY", "from_memory"]

MEMORY = "memory"
"""Key of the memory in `EnvReply.facts`, and name of its message."""


def from_memory(*, max_turns: int | Rules = 4) -> Rollout:
    """Play a rollout as turns with only the environment's memory in common.

        sequence 0   opening + a0
        sequence k   opening + M_k + a_k        M_k: a user message that quotes facts["memory"] of turn k - 1

    The turns are independent samples (s_k, a_k), each with its own prompt and without earlier replies and messages;
    they belong to one trajectory, whose outcome all of them share. The chat format escapes control tokens in a memory;
    nothing of it trains. Rollouts end as in `linear`; a memory longer than the context truncates the rollout.

    Args:
        max_turns: sampled turns or `Rules`; 3 in AgentFlow's training, 10 in its tests.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory, with one sequence for each
        turn. Its notes["anew"] has an entry for each turn after the first; see `rollouts.play.history`.

    Raises:
        InputError: a limit out of range; an environment that continues without a memory.

    Example:
        from_memory(max_turns=3) with modular_agent(tool_chat([search]), verify=..., generate=...)

    Paper: arXiv:2510.05592 (AgentFlow), the multi-turn problem as independent single turns. Differs: nothing known.
    """

    def continuation(play: Play) -> Continuation:
        memory = play.turns[-1].facts.get(MEMORY)
        if not isinstance(memory, str):
            raise InputError(
                f"task {play.attempt.task.id!r}: the environment has no memory of the rollout; wrap it in "
                "papers.flow_grpo.modular_agent, or use another rollout"
            )
        quote = Message("user", memory, name=MEMORY)
        return Continuation(new_sequence=(*initial_messages(play.messages, turns=len(play.turns)), quote))

    rules = Rules.of(max_turns, continuation=continuation)

    def rollout(attempt: Attempt) -> RolloutPlan:
        return [(yield from Play(attempt, rules).run())]

    return rollout
