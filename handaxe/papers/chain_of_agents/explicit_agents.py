"""The multi-agent system of the paper Chain-of-Agents without distillation: every role in a sequence of its own."""

from handaxe.methods.method import Method, replace

__all__ = ["explicit_agents"]


def explicit_agents(base: Method) -> Method:
    """Play the world's system of roles in training and evaluations, and train all roles.

    Example:
        a question of two facts in `role_hops`: six sequences, a planner, a worker and a checker for each fact

    Paper: arXiv:2508.13167 (Chain-of-Agents), the multi-agent system that the distilled policy replaces.
    Differs: the system is trained as well.
    """
    system = base.world.make_rollout(base.settings.max_turns)
    return replace(base, rollout=system, evaluate_rollout=system)
