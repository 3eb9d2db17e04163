"""SPA-RL: what an attempt comes to is paid out among its turns, by an estimator of progress that learned it before."""

from handaxe.methods.method import Method, replace
from handaxe.papers.spa_rl.collect import GroupPool, collect
from handaxe.papers.spa_rl.fit import fit
from handaxe.papers.spa_rl.progress import progress
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.tool_success import tool_success
from handaxe.rewards.weighted import weighted

__all__ = ["spa_rl"]


def spa_rl(
    base: Method,
    *,
    alpha: float = 1.0,
    beta: float = 0.5,
    collected: int = 40,
    passes: int = 2,
    judge_rate: float = 3e-4,
) -> Method:
    """Collect attempts, teach the estimator what they came to, and train on its shares and on acts carried out.

    The outcome itself is not paid.

    Args:
        alpha: weight of a turn's share; 1 in the paper.
        beta: of its act being carried out; 0.5 in the paper. A further turn may so be worth more than the end.
        collected: tasks whose attempts the estimator learns from.
        passes: times that it sees them.
        judge_rate: its learning rate.
    """
    pool, judge = GroupPool(), progress(learning_rate=judge_rate)
    play = collect(into=pool, groups=collected, group_size=base.settings.group_size, arguments={"reward": base.reward})
    parts = {
        "progress": (alpha, judged_steps(judge=judge)),
        "executed": (beta, tool_success(per="turn")),
    }
    stages = (*base.stages, play, fit(learner=judge, source=pool, epochs=passes, batch_size=4))
    return replace(base, stages=stages, reward=weighted(parts))
