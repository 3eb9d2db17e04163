"""Scores steps by how far they bring an attempt, as a critic of its own learned it from outcomes alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Copyable, Engine, KeptEngine, Labelled
from handaxe.core.records import Advantages, Group, Rated, Scores, Trajectory
from handaxe.papers.spa_rl.sum_regression import sum_regression
from handaxe.training.loop.batch import Row, make_batch, microbatches, pad
from handaxe.training.loop.update import mean_metrics, optimiser_step

__all__ = ["Progress", "progress"]


def progress(
    *,
    engine: KeptEngine | None = None,
    channel: str | None = None,
    learning_rate: float = 1e-4,
    epochs: int = 1,
    clip_norm: float = 1.0,
    micro_batch_rows: int = 64,
) -> Progress:
    """Make a judge that shares the outcome of an attempt among its turns, by a model with a critic of its own.

        c_k   = V at the last token of turn k                                what turn k adds; 0 where it has no token
        score = c_1 + ... + c_N
        loss  = mean over attempts of (c_1 + ... + c_N - R_i)^2              `papers.spa_rl.sum_regression`

    It learns as a `Learner`, one optimiser step an epoch on all groups that it is shown, model and critic together.

    Args:
        engine: the model, with a critic; None: a twin of the policy as it is when `begin` is called, which `train` and
            the stage `fit` do. Before it learns anything, all its scores are 0.
        channel: R is this channel of the scores; None: their outcome.
        learning_rate: of AdamW; 3e-6 in the paper, for 3 billion parameters.
        epochs: optimiser steps each time it learns.
        clip_norm: of a twin.
        micro_batch_rows: most rows that forward and backward see at once, attempts kept whole.

    Returns:
        A judge that is a StepJudge, Fittable and a Learner, whose weights and moments are in its state. Attempts with
        an R of NaN, and those without a token, are not learned from. It reads FORCED tokens as it does the others.

    Raises:
        InputError: an argument out of range; asked before it has begun; an engine that cannot be twinned or has no
            critic; no channel of that name.

    Example:
        values 0.1, 0.5, 0.4 at the ends of three turns  ->  steps 0.1, 0.5, 0.4, score 1; for R = 1 the loss is 0

    Paper: arXiv:2505.20732 (SPA-RL), the progress estimator.
    Unconfirmed: the formula, which is known from secondary sources and the released code.
    Differs: the released estimator has one linear layer on the logits, and reads it after a turn's last token; here it
    is one on the hidden states, and a turn is read as a whole but for its last token, which ends it.
    """
    if epochs < 1 or micro_batch_rows < 1 or learning_rate < 0 or not clip_norm > 0:
        raise InputError(
            f"give epochs and micro_batch_rows from 1, a learning_rate from 0 and a clip_norm above 0, not {epochs}, "
            f"{micro_batch_rows}, {learning_rate} and {clip_norm}"
        )
    return Progress(engine, channel, learning_rate, epochs, clip_norm, micro_batch_rows)


class Progress:
    """See `progress`."""

    def __init__(
        self,
        engine: KeptEngine | None,
        channel: str | None,
        learning_rate: float,
        epochs: int,
        clip_norm: float,
        micro_batch_rows: int,
    ):
        self._engine = engine
        self._channel = channel
        self._learning_rate = learning_rate
        self._epochs = epochs
        self._clip_norm = clip_norm
        self._rows = micro_batch_rows
        self._loss = sum_regression()

    def begin(self, engine: Engine) -> None:
        """Become a twin of the policy, unless it has a model already."""
        if self._engine is not None:
            return
        if not isinstance(engine, Copyable):
            raise InputError(
                f"{type(engine).__name__} cannot be twinned, so a progress judge cannot begin as its policy: give it "
                "an engine of its own; see slots.Twins"
            )
        self._engine = engine.twin(critic=True, clip_norm=self._clip_norm)

    @property
    def _own(self) -> KeptEngine:
        if self._engine is None:
            raise InputError("this judge has no model yet: teach it in the stage fit, or give it engine=")
        return self._engine

    # --- scoring ---------------------------------------------------------------------------------------------------

    def score(self, group: Group) -> np.ndarray:
        """[G]: sums over steps."""
        return np.array([own.sum() for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling, all siblings read in one batch."""
        return self._steps(list(group))

    def _steps(self, trajectories: Sequence[Trajectory]) -> tuple[np.ndarray, ...]:
        rows = [
            (i, s, Row(sequence, np.zeros(len(sequence)), 0, i))
            for i, one in enumerate(trajectories)
            for s, sequence in enumerate(one.sequences)
            if sequence.mask.any()
        ]
        said: dict[tuple[int, int], np.ndarray] = {}
        if rows:
            value_BT = self._values(pad([row for _, _, row in rows], pad_id=self._own.pad_id))
            said = {(i, s): value_BT[b] for b, (i, s, _) in enumerate(rows)}
        return tuple(
            _at_ends(one, {s: said[i, s] for s in range(len(one.sequences)) if (i, s) in said})
            for i, one in enumerate(trajectories)
        )

    def _values(self, batch: Batch) -> np.ndarray:
        """[B, T] of the critic."""
        out = self._own.forward(batch, names=("value",))
        return out["value"].double().numpy()

    # --- learning --------------------------------------------------------------------------------------------------

    def fit(self, labelled: Sequence[Labelled]) -> dict[str, float]:
        """Learn from outcomes; metrics as of `learn`, without the error before."""
        return self._fit([self._as_rated(group, scores) for group, scores in labelled])

    def learn(self, groups: Sequence[Rated], *, step: int) -> Mapping[str, float]:
        """Learn from what all groups of a step came to.

        Returns:
            error, the mean square of score - R over them before it learns from them (held out, where they are shown
            once); spread, that of R around its own mean, which a judge that knows nothing but that mean comes to; what
            the optimiser steps came to (loss, loss/predicted, grad_norm, ...); and labels, attempts learned from.
        """
        del step
        apart, known = [], []
        for one in groups:
            label_G = self._labels(one.scores)
            there = ~np.isnan(label_G)
            known.append(label_G[there])
            apart.append(self.score(one.group)[there] - label_G[there])
        label, error = (np.concatenate([np.zeros(0), *each]) for each in (known, apart))
        before = {"error": float(np.mean(error**2)), "spread": float(np.var(label))} if len(label) else {}
        return {**before, **self._fit([self._as_rated(one.group, one.scores) for one in groups])}

    def _labels(self, scores: Scores) -> np.ndarray:
        """[G]: R, NaN where it is not known."""
        if self._channel is not None and self._channel not in scores.channels:
            there = ", ".join(sorted(scores.channels)) or "none"
            raise InputError(f"the scores have no channel {self._channel!r} to learn from; there are {there}")
        return np.asarray(scores.outcome if self._channel is None else scores.channels[self._channel], np.float64)

    def _as_rated(self, group: Group, scores: Scores) -> Rated:
        """The group with R at each of an attempt's tokens as the value to learn."""
        label_G = self._labels(scores)
        known_G = np.array([not np.isnan(v) and _speaks(one) for one, v in zip(group, label_G, strict=True)], bool)
        targets = tuple(
            tuple(np.where(sequence.mask, 0.0 if np.isnan(v) else v, 0.0) for sequence in one.sequences)
            for one, v in zip(group, label_G, strict=True)
        )
        nothing = tuple(tuple(np.zeros(len(sequence)) for sequence in one.sequences) for one in group)
        return Rated(group, scores, Advantages(nothing, targets), known_G)

    def _fit(self, groups: Sequence[Rated]) -> dict[str, float]:
        labels = float(sum(one.trained.sum() for one in groups))
        if not labels:
            return {"labels": 0.0}
        batch = make_batch(groups, pad_id=self._own.pad_id, compares=False)
        pieces = microbatches(batch, self._rows)
        taken = [optimiser_step(self._own, self._loss, pieces, self._learning_rate) for _ in range(self._epochs)]
        return {**mean_metrics(taken), "labels": labels}

    # --- keeping ---------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        return {"engine": None if self._engine is None else self._engine.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["engine"] is not None:
            self._own.load_state_dict(state["engine"])


def _speaks(one: Trajectory) -> bool:
    return any(sequence.mask.any() for sequence in one.sequences)


def _at_ends(one: Trajectory, value_ST: Mapping[int, np.ndarray]) -> np.ndarray:
    """[N]: the values at the last own token of each turn, 0 for a turn without one."""
    out = np.zeros(len(one.turns))
    for k, turn in enumerate(one.turns):
        own = np.flatnonzero(one.sequences[turn.sequence].mask[turn.start : turn.stop])
        if len(own):
            out[k] = value_ST[turn.sequence][turn.start + own[-1]]
    return out
