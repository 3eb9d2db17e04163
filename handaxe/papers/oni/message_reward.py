"""The three forms of a message reward: retrieved, classified and ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.ops.seeds import generator
from handaxe.papers.oni.char_net import CharNet

__all__ = ["Classified", "MessageReward", "Ranked", "Retrieved", "Variant", "message_reward"]

Variant = Literal["retrieval", "classification", "ranking"]
BATCH = 256
"""Messages, or pairs of messages, of a step of the network; the paper's."""


class MessageReward(Protocol):
    """Reward of a message, distilled from labels."""

    def scores(self, messages: Sequence[str]) -> np.ndarray:
        """[M] rewards; 0 before the first label."""
        ...

    def learn(self, labels: Mapping[str, float], messages: Sequence[str], *, step: int) -> dict[str, float]:
        """Learn from all labels so far, 0 or 1 each, after the messages of a step; returns metrics."""
        ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


def message_reward(
    variant: Variant, *, threshold: float = 0.5, eps: float = -0.5, updates: int = 20, learning_rate: float = 1e-2
) -> MessageReward:
    """Make a reward of messages.

    Args:
        variant: retrieval, classification or ranking.
        threshold: of the classifier's probability, above 0 and below 1; the paper's 0.5.
        eps: of the normalized ranking reward; the paper's -0.5.
        updates: steps of the network after each step of training, 1 or more.
        learning_rate: of the network.

    Raises:
        InputError: an unknown variant or a number out of range.

    Example:
        message_reward("retrieval") after the label 1 of "+key": "+key" -> 1, any other message -> 0

    Paper: arXiv:2410.23022 (ONI), its three variants.
    Unconfirmed: the steps of the network and their learning rate.
    Differs: nothing known.
    """
    if variant not in ("retrieval", "classification", "ranking"):
        raise InputError(f"variant is {variant!r}; give retrieval, classification or ranking")
    if not 0 < threshold < 1 or updates < 1 or not learning_rate > 0:
        raise InputError(
            f"give a threshold between 0 and 1, updates from 1 and a learning_rate above 0, not {threshold}, {updates} "
            f"and {learning_rate}"
        )
    if variant == "retrieval":
        return Retrieved()
    net = CharNet(learning_rate=learning_rate)
    return Classified(net, threshold, updates) if variant == "classification" else Ranked(net, eps, updates)


