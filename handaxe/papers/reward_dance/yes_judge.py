"""Generative judge of images: the probability of "yes" to whether a candidate is better than a reference."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from handaxe.asking.policy_answerer import PlacedQuestion, label_forms, label_requests
from handaxe.core.deferred import DeferredModule
from handaxe.core.images import Image
from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Group, Sampling, Task
from handaxe.core.requests import Sample
from handaxe.judges.viewed import last_image
from handaxe.ops.once import once
from handaxe.papers.reward_dance.comparisons import NO, YES, ComparedDrawings, Context, comparison_message, lesson
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.training.stages.context import make_site
from handaxe.training.stages.sources import scripted
from handaxe.training.stages.teach import teach

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
    from handaxe.models import load as loading
else:
    local = DeferredModule("handaxe.engines.local.engine")
    loading = DeferredModule("handaxe.models.load")

__all__ = ["Compared", "YesJudge", "compared", "fit_yes_judge", "two_way"]

LABELS = {YES: (YES,), NO: (NO,)}
CHAIN = Sampling(temperature=0.0, max_tokens=64)
LOCK = threading.Lock()
"""Serializes calls of models by concurrent rollouts."""
RATE = 1e-3
BATCH = 16


def two_way(logp_Q2: np.ndarray) -> np.ndarray:
    """Compute the softmax over two labels.

        P(yes) = exp(l_yes) / (exp(l_yes) + exp(l_no))

    Args:
        logp_Q2: [Q, 2] log-probs or logits of yes and no.

    Returns:
        [Q].

    Example:
        logits 2 and 1  ->  0.7311

    Paper: arXiv:2509.08826 (RewardDance), the reward is the probability of the token "yes".
    """
    return np.asarray(1 / (1 + np.exp(logp_Q2[:, 1] - logp_Q2[:, 0])))


class YesJudge:
    """Probabilities of "yes", by likelihood; with a chain after the answer's own reasons, sampled greedily.

    Args:
        engine: of a local model with vision.
        format: its chat format.
        context: "none", "reference" or "chain", as taught.

    Example:
        judge.yes([(task, candidate, reference)]) -> [0.7311]

    Paper: arXiv:2509.08826 (RewardDance), Eq. (2), reward = P("yes" | instruction, reference, candidate).
    Differs: P is normalised over "yes" and "no", in the paper over the vocabulary; a chain stands before the verdict.
    """

    def __init__(self, engine: Any, format: ChatFormat, context: Context):
        self._engine = engine
        self._format = format
        self.context = context

    def yes(self, questions: Sequence[tuple[Task, Image | None, Image | None]]) -> np.ndarray:
        """[Q] probabilities for (task, candidate, reference)."""
        alone = self.context == "none"
        asked = [
            comparison_message(task, candidate, None if alone else reference)
            for task, candidate, reference in questions
        ]
        placed = [PlacedQuestion((message,), self._format.start((message,), ()).ids) for message in asked]
        with LOCK:
            chains = self._chains(placed) if self.context == "chain" else [""] * len(placed)
            requests = [
                request
                for question, chain in zip(placed, chains, strict=True)
                for _, request in label_requests(question, *label_forms(LABELS, chain, self._format))
            ]
            found = self._engine.measure(requests) if requests else []
        return two_way(np.array([sum(one["logp"]) for one in found], np.float64).reshape(-1, 2))

    def _chains(self, placed: Sequence[PlacedQuestion]) -> list[str]:
        """Reasons of each answer up to the last word, which is the verdict."""
        stop, header = self._format.stop_ids, self._format.header_ids
        requests = [
            Sample(question.ids, CHAIN, seed, stop, header, images=question.messages[0].images)
            for seed, question in enumerate(placed)
        ]
        texts = [self._format.parse(one.ids, ()).text for one in self._engine.sample(requests)] if requests else []
        return ["".join(text.rpartition(" ")[:2]) for text in texts]


def fit_yes_judge(
    given: Sequence[ComparedDrawings],
    *,
    context: Context = "reference",
    policy: loading.Policy | None = None,
    epochs: int = 1,
    seed: int = 0,
) -> YesJudge:
    """Fine-tune a copy of a policy on comparisons, by next-token prediction of the answer.

    Args:
        given: comparisons.
        context: what the judge sees and writes.
        policy: not changed; None is the packaged `tiny_vision`.
        epochs: passes over the comparisons.
        seed: of the order.

    Returns:
        The judge.

    Example:
        640 comparisons: 40 optimizer steps

    Paper: arXiv:2509.08826 (RewardDance), training by the language model's loss instead of a regression head.
    """
    backbone = policy or loading.load("tiny_vision")
    engine = local.LocalEngine(backbone.model, betas=(0.9, 0.98)).twin()
    lessons = [
        trajectory_from_messages(backbone.format, lesson(one, context), id=str(n)) for n, one in enumerate(given)
    ]
    site = make_site(engine=engine, format=backbone.format, seed=seed)
    teach(source=scripted(trajectories=lessons), epochs=epochs, batch_size=BATCH, learning_rate=RATE)(site)
    return YesJudge(engine, backbone.format, context)


def compared(*, fit: Callable[[], YesJudge], references: Callable[[Task], Sequence[Image]]) -> Compared:
    """Make a judge that compares the last image of a rollout with references of the task.

        score_i = mean over references m of P(yes | request, reference_m, image_i)

    Args:
        fit: called the first time that the judge scores.
        references: of a task; without one the image is asked about alone.

    Returns:
        A judge with scores from 0 to 1; 0 for a rollout without an image.

    Example:
        P(yes) 0.9 against one reference and 0.5 against another  ->  0.7

    Paper: arXiv:2509.08826 (RewardDance), comparative rewards for reinforcement learning.
    """
    return Compared(fit, references)


class Compared:
    """See `compared`."""

    def __init__(self, fit: Callable[[], YesJudge], references: Callable[[Task], Sequence[Image]]):
        self._judge = once(fit)
        self._references = references

    def fitted(self) -> YesJudge:
        """Return the judge, fitted if it was not."""
        return self._judge()

    def score(self, group: Group) -> np.ndarray:
        """[G] mean probabilities; 0 without an image."""
        against: list[Image | None] = [*self._references(group.task)] or [None]
        images = [last_image(one) for one in group]
        drawn = [i for i, image in enumerate(images) if image is not None]
        asked = [(group.task, images[i], reference) for i in drawn for reference in against]
        score_G = np.zeros(len(group))
        score_G[drawn] = self.fitted().yes(asked).reshape(len(drawn), len(against)).mean(1)
        return score_G
