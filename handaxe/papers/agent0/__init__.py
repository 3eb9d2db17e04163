"""Agent0: a proposer learns to ask what the policy is of two minds about, and the policy learns from that alone."""

from handaxe.losses.adjustments.clip_with_room import clip_with_room
from handaxe.losses.surrogates.unclipped import unclipped
from handaxe.methods.method import Method, replace
from handaxe.papers.agent0.asked_sums import OPENING, for_training, read_question, unlabelled
from handaxe.papers.agent0.evolving import evolving
from handaxe.papers.agent0.proposing import proposing
from handaxe.papers.agent0.question_value import question_value
from handaxe.papers.agent0.score_scaled import score_scaled
from handaxe.rewards.exact_match import exact_match

__all__ = ["agent0"]


def agent0(base: Method, *, tool: float = 0.6, repetition: float = 1.0, earlier: int = 1) -> Method:
    """Train a proposer on what its questions are worth, and the policy with ADPO on those at its frontier.

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
