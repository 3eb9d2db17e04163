"""Rewards the answers of a group by the scores of a referee that reads all of them at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import Unreadable
from handaxe.core.errors import VerifierError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Sampling, Scores
from handaxe.papers.urpo.referee_question import HIGHEST, LOWEST, REFEREE, question_fields, read_scores

__all__ = ["self_referee"]

REPLY_TOKENS = 6
"""Tokens of a reply for each answer."""


def self_referee(*, desk: AskDesk | None, rule: Reward, prompt: str = REFEREE) -> Reward:
    """Ask the referee of a desk for scores of all G answers of a group; with the source `self`, it is the policy.

        R_i = (s_i - 1) / 4        s_1, ..., s_G: the scores of one reply, 1 to 5

    The reply is greedy, and no token of it trains. Group normalization of R equals that of s.

    Args:
        desk: asks the referee; an unreadable reply is sampled again. None: the rule gives the rewards.
        rule: true scores of a group.
        prompt: with the fields task and answers.

    Returns:
        A reward with outcome [G], from 0 to 1.

    Raises:
        VerifierError: no reply has a score for each answer; the group is not scored.

    Example:
        reply "a4 b3 c3 d2"  ->  0.75, 0.5, 0.5, 0.25; with population std, the advantages of GRPO are
        1.4142, 0, 0, -1.4142

    Paper: arXiv:2507.17515 (URPO), rewards of open-ended instructions.
    Unconfirmed: the scale of 1 to 5, and a greedy reply.
    Differs: a group without a readable reply does not train.
    """

    if desk is None:
        return rule

    def reward(group: Group) -> Scores:
        found = desk.ask([_question(desk, prompt, group)], _reader(len(group)))[0]
        if isinstance(found, NoAnswer):
            raise VerifierError(f"the referee scored no answer: {found.reason} {found.text[:200]!r}")
        return Scores((np.array(found, np.float64) - LOWEST) / (HIGHEST - LOWEST))

    return reward


def _question(desk: AskDesk, prompt: str, group: Group) -> Ask:
    found = find_prompt(prompt, terse=desk.answerer.terse)
    fields = question_fields(group.task, [one.final_text.strip() for one in group])
    limits = Sampling(temperature=0.0, max_tokens=REPLY_TOKENS * len(group))
    return Ask(found, fields, role="referee", about=(group[0].id, 0, "scores"), sampling=limits)


def _reader(count: int) -> Callable[[AskAnswer], tuple[int, ...]]:
    def read(answer: AskAnswer) -> tuple[int, ...]:
        scores = read_scores(answer.text, count)
        if scores is None:
            raise Unreadable(f"the reply has no {count} scores")
        return scores

    return read
