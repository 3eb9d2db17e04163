"""A rollout whose every turn is a sequence of its own: the task, and what the environment remembers of the attempt."""

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Message
from handaxe.core.requests import Attempt
from handaxe.ops.spoken import opening
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.play import Following, Play, Rules

__all__ = ["MEMORY", "from_memory"]

MEMORY = "memory"
"""The key of `EnvReply.facts` under which an environment says what it remembers, and the name on the message of it."""


def from_memory(*, max_turns: int = 4, budget: Budget | None = None) -> Rollout:
    """Play an attempt as turns that know of each other only by the memory that the environment keeps.

        sequence 0   opening + a0
        sequence k   opening + M_k + a_k        M_k: a user message that quotes facts["memory"] of turn k - 1

    So the turns are independent samples (s_k, a_k), each with a prompt of its own and without the replies and words
    before it; they belong to one trajectory, whose outcome is that of all of them. A memory is quoted by the format
    and never a control token; nothing of it trains. Attempts end as in `linear`, and a memory that is longer than the
    context ends one as truncated.

    Args:
        max_turns: sampled turns; 3 in AgentFlow's training, 10 in its tests.
        budget: as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory, of as many sequences as turns.
        Its notes["anew"] has an entry a turn after the first; see `rollouts.play.history`.

    Raises:
        InputError: a limit out of range; an environment that goes on and says no memory.

    Example:
        from_memory(max_turns=3) with modular_agent(tool_chat([search]), verify=..., generate=...)

    Paper: arXiv:2510.05592 (AgentFlow), the multi-turn problem as independent single turns. Differs: nothing known.
    """

    def following(play: Play) -> Following:
        memory = play.turns[-1].facts.get(MEMORY)
        if not isinstance(memory, str):
            raise InputError(
                f"task {play.attempt.task.id!r}: the environment keeps no memory of the attempt; put "
                "papers.flow_grpo.modular_agent around it, or play it by another rollout"
            )
        said = Message("user", memory, name=MEMORY)
        return Following(anew=(*opening(play.messages, turns=len(play.turns)), said))

    rules = Rules(max_turns=max_turns, budget=budget or Budget(), following=following)

    def rollout(attempt: Attempt) -> RolloutPlan:
        return [(yield from Play(attempt, rules).whole())]

    return rollout
