"""SPA-RL (arXiv:2505.20732): attribute the outcome to turns with a progress estimator, and train on its shares."""

from handaxe import rewards
from handaxe.losses import terms
from handaxe.methods.method import Method, replace
from handaxe.papers.spa_rl.centred_steps import centred_steps
from handaxe.papers.spa_rl.collect import GroupPool, collect
from handaxe.papers.spa_rl.fit import fit
from handaxe.papers.spa_rl.progress_estimator import progress

__all__ = ["spa_rl"]


def spa_rl(base: Method, *, alpha: float = 1.0, beta: float = 0.5, kl_coefficient: float = 0.04) -> Method:
    """Fit the estimator to collected rollouts; reward each turn with its centred share and with an executed action.

    Args:
        alpha: weight of a turn's share; 1 in the paper.
        beta: reward of an executed action; 0.5 in the paper.
        kl_coefficient: weight of the KL to the policy before RL.
    """
    pool, judge = GroupPool(), progress(learning_rate=3e-4)
    rollouts = collect(into=pool, groups=40, group_size=base.settings.group_size, arguments={"reward": base.reward})
    shares = rewards.judged_steps(judge=centred_steps(judge=judge))
    executed = rewards.tool_success(per="turn")
    return replace(
        base,
        stages=(*base.stages, rollouts, fit(learner=judge, source=pool, epochs=2, batch_size=4)),
        reward=rewards.weighted({"progress": (alpha, shares), "executed": (beta, executed)}),
        terms=(terms.value(coefficient=0.5, eps=None), terms.kl(coefficient=kl_coefficient)),
        annotate=(*base.annotate, "ref_logp"),
    )
