"""Chain-of-Agents (AFM, arXiv:2508.13167): distil a multi-agent system into one policy, then train it with DAPO."""

from handaxe import rewards, rollouts
from handaxe.methods.method import Method, replace
from handaxe.papers.chain_of_agents.flattened_roles import flattened_roles
from handaxe.papers.chain_of_agents.repeated_segments import repeated_segments
from handaxe.papers.chain_of_agents.role_hops import is_sent_back
from handaxe.training.stages.sources import played
from handaxe.training.stages.teach import teach

__all__ = ["chain_of_agents"]


def chain_of_agents(
    base: Method,
    *,
    lessons: int = 96,
    least_turns: int = 6,
    plain: float = 1.0,
    passes: int = 8,
    teach_rate: float = 1e-3,
    penalty: float = 0.5,
) -> Method:
    """Play the world's system of roles, fine-tune on its flattened successes, and go on in one conversation.

    Args:
        lessons: tasks that the system plays, with the group size of the run.
        least_turns: turns of agents in a lesson; easier rollouts are left out.
        plain: share of the lessons without reflection.
        passes: epochs over the lessons.
        teach_rate: learning rate of the fine-tuning.
        penalty: for a repeated call or segment; 0.5 in the released code.
    """
    limit, size = base.settings.max_turns, base.settings.group_size
    system = {"rollout": base.world.make_rollout(limit), "reward": base.world.correct}
    plays = played(groups=lessons, group_size=size, arguments=system)
    lesson = flattened_roles(source=plays, reflective=is_sent_back, least_turns=least_turns, plain=plain)
    one = rollouts.linear(max_turns=limit)
    parts = {"task": (1.0, base.reward), "repeated": (-penalty, repeated_segments())}
    return replace(
        base,
        stages=(*base.stages, teach(source=lesson, epochs=passes, learning_rate=teach_rate, optional=True)),
        rollout=one,
        evaluate_rollout=one,
        reward=rewards.weighted(parts),
    )
