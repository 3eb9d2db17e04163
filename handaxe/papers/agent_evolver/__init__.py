"""AgentEvolver (arXiv:2511.10395), ADCA-GRPO: add step labels, normalised apart from the outcome, to the credit."""

from handaxe import credit, judges, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.agent_evolver.earned_steps import earned_steps
from handaxe.training.loop.schedule import cosine

__all__ = ["agent_evolver"]


def agent_evolver(
    base: Method, *, alpha: float = 0.1, step_reward: float = 0.2, label_noise: float = 0.2, minibatches: int = 1
) -> Method:
    """Sum normalised step labels and the normalised outcome from each step on.

    Args:
        alpha: initial weight of the labels; it falls along half a cosine to 0 at the run's end. 0.1 in the paper.
        step_reward: f, reward of a good step; a bad step earns -f. 0.2 in the paper.
        label_noise: probability that a label is inverted, in place of a language model's errors.
        minibatches: optimiser steps a training step, at least those of the base; with 2 or more, ratios differ from 1.
    """
    rule = earned_steps(criteria=base.world.need("criteria"), check=base.world.need("check"))
    judge = base.judge.steps(rule=judges.noisy(judge=rule, spread=0.0, flip=label_noise))
    steps = credit.turn_norm(channel="labels", std="population", weigh="trajectory", eps=1e-8)
    outcome = credit.group_norm(channel="base", std="population")
    weight = cosine(alpha, steps=base.settings.steps)
    return replace(
        base,
        reward=rewards.step_labels(base=base.reward, judge=judge, scale=step_reward),
        credit=credit.total({"outcome": (1.0, outcome), "steps": (weight, steps)}),
        minibatches=max(minibatches, base.minibatches),
    )
