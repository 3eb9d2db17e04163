"""A judge of pairs that asks a language model which of two answers is right, in both orders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import expected
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.images import name_images
from handaxe.core.records import Trajectory

__all__ = ["AskedPairs", "asked_pairs", "mean_preference", "pair_question"]


def pair_question(desk: AskDesk, prompt: str, first: Trajectory, second: Trajectory) -> Ask:
    """The question about the last texts of two rollouts, in the variant of the prompt for the model of the desk.

    Raises:
        InputError: rollouts of different tasks, or a prompt with other fields than task, first and second.
    """
    if first.task.id != second.task.id:
        raise InputError(f"{first.id!r} and {second.id!r} are of different tasks, and a pair is of one task")
    last = first.task.messages[-1]
    found = find_prompt(prompt, terse=desk.answerer.terse)
    fields = {"task": name_images(last.content, last.images), "first": first.final_text, "second": second.final_text}
    if wrong := {*found.trusted, *found.quoted} ^ fields.keys():
        raise InputError(f"prompt {found.name} has other fields than {', '.join(fields)}: {', '.join(sorted(wrong))}")
    return Ask(found, fields, about=(first.id, -1, second.id))


def mean_preference(chance_P2: np.ndarray) -> np.ndarray:
    """Probability that the first answer is better, by the mean of both orders.

        p(a, b) = (P(a | a first) + 1 - P(b | b first)) / 2

    Args:
        chance_P2: [P, 2] probabilities of the text in the first place, with a there and with b there.

    Returns:
        [P], and p(a, b) = 1 - p(b, a). A judge that prefers a place to a text gives 1/2.

    Example:
        0.9 with a first, 0.6 with b first  ->  0.65
    """
    chance_P2 = np.asarray(chance_P2, np.float64).reshape(-1, 2)
    return (chance_P2[:, 0] + 1 - chance_P2[:, 1]) / 2


def asked_pairs(*, desk: AskDesk, prompt: str = "which") -> AskedPairs:
    """Make a judge of pairs that asks a language model which of two answers is right, once in each order.

        p(a, b) = (P(first | a, b) + 1 - P(first | b, a)) / 2

    Args:
        desk: answers the questions.
        prompt: with two labels, the first of which means the first text, and fields task, first and second.

    Returns:
        A `protocols.PairJudge`. Does not learn.

    Raises:
        InputError: a pair of different tasks; while comparing, a prompt with other fields.
        VerifierError: while comparing, a question without an answer: the pair is not compared.

    Example:
        P(first) 0.9 of (a, b) and 0.6 of (b, a)  ->  p(a, b) 0.65; the winner depends on the order: not consistent

    Paper: arXiv:2306.05685 (MT-Bench), both orders of two answers, and consistency of the winner.
    Differs: likelihoods of the two labels, and not a sampled verdict; an inconsistent pair is not a tie.
    """
    return AskedPairs(desk, prompt)


class AskedPairs:
    """See `asked_pairs`."""

    def __init__(self, desk: AskDesk, prompt: str):
        self._desk = desk
        self._prompt = prompt

    def compare(self, pairs: Sequence[tuple[Trajectory, Trajectory]]) -> np.ndarray:
        """[P] probabilities that the first is better."""
        return mean_preference(self.both_orders(pairs))

    def consistent(self, pairs: Sequence[tuple[Trajectory, Trajectory]]) -> np.ndarray:
        """[P] bool: the same winner, or twice a tie, in both orders."""
        side_P2 = np.sign(self.both_orders(pairs) - 0.5)
        return np.asarray(side_P2[:, 0] == -side_P2[:, 1])

    def both_orders(self, pairs: Sequence[tuple[Trajectory, Trajectory]]) -> np.ndarray:
        """[P, 2] probabilities of the text in the first place, in the given and in the other order."""
        asked = [order for a, b in pairs for order in ((a, b), (b, a))]
        asks = [pair_question(self._desk, self._prompt, a, b) for a, b in asked]
        if not asks:
            return np.zeros((0, 2))
        found = self._desk.ask(asks, expected(asks[0].prompt.weights))
        for (first, second), value in zip(asked, found, strict=True):
            if isinstance(value, NoAnswer):
                raise VerifierError(
                    f"the judge did not choose between {first.id!r} and {second.id!r}: {value.reason} "
                    f"{value.text[:200]!r}",
                    trajectory=first.id,
                )
        return np.array(found, np.float64).reshape(-1, 2)
