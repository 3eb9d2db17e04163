"""Reward of a proposer: uncertainty of the solver, its tool calls, and diversity of the questions."""

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.papers.agent0.repetition import cluster_shares
from handaxe.papers.agent0.votes import read_proposal

__all__ = ["question_value"]


def question_value(
    *,
    unsure: float = 1.0,
    tools: float = 0.6,
    per_call: float = 0.25,
    most_calls: int = 4,
    repeated: float = 1.0,
    threshold: float = 0.5,
    released: bool = False,
    marker: str = "```output",
) -> Reward:
    """Reward questions with divided answers, with tool calls, and with few similar questions in the batch.

        R_i = F_i max(0, unsure U_i + tools T_i - repeated S_i)
        U_i = 1 - 2 |p_i - 0.5|              p_i: share of the solver's answers that equal the majority answer
        T_i = per_call min(N_i, most_calls)  N_i: tool results in a solver's rollout, mean over its rollouts
        S_i = share of the batch in the cluster of question i
        F_i = 1 for a readable question, else 0
    Released:
        R_i = unsure min(s_i, 1 - s_i) - repeated S_i + tools T_i           for a readable question
              -1 - repeated S_i                                             otherwise
        s_i = p_i if the majority answer is the proposer's own and p_i > 0.1, else 0;  N_i: markers in the question

    The solver's results are read from the trajectory's notes (`papers.agent0.proposing`). A batch is a group: a
    proposer has one prompt, so that all questions of a step are rollouts of one task. Unreadable texts are one cluster
    and count in the batch.

    Args:
        unsure: lambda_unc, weight of the uncertainty.
        tools: lambda_tool, weight of tool use; 0.6 in reimplementations of the paper.
        per_call: gamma, reward of a tool result; 0.05 in released code.
        most_calls: C, limit of rewarded tool results; 4.
        repeated: weight of the penalty.
        threshold: mean distance within a cluster; see `papers.agent0.repetition`.
        released: use the form of the released code.
        marker: text that N_i counts in the released form.

    Returns:
        A reward with outcome [G] and the channels readable, unsure, tools and repeated, each before its weight, and
        near_copies: S_i less the share of the batch with the very text of question i.

    Raises:
        InputError: sacrebleu is not installed; most_calls below 0.

    Example:
        p 0.6, N 3, per_call 0.05, S 0.25  ->  0.8 + 0.6 * 0.15 - 0.25 = 0.64
        released, tools 1, per_call 0.05, its own answer  ->  min(0.6, 0.4) - 0.25 + 0.15 = 0.3

    Paper: arXiv:2511.16043 (Agent0), curriculum reward.
    Unconfirmed: unsure 1 or 0.5, per_call 0.6 or 0.25; that N is a mean over the solver's rollouts.
    Differs: BLEU is averaged over both directions; released groups have 4 questions, and S is over a whole step.
    """
    if most_calls < 0:
        raise InputError(f"most_calls is {most_calls}; give 0 or more")

    def reward(group: Group) -> Scores:
        found = [read_proposal(one) for one in group]
        readable_G = np.array([bool(one.question) for one in found], np.float64)
        share_G = np.array([one.share for one in found], np.float64)
        repeated_G = cluster_shares([one.question for one in found], threshold=threshold)
        if released:
            calls_G = np.array([one.final_text.count(marker) for one in group], np.float64)
            known = [one.share > 0.1 and bool(one.own) and one.own == one.answer for one in found]
            sure_G = np.where(known, share_G, 0.0)
            unsure_G = np.minimum(sure_G, 1 - sure_G)
        else:
            calls_G = np.array([one.calls for one in found], np.float64)
            unsure_G = np.where(readable_G > 0, 1 - 2 * np.abs(share_G - 0.5), 0.0)
        tools_G = per_call * np.minimum(calls_G, most_calls)
        worth_G = unsure * unsure_G + tools * tools_G - repeated * repeated_G
        other_G = -1 - repeated * repeated_G if released else np.zeros(len(group))
        outcome_G = np.where(readable_G > 0, worth_G if released else np.maximum(0.0, worth_G), other_G)
        questions = [one.question for one in found]
        near_G = repeated_G - np.array([questions.count(one) for one in questions], np.float64) / len(group)
        channels = {"readable": readable_G, "unsure": unsure_G, "tools": tools_G, "repeated": repeated_G}
        channels |= {"near_copies": near_G}
        return Scores(outcome_G, channels=channels)

    return reward
