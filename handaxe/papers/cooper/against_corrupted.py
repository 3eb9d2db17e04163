"""Pairs of a correct rollout and the same rollout with a changed answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, Reward, Source, StageContext
from handaxe.core.records import Group, Pair, RatedGroup, Trajectory
from handaxe.ops.change_digit import change_digit
from handaxe.ops.seeds import derive_seed
from handaxe.selection.pairs.ordered import siblings_with_values
from handaxe.training.sft.scripted import trajectory_from_messages

__all__ = ["AgainstCorrupted", "against_corrupted"]

TRIES = 3


def against_corrupted(*, rule: Reward, channel: str = "correct", above: float = 0.5) -> AgainstCorrupted:
    """Make a pair of each group's first correct rollout and a corruption of it.

        chosen     the first sibling with channel > `above`; a group without one has no pair
        rejected   the same conversation with one digit of the last message changed; at most three tries until the rule
                   scores it `above` or less, else no pair

    The rule has high precision, so positives can be trusted; it never trains the policy.

    Args:
        rule: scores the corruption.
        channel: of the scores, with the rule's verdicts on the siblings.
        above: a correct rollout scores more.

    Returns:
        Pairs: [RatedGroup] -> [Pair] of strength 1. Set `format`, the chat format of the policy, before the first call.

    Raises:
        InputError: a call without a format, or a group without the channel.

    Example:
        siblings scored 0, 1, 1, the second says "42"  ->  ("42" against "47")

    Paper: arXiv:2508.05613 (Cooper), pairs of its reward model's updates.
    Differs: a rule changes a digit, where the paper asks an assistant model to rewrite the solution.
    """
    return AgainstCorrupted(rule, channel, above)


class AgainstCorrupted:
    """See `against_corrupted`."""

    def __init__(self, rule: Reward, channel: str, above: float):
        self.format: ChatFormat | None = None
        self._rule = rule
        self._channel = channel
        self._above = above

    def __call__(self, rated: Sequence[RatedGroup]) -> list[Pair]:
        found = []
        for one in rated:
            chosen = self._first_correct(one)
            rejected = None if chosen is None else self._corrupted(one.group, chosen)
            if chosen is not None and rejected is not None:
                found.append(Pair(chosen, rejected, 1.0))
        return found

    def with_format(self, source: Source) -> Source:
        """The source of a stage; the pairs receive the policy's chat format before it plays."""

        def bound(site: StageContext) -> list[RatedGroup]:
            self.format = site.format
            return source(site)

        return bound

    def _first_correct(self, rated: RatedGroup) -> Trajectory | None:
        value_G, scored = siblings_with_values(rated, self._channel)
        return next((rated.group[i] for i in scored if value_G[i] > self._above), None)

    def _corrupted(self, group: Group, chosen: Trajectory) -> Trajectory | None:
        """The conversation with another number at its end, which the rule calls wrong; None after three tries."""
        if self.format is None:
            raise InputError("pairs against corruptions need the policy's chat format: set `format`")
        for number in range(TRIES):
            text = change_digit(chosen.final_text, seed=derive_seed("corrupt", chosen.id, number))
            if text is None or not chosen.messages or chosen.messages[-1].role != "assistant":
                return None
            messages = (*chosen.messages[:-1], replace(chosen.messages[-1], content=text))
            made = trajectory_from_messages(
                self.format, messages, chosen.tools, task=chosen.task, id=f"{chosen.id}/corrupted"
            )
            verdict = self._rule(replace(group, trajectories=(replace(made, env=chosen.env),))).outcome[0]
            if verdict <= self._above:
                return made
        return None