class Retrieved:
    """Label of an equal message.

        r(m) = label(m), 0 without a label

    Example:
        labels {"+key": 1, "walls": 0}: "+key" -> 1, "walls" and "a1" -> 0

    Paper: arXiv:2410.23022 (ONI), retrieval.
    Differs: nothing.
    """

    def __init__(self) -> None:
        self._labels: dict[str, float] = {}

    def scores(self, messages: Sequence[str]) -> np.ndarray:
        return np.array([self._labels.get(one, 0.0) for one in messages], np.float64)

    def learn(self, labels: Mapping[str, float], messages: Sequence[str], *, step: int) -> dict[str, float]:
        del messages, step
        self._labels = dict(labels)
        return {}

    def state_dict(self) -> dict[str, Any]:
        return {"labels": dict(self._labels)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._labels = dict(state["labels"])


class Classified:
    """Threshold of a classifier of messages.

        p(m) = sigmoid(s(m))        r(m) = 1[p(m) > threshold]
        L = mean over a batch of labelled messages of -y log p - (1 - y) log (1 - p)

    Example:
        s 0.4, threshold 0.5: p 0.5987, r 1;  s -0.1: p 0.4750, r 0

    Paper: arXiv:2410.23022 (ONI), classification.
    Differs: learns from all labels after each step of training, not in another thread.
    """

    def __init__(self, net: CharNet, threshold: float, updates: int):
        self._net = net
        self._threshold = threshold
        self._updates = updates
        self._begun = False

    def scores(self, messages: Sequence[str]) -> np.ndarray:
        chance_M = 1 / (1 + np.exp(-self._net.scores(messages)))
        return np.asarray(self._begun * (chance_M > self._threshold), np.float64)

    def learn(self, labels: Mapping[str, float], messages: Sequence[str], *, step: int) -> dict[str, float]:
        del messages
        if not labels:
            return {}
        self._begun = True
        known, value_N = list(labels), np.array(list(labels.values()))
        chosen_UB = generator("classified", step).integers(len(known), size=(self._updates, BATCH))
        batches = [([known[n] for n in row], _cross_entropy(value_N[row])) for row in chosen_UB]
        loss = self._net.fit(batches)
        right = (self.scores(known) == value_N).mean()
        return {"loss": loss, "accuracy": float(right)}

    def state_dict(self) -> dict[str, Any]:
        return {"net": self._net.state_dict(), "begun": self._begun}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._net.load_state_dict(state["net"])
        self._begun = bool(state["begun"])


class Ranked:
    """Reward of a network that learns from pairs of messages, normalized and cut.

        P(a over b) = sigmoid(s(a) - s(b))      L = mean over pairs of -y log P(a over b) - (1 - y) log P(b over a)
        y = 1, 0.5 or 0 for a better, equal or worse label of a
        z(m) = (s(m) - mean) / std              r(m) = z(m) 1[z(m) > eps]

    Mean and std are over the scores of all messages of training so far, each with its score in its step.

    Example:
        s(a) 1, s(b) 0.5, y 1: L 0.4741;  y 0.5: L 0.7241
        scores 0, 0 and 3 so far, mean 1 and std 1.4142: s 3 -> 1.4142, s 0 -> z -0.7071 -> 0 for eps -0.5

    Paper: arXiv:2410.23022 (ONI), ranking.
    Unconfirmed: the scores of mean and std.
    Differs: a preference compares two labels; the paper asks the language model about each pair.
    """

    def __init__(self, net: CharNet, eps: float, updates: int):
        self._net = net
        self._eps = eps
        self._updates = updates
        self._sums = np.zeros(3)
        """Number, sum and sum of squares of the scores so far."""

    def scores(self, messages: Sequence[str]) -> np.ndarray:
        count, total, squares = self._sums
        mean = total / max(count, 1.0)
        std = np.sqrt(max(squares / max(count, 1.0) - mean**2, 0.0))
        z_M = (self._net.scores(messages) - mean) / std if std > 0 else np.zeros(len(messages))
        return np.where(z_M > self._eps, z_M, 0.0)

    def learn(self, labels: Mapping[str, float], messages: Sequence[str], *, step: int) -> dict[str, float]:
        if not labels:
            return {}
        known, value_N = list(labels), np.array(list(labels.values()))
        chosen_U2B = generator("ranked", step).integers(len(known), size=(self._updates, 2, BATCH))
        batches = []
        for first_B, second_B in chosen_U2B:
            prefers_B = 0.5 + 0.5 * np.sign(value_N[first_B] - value_N[second_B])
            batches.append(([known[n] for n in (*first_B, *second_B)], _preference(prefers_B)))
        loss = self._net.fit(batches)
        score_M = self._net.scores(messages)
        self._sums += np.array([len(score_M), score_M.sum(), (score_M**2).sum()])
        return {"loss": loss, "accuracy": _ranking_accuracy(self._net.scores(known), value_N)}

    def state_dict(self) -> dict[str, Any]:
        return {"net": self._net.state_dict(), "sums": self._sums.tolist()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._net.load_state_dict(state["net"])
        self._sums = np.array(state["sums"], np.float64)


def _cross_entropy(label_B: np.ndarray) -> Any:
    target_B = torch.from_numpy(label_B)
    return lambda score_B: torch.nn.functional.binary_cross_entropy_with_logits(score_B, target_B)


def _preference(prefers_B: np.ndarray) -> Any:
    """Cross-entropy of P(a over b) with soft labels, on scores of all a, then of all b."""
    target_B = torch.from_numpy(prefers_B)

    def loss(score_2B: Any) -> Any:
        first_B, second_B = score_2B.chunk(2)
        return torch.nn.functional.binary_cross_entropy_with_logits(first_B - second_B, target_B)

    return loss


def _ranking_accuracy(score_N: np.ndarray, value_N: np.ndarray) -> float:
    """Share of pairs of unequal labels in the order of the scores; 1 without a pair."""
    right = np.subtract.outer(score_N, score_N)[np.greater.outer(value_N, value_N)] > 0
    return float(right.mean()) if right.size else 1.0
