"""Tool-Star (arXiv:2505.16410): cold start from hints, a bonus for using both tools, and DPO on self-judged pairs."""

from handaxe import rewards, selection
from handaxe.methods.method import Method, replace
from handaxe.papers.tool_star.fact_products import BOTH
from handaxe.papers.tool_star.hinted_play import hinted_play
from handaxe.papers.tool_star.self_critic import self_critic
from handaxe.rewards.ladder import Rung
from handaxe.training.stages import teach

__all__ = ["tool_star"]


def tool_star(base: Method, *, bonus: float = 0.1, beta: float = 0.1, dpo_tasks: int = 16) -> Method:
    """Fine-tune on hinted successes, train with a bonus for both tools, then run DPO on the best and worst rollouts.

    Args:
        bonus: r_M, reward of a correct answer that used both tools; 0.1 in the paper.
        beta: of DPO; 0.1 in the paper.
        dpo_tasks: tasks of the DPO stage, with the best and the worst of 8 rollouts each.
    """
    form = Rung("format", rewards.well_formed(), 0.0, failed=-1.0)
    both = Rung("both", rewards.used_tools(tools=BOTH, every=True), bonus)
    correct = selection.keep_successes(channel="answer", most_calls=5)
    source = hinted_play(plays=base.world.make_rollout)
    return replace(
        base,
        reward=rewards.ladder([form, Rung("answer", rewards.token_f1()), both]),
        annotate=(*base.annotate, "ref_logp"),
        stages=(*base.stages, teach(source=source, select=correct, learning_rate=3e-4, optional=True)),
        closing=(*base.closing, self_critic(beta=beta, groups=dpo_tasks, optional=True)),
    )
