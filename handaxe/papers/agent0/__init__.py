"""Agent0 (arXiv:2511.16043): co-train a proposer of questions and a solver on these questions alone."""

from handaxe import rewards
from handaxe.losses import adjustments, surrogates
from handaxe.methods.method import Method, replace
from handaxe.papers.agent0.arithmetic_questions import OPENING, is_training_question, read_question, unlabelled_pool
from handaxe.papers.agent0.co_train import co_train
from handaxe.papers.agent0.proposing import proposing
from handaxe.papers.agent0.question_value import question_value
from handaxe.papers.agent0.score_scaled import score_scaled

__all__ = ["agent0"]


def agent0(base: Method, *, tool: float = 0.6, repetition: float = 1.0, earlier_rounds: int = 2) -> Method:
    """Train the proposer on the value of questions, and the solver with ADPO on uncertain questions.

    Args:
        tool: weight of the solver's tool calls in the proposer's reward; 0.6 in reimplementations, unconfirmed.
        repetition: weight of the penalty for similar questions.
        earlier_rounds: full rounds before the last one; 2 in the paper.
    """
    write, value = proposing(read=read_question, solve=base.rollout), question_value(tools=tool, repeated=repetition)
    clip = (adjustments.widened_clip(),)
    adpo = replace(base, surrogate=surrogates.unclipped(), adjustments=clip, minibatches=2, tasks=unlabelled_pool)
    solver = replace(adpo, credit=score_scaled(credit=base.credit), reward=rewards.exact_match(normalise=str.strip))
    proposer = replace(base, rollout=write, reward=value)
    return co_train(
        solver, proposer=proposer, opening=OPENING, accept=is_training_question, earlier_rounds=earlier_rounds
    )
