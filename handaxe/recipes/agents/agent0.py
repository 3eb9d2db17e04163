"""Agent0: a proposer learns to ask what the policy is of two minds about, and the policy learns from that alone."""

from handaxe.credit.score_scaled import score_scaled
from handaxe.losses.adjustments.clip_with_room import clip_with_room
from handaxe.losses.surrogates.unclipped import unclipped
from handaxe.methods.evolving import evolving
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.question_value import question_value
from handaxe.rollouts.proposing import proposing
from handaxe.worlds.asked_sums import OPENING, asked_sums, for_training, read_question, unlabelled

__all__ = ["agent0"]

TITLE = "Agent0: Unleashing Self-Evolving Agents from Zero Data via Tool-Integrated Reasoning"
RECIPE = Recipe(
    paper=Paper(TITLE, "Agent0", "2511.16043", 45),
    claims=(
        Claim("More is right than at the start.", "pass@1", "up", baseline="frozen", vice=0.8),
        Claim("And than without pay for tools.", "pass@1", "up", baseline="agent0 --tool 0", vice=0.95),
        Claim("And than without a penalty.", "pass@1", "up", baseline="agent0 --repetition 0", vice=0.95),
    ),
    base=partial(grpo, kl_coefficient=0.01),
    world=asked_sums,
    setting=Setting(model="start"),
)


def agent0(base: Method, *, tool: float = 0.6, repetition: float = 1.0, earlier: int = 1) -> Method:
    """Train a proposer on what its questions are worth, and the policy with ADPO on those at its frontier.

    Differs: the proposer begins with questions like those of the tests, where the paper begins with none; of questions
    so short none is like another but its copy, so that the penalty falls on copies alone; attempts have 3 turns.

    Args:
        tool: weight of calls in the proposer's reward; 0.6 in reimplementations, unconfirmed.
        repetition: weight of the penalty for questions that are alike.
        earlier: rounds before the last one; 2 in the paper.
    """
    asks, worth = proposing(read=read_question, solve=base.rollout), question_value(tools=tool, repeated=repetition)
    adpo = replace(base, surrogate=unclipped(), adjustments=(clip_with_room(),), minibatches=2, tasks=unlabelled)
    solver = replace(adpo, credit=score_scaled(credit=base.credit), reward=exact_match(normalise=str.strip))
    asking = replace(base, rollout=asks, reward=worth)
    return evolving(solver, proposer=asking, opening=OPENING, allowed=for_training, earlier=earlier)
