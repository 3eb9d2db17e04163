"""RewardDance (arXiv:2509.08826): reward the probability that a judge calls an image better than a reference."""

from functools import partial
from typing import Literal

from handaxe import rewards
from handaxe.curricula.task_pool import task_pool
from handaxe.judges.drawing_model import SEED, DrawingModel, fit_drawing_model
from handaxe.methods.method import Method, replace
from handaxe.papers.reward_dance.backbones import BACKBONES, Backbone
from handaxe.papers.reward_dance.comparisons import Context, comparison_pairs, comparisons
from handaxe.papers.reward_dance.reference_images import ReferenceImages
from handaxe.papers.reward_dance.yes_judge import compared, fit_yes_judge

__all__ = ["reward_dance"]


def reward_dance(
    base: Method,
    *,
    scorer: Literal["compared", "head"] = "compared",
    context: Context = "chain",
    backbone: Backbone = "start",
    labels: int = 960,
    epochs: int = 2,
    train_tasks: int = 64,
    candidates: int = 4,
    top: int = 1,
) -> Method:
    """Train on P("yes") of a generative judge that compares a rollout's image with the best of n of the first policy.

    Args:
        scorer: "compared", or "head" for the sigmoid of a regression head, which sees no reference.
        context: what the judge sees and writes: the candidate, a reference, and the objects of both in words.
        backbone: from which the judges start, the cold start of the world or the packaged policy.
        labels: requests with a comparison each, from which either judge learns.
        epochs: passes over the comparisons.
        train_tasks: tasks of the training loop, which have references.
        candidates: n, rollouts of the first policy at each task.
        top: references of a task, the best of the n.
    """
    given = partial(base.world.tasks, "train", labels, SEED)
    policy = partial(BACKBONES[backbone], base.world)
    references = ReferenceImages(reward=base.reward, tasks=train_tasks, count=candidates, top=top)
    taught = partial(fit_yes_judge, context=context, epochs=epochs)
    judge = compared(fit=lambda: taught(comparisons(given()), policy=policy()), references=references)
    head = DrawingModel(lambda: fit_drawing_model(comparison_pairs(given()), policy=policy(), epochs=epochs))
    scores = {"compared": rewards.judged(judge=judge), "head": rewards.judged(judge=head, squash="sigmoid")}
    return replace(
        base,
        reward=rewards.weighted({"judged": (1.0, scores[scorer]), "correct": (0.0, base.reward)}),
        tasks=lambda tasks, seed: task_pool(tasks[:train_tasks], seed=seed, shuffle=False),
        stages=(*base.stages, references.stage(lambda: judge.fitted().yes)),
    )
