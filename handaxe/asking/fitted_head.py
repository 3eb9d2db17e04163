"""A head on the frozen hidden states of a language model, fitted on labelled questions."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.asking.ask import Ask, AskAnswer, Spent
from handaxe.asking.policy_answerer import SHORT, engine_lock, place_question
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat
from handaxe.core.records import RatedGroup

__all__ = ["FittedHead", "fit_head"]

ROWS = 16
PARTS = 5
"""Parts of the cross-validation."""
NEEDS = "a fitted head needs scikit-learn: pip install 'handaxe[ml]'"


class FittedHead:
    """Answers questions with two labels by a logistic regression on the last layer's state at the end of the question.

        P(first label | question) = sigmoid(w (h - mean) / std + b)

    The model is frozen: a question costs one forward pass. Questions without labels fail.

    Args:
        engine: of a local model, such as `LocalEngine`.
        format: its chat format.
        name: in records, such as "head:tiny".
        strength: of the L2 penalty, C of scikit-learn's LogisticRegression.

    Example:
        head.fit(asks, ["yes", "no", ...]); head.answer([ask])[0].label_logp -> {"no": -1.2, "yes": -0.36}
    """

    def __init__(self, engine: Any, format: ChatFormat, *, name: str, strength: float = 0.1):
        self._engine = engine
        self._format = format
        self._name = name
        self._strength = strength
        self._heads: dict[str, dict[str, np.ndarray]] = {}
        self._trunk = ""  # digest of the frozen model, computed once

    @property
    def terse(self) -> bool:
        return int(self._engine.max_length) < SHORT

    def fingerprint(self) -> str:
        """Digest of the fitted weights and of the frozen model."""
        if not self._heads:
            raise InputError(f"{self._name} is not fitted yet: a stage fits it on labels of the rule, before training")
        self._trunk = self._trunk or self._engine.start_digest()
        sha = hashlib.sha256(self._trunk.encode())
        for name, head in sorted(self._heads.items()):
            sha.update(name.encode())
            for key in ("weight", "bias", "mean", "std"):
                sha.update(np.ascontiguousarray(head[key]).tobytes())
        return f"{self._name} {sha.hexdigest()}"

    def fit(self, asks: Sequence[Ask], labels: Sequence[str]) -> dict[str, float]:
        """Fit the head of each prompt on labelled questions. With five questions of each label or more, P = 0.5 is
        moved to the threshold of the best F1 of the first label in a cross-validation of five parts.

        Returns:
            Means over the prompts: examples, the questions that fit into the context; positive, the share of the first
            label; f1, cross-validated, and constant_f1, of an answer that is always the first label.

        Raises:
            InputError: no question, a prompt without two labels, or whose questions all have one; scikit-learn is
                missing.
        """
        found = list[dict[str, float]]()
        for name in dict.fromkeys(ask.prompt.name for ask in asks):
            chosen = [k for k, ask in enumerate(asks) if ask.prompt.name == name]
            positive = next(iter(asks[chosen[0]].prompt.labels), "")
            state_QD, fits, _ = self._states([asks[k] for k in chosen])
            label_Q = np.array([labels[k] for k in chosen])[fits]
            there = ", ".join(sorted(set(label_Q)))
            if len(set(label_Q)) != 2 or positive not in label_Q:
                raise InputError(
                    f"the {len(label_Q)} questions of {name} have the labels {there or 'none'}"
                    ", and a head needs two: give more of them, --judge-labels, another start, or --judge trained"
                )
            self._heads[name], metrics = fit_head(state_QD, label_Q == positive, strength=self._strength)
            found.append(metrics)
        if not found:
            raise InputError("there is nothing to fit a head on: the rule gave no label")
        return {name: float(np.mean([one[name] for one in found])) for name in found[0]}

    def answer(self, asks: Sequence[Ask]) -> list[AskAnswer]:
        by, begin = self.fingerprint(), time.perf_counter()
        state_QD, fits, length_Q = self._states(asks)
        seconds = (time.perf_counter() - begin) / max(len(asks), 1)
        out, row = list[AskAnswer](), 0
        for ask, placed in zip(asks, fits, strict=True):
            head = self._heads.get(ask.prompt.name)
            if not placed or head is None:
                out.append(AskAnswer(by=by, failure="too_long" if head is not None else "refused"))
                row += bool(placed)
                continue
            logit = float(head["weight"] @ ((state_QD[row] - head["mean"]) / head["std"]) + head["bias"])
            yes, no = ask.prompt.labels
            found = {yes: -float(np.logaddexp(0.0, -logit)), no: -float(np.logaddexp(0.0, logit))}
            out.append(AskAnswer(label_logp=found, spent=Spent(int(length_Q[row]), 0, seconds), by=by))
            row += 1
        return out

    def _states(self, asks: Sequence[Ask]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """[Q', D] states of the questions that fit, in order; [Q] bool, which fit; and [Q'] tokens."""
        placed = [place_question(ask, self._format, room=self._engine.max_length) for ask in asks]
        rows = [one.ids for one in placed if one is not None]
        states: dict[int, np.ndarray] = {}
        order = sorted(range(len(rows)), key=lambda k: len(rows[k]))
        with engine_lock(self._engine), torch.inference_mode():
            for start in range(0, len(order), ROWS):
                chosen = order[start : start + ROWS]
                longest = max(len(rows[k]) for k in chosen)
                pad = self._engine.pad_id
                ids_BT = torch.tensor([[*rows[k], *[pad] * (longest - len(rows[k]))] for k in chosen])
                attend_BT = torch.tensor([[t < len(rows[k]) for t in range(longest)] for k in chosen])
                device = self._engine.device
                hidden_BTD = self._engine.model.hidden(ids_BT.to(device), attend_BT.to(device))
                for row, k in enumerate(chosen):
                    states[k] = hidden_BTD[row, len(rows[k]) - 1].double().cpu().numpy()
        found = np.array([states[k] for k in range(len(rows))]).reshape(len(rows), -1)
        return found, np.array([one is not None for one in placed], bool), np.array([len(one) for one in rows])

    # --- a learner that learns nothing, so that checkpoints hold the head --------------------------------------------

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        del groups, step
        return {}

    def state_dict(self) -> dict[str, Any]:
        return {name: {key: torch.tensor(value) for key, value in head.items()} for name, head in self._heads.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._heads = {name: {key: value.numpy() for key, value in head.items()} for name, head in state.items()}


def fit_head(
    state_QD: np.ndarray, positive_Q: np.ndarray, *, strength: float
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Fit a logistic regression on standardized states, with the threshold of the best F1 moved to P = 0.5.

    Args:
        state_QD: states.
        positive_Q: bool, both values occur.
        strength: C of the penalty.

    Returns:
        weight [D], bias [], mean [D] and std [D]; and the metrics of `FittedHead.fit`.
    """
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import TunedThresholdClassifierCV
    except ImportError as error:
        raise InputError(NEEDS) from error
    mean_D, std_D = state_QD.mean(0), state_QD.std(0) + 1e-6
    scaled_QD = (state_QD - mean_D) / std_D
    model: Any = LogisticRegression(C=strength, max_iter=1000)
    share = float(positive_Q.mean())
    metrics = {"examples": float(len(positive_Q)), "positive": share, "constant_f1": 2 * share / (1 + share)}
    shift = 0.0
    if min(positive_Q.sum(), (~positive_Q).sum()) >= PARTS:
        tuned = TunedThresholdClassifierCV(model, scoring="f1", cv=PARTS).fit(scaled_QD, positive_Q)
        threshold = float(np.clip(tuned.best_threshold_, 1e-6, 1 - 1e-6))
        shift, model = float(np.log(threshold / (1 - threshold))), tuned.estimator_
        metrics["f1"] = float(tuned.best_score_)
    else:
        model.fit(scaled_QD, positive_Q)
    head = {"weight": model.coef_[0], "bias": np.array(model.intercept_[0] - shift), "mean": mean_D, "std": std_D}
    return head, metrics
