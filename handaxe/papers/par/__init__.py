"""PAR (arXiv:2502.18770): reward the probability of a win against answers of the first policy."""

from handaxe import rewards
from handaxe.curricula.task_pool import task_pool
from handaxe.methods.method import Method, replace
from handaxe.methods.pair_reward_model import pair_reward_model
from handaxe.papers.par.reference_scores import ReferenceScores
from handaxe.papers.par.shaped_scores import RunningScores, Shaping, shaped_scores

__all__ = ["par"]


def par(
    base: Method,
    *,
    shaping: Shaping = "win_rate",
    steepness: float = 1.0,
    ceiling: float = 2.0,
    references: int = 4,
    train_tasks: int = 48,
    fit_groups: int = 24,
    fit_epochs: int = 8,
) -> Method:
    """Fit a reward model on the first policy's rollouts, and train on its preference for rollouts over references.

    Args:
        shaping: of the score of the reward model, see `shaped_scores`; "win_rate" is PAR, "raw" the score itself.
        steepness: k of the sigmoid.
        ceiling: of the shaping "ceiling".
        references: answers of the first policy to each task.
        train_tasks: tasks of the training loop, which have references.
        fit_groups: groups on which the reward model is fitted.
        fit_epochs: passes over their pairs.
    """
    model, fitting = pair_reward_model(base, channel="correct", groups=fit_groups, epochs=fit_epochs)
    score = rewards.judged(judge=model)
    known = ReferenceScores(score=score, tasks=train_tasks, count=references)
    running = RunningScores("proxy/score", lambda: known.scores)
    shaped = shaped_scores(
        shaping=shaping, score=score, references=known, running=running, steepness=steepness, ceiling=ceiling
    )
    return replace(
        base,
        reward=rewards.weighted({"proxy": (1.0, shaped), "correct": (0.0, base.reward)}),
        tasks=lambda tasks, seed: task_pool(tasks[:train_tasks], seed=seed, shuffle=False),
        stages=(*base.stages, fitting, known.stage),
        learners=(*base.learners, model, running),
    )
