"""Critic of reward programs before training: errors, and totals whose sign carries no information."""

from collections.abc import Callable

__all__ = ["Critic"]

PROBE = """

def compute_reward(before, after, dense=compute_reward):
    total, parts = dense(before, after)
    if not total {relation} 0:
        raise ValueError("probe")
    return total, parts
"""
CONSTANT = {">": "positive", "<": "negative"}


class Critic:
    """Critic of programs: an error on rollouts of the start, or a total with the same sign at every turn.

        verdict(text) = check(text)                                            if the check names an error
                      = "the total is positive at every turn ..."              if check(text, total > 0) passes
                      = "the total is negative at every turn ..."              if check(text, total < 0) passes
                      = "" otherwise

    With the sign as reward, a total of one sign pays the number of turns, and no progress. The test of the sign is a
    program in the sandbox that fails at the first turn of another sign.

    Args:
        check: runs a text on rollouts of the start: sentence on the failure, "" for none.
        objection: text of a program that ran -> objection of a language model, in place of the rule on signs; None for
            the rule.

    Attributes:
        objections: number of verdicts other than "".

    Example:
        total after["tokens"], positive at every turn -> an objection; after["ok"] - before["ok"], 0 or 1 -> ""

    Paper: arXiv:2312.09238 (Auto MC-Reward), the reward critic: errors, fields that do not exist, and consistency.
    Unconfirmed: the critic's questions; at most 3 rounds.
    Differs: by default two rules on executed programs replace a language model that reads the code.
    """

    def __init__(self, check: Callable[[str], str], objection: Callable[[str], str] | None = None):
        self._check = check
        self._objection = objection or self._one_sign
        self.objections = 0

    def __call__(self, text: str) -> str:
        verdict = self._verdict(text)
        self.objections += bool(verdict)
        return verdict

    def _verdict(self, text: str) -> str:
        return self._check(text) or self._objection(text)

    def _one_sign(self, text: str) -> str:
        signs = [word for relation, word in CONSTANT.items() if not self._check(_probe(text, relation))]
        if len(signs) != 1:  # both without any turn
            return ""
        return (
            f"the total is {signs[0]} at every turn of every rollout, so that its sign pays for the number of turns "
            "alone: give turns without progress 0 or another sign"
        )


def _probe(text: str, relation: str) -> str:
    return text.rstrip("\n") + "\n" + PROBE.format(relation=relation)
