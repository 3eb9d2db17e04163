"""ReAgent-V (arXiv:2506.01300): a critic rates rollouts over video, selects training tasks, and triggers reflection."""

from handaxe import rewards
from handaxe.curricula.task_pool import task_pool
from handaxe.methods.method import Method, replace
from handaxe.papers.reagent_v.critic_report import critic_report
from handaxe.papers.reagent_v.importance_filter import Keep, importance_filter
from handaxe.papers.reagent_v.reflecting import reflecting

__all__ = ["reagent_v"]


def reagent_v(
    base: Method, *, keep: Keep = "hard", threshold: float = 5.0, critic_weight: float = 0.5, probe_tasks: int = 128
) -> Method:
    """Train on tasks with low ratings by a critic, with the critic in the reward; reflect on answers with low ratings.

    Args:
        keep: "hard" trains on tasks with an importance below the threshold, "all" on all probed tasks.
        threshold: importance from 0 to 10; below, a task is hard and an answer is reflected on. 5 in the paper; 0 for
            no reflection.
        critic_weight: weight of the critic beside the answer's correctness. Unconfirmed.
        probe_tasks: tasks that the critic rates, by 4 rollouts each.
    """
    critic = critic_report()
    rated = rewards.judged(judge=critic)
    return replace(
        base,
        reward=rewards.weighted({"answer": (1.0, base.reward), "critic": (critic_weight, rated)}),
        stages=(*base.stages, importance_filter(reward=rated, keep=keep, threshold=threshold)),
        tasks=lambda tasks, seed: task_pool(tasks[:probe_tasks], shuffle=False),
        evaluate_rollout=reflecting(
            importance=critic.importance, threshold=threshold, max_turns=base.settings.max_turns
        ),
    )
