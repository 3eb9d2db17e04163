"""Asks a model with vision which of two rollouts has the better image.

Kept: users judge images with a served vision-language model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from handaxe.asking.policy_answerer import PlacedQuestion, label_forms, label_requests
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.images import PLACEHOLDER
from handaxe.core.protocols import ChatFormat, Measures
from handaxe.core.records import Group, Message, ParsedTurn, Sampling, Trajectory
from handaxe.judges.asked_pairs import mean_preference
from handaxe.judges.viewed import last_image

__all__ = ["Choose", "ImagePairs", "by_likelihood", "by_text", "image_pairs", "pair_message"]

Choose = Callable[[Sequence[Message]], np.ndarray]
"""Questions -> [Q] probabilities of the answer "1"."""
GREEDY = Sampling(temperature=0.0, max_tokens=256)
LABELS = {"1": ("1",), "2": ("2",)}
CHOICE = re.compile(r"(?<!\d)[12](?!\d)")


class _AsksModel(Protocol):
    """Part of `engines.OpenAICompatible` that a judge needs."""

    def ask(self, messages: Sequence[Message], *, sampling: Sampling | None = None) -> ParsedTurn: ...


def pair_message(first: Trajectory, second: Trajectory) -> Message:
    """Write the question about two rollouts of one task: the request, the last image of each, and the two answers.

    Example:
        "Request: draw red disc at 2 4", "Image 1:" and an image, "Image 2:" and an image, "Which image fits the request
        better, 1 or 2?"; without an image "none"
    """
    images = [last_image(one) for one in (first, second)]
    words = first.task.messages[-1].content.replace(PLACEHOLDER, "")
    shown = ["none" if image is None else image for image in images]
    question = "\nWhich image fits the request better, 1 or 2? Answer with the number."
    return Message.of("user", f"Request: {words}\nImage 1: ", shown[0], "\nImage 2: ", shown[1], question)


def by_text(engine: _AsksModel, *, sampling: Sampling = GREEDY) -> Choose:
    """Let a model answer in words; the last 1 or 2 of the answer counts.

    Args:
        engine: such as `engines.OpenAICompatible` of a server with a vision-language model.
        sampling: of the answer.

    Raises:
        VerifierError: an answer without 1 or 2.
    """

    def choose(questions: Sequence[Message]) -> np.ndarray:
        return np.array(
            [float(_choice(engine.ask([question], sampling=sampling).text) == "1") for question in questions]
        )

    return choose


def by_likelihood(engine: Measures, format: ChatFormat) -> Choose:
    """Compare the likelihoods of both answers, without sampling: P(1) / (P(1) + P(2)).

    Args:
        engine: of a local policy with vision.
        format: its chat format.
    """

    forms, shared = label_forms(LABELS, "", format)

    def choose(questions: Sequence[Message]) -> np.ndarray:
        placed = [PlacedQuestion((message,), format.start((message,), ()).ids) for message in questions]
        requests = [request for question in placed for _, request in label_requests(question, forms, shared)]
        logp_Q2 = np.array([sum(one["logp"]) for one in engine.measure(requests)], np.float64).reshape(-1, 2)
        return 1 / (1 + np.exp(logp_Q2[:, 1] - logp_Q2[:, 0]))

    return choose


def image_pairs(*, choose: Choose, question: Callable[[Trajectory, Trajectory], Message] = pair_message) -> ImagePairs:
    """Make a judge of pairs that shows a model the last image of both rollouts, in both orders.

        p(a, b) = (P(1 | a first) + 1 - P(1 | b first)) / 2

    A model that prefers a position to an image gives 1/2.

    Args:
        choose: answers questions: `by_text(engine)` for a served model, or `by_likelihood(engine, format)` for a local
            policy with vision.
        question: (first, second) -> message of the user with both images.

    Returns:
        A PairJudge. `rank` gives a group's mean probabilities against the other siblings. It does not learn.

    Raises:
        VerifierError: by `compare`, a probability out of 0 to 1, or an unreadable answer.

    Example:
        P(1) 0.9 for (a, b) and 0.3 for (b, a)  ->  p(a, b) = 0.8

    Idea: pairwise judges of images see both, and both orders remove the preference for a position.
    """
    return ImagePairs(choose, question)


class ImagePairs:
    """See `image_pairs`."""

    def __init__(self, choose: Choose, question: Callable[[Trajectory, Trajectory], Message]):
        self._choose = choose
        self._question = question

    def compare(self, pairs: Sequence[tuple[Trajectory, Trajectory]]) -> np.ndarray:
        """[P] probabilities that the first is better."""
        for first, second in pairs:
            if first.task.id != second.task.id:
                raise InputError(f"{first.id!r} and {second.id!r} are of different tasks, which no image can compare")
        asked = [self._question(*both) for a, b in pairs for both in ((a, b), (b, a))]
        chance_2P = np.asarray(self._choose(asked), np.float64) if asked else np.zeros(0)
        if chance_2P.shape != (len(asked),) or not ((chance_2P >= 0) & (chance_2P <= 1)).all():
            raise VerifierError(f"the judge gives {chance_2P.tolist()} for {len(asked)} questions, not probabilities")
        return mean_preference(chance_2P.reshape(-1, 2))

    def rank(self, group: Group) -> np.ndarray:
        """[G] mean probabilities against the other siblings; 1/2 for a lone one."""
        places = [(i, j) for i in range(len(group)) for j in range(i + 1, len(group))]
        chance_P = self.compare([(group[i], group[j]) for i, j in places])
        total_G = np.zeros(len(group))
        for (i, j), chance in zip(places, chance_P, strict=True):
            total_G[i] += chance
            total_G[j] += 1 - chance
        return total_G / (len(group) - 1) if len(group) > 1 else np.full(len(group), 0.5)


def _choice(text: str) -> str:
    found = CHOICE.findall(text)
    if not found:
        raise VerifierError(f"the judge answers {text[:80]!r}, without 1 or 2")
    return str(found[-1])
