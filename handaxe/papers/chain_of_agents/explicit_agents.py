"""The multi-agent system of the paper Chain-of-Agents without distillation: every role in a sequence of its own."""

from handaxe.methods.method import Method, replace

__all__ = ["explicit_agents"]


def explicit_agents(base: Method) -> Method:
    """Play the world's system of roles in training and evaluations, and train all roles."""
    system = base.world.make_rollout(base.settings.max_turns)
    return replace(base, rollout=system, evaluate_rollout=system)
