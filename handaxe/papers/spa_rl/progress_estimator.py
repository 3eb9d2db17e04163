"""Judge that attributes the outcome to turns, a model with a critic trained on outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Copyable, Engine, Labelled, StatefulEngine
from handaxe.core.records import Advantages, Group, RatedGroup, Scores, Trajectory
from handaxe.ops.ragged import channel_values
from handaxe.papers.spa_rl.sum_regression import sum_regression
from handaxe.training.loop.batch import Row, make_batch, microbatches, pad
from handaxe.training.loop.update import mean_metrics, optimiser_step

__all__ = ["Progress", "progress"]


def progress(
    *,
    engine: StatefulEngine | None = None,
    channel: str | None = None,
    learning_rate: float = 1e-4,
    epochs: int = 1,
    clip_norm: float = 1.0,
    micro_batch_rows: int = 64,
) -> Progress:
    """Make a judge that distributes the outcome of a rollout over the turns.

        c_k   = V at the last token of turn k                                contribution of turn k; 0 without a token
        score = c_1 + ... + c_N
        loss  = mean over rollouts of (c_1 + ... + c_N - R_i)^2              `papers.spa_rl.sum_regression`

    It is a `Learner`: one optimizer step an epoch on all groups that it receives, model and critic together.

    Args:
        engine: model with a critic; None: a twin of the policy at the call of `begin`, by `train` and the stage `fit`.
            Before it has learned, all scores are 0.
        channel: read R from this channel of the scores; None: their outcome.
        learning_rate: of AdamW; 3e-6 in the paper, for 3 billion parameters.
        epochs: optimizer steps each time it learns.
        clip_norm: of a twin.
        micro_batch_rows: maximum rows of a forward and backward pass; rollouts stay whole.

    Returns:
        A judge: StepJudge, Fittable and Learner, with weights and moments in its state. Rollouts with R = NaN and
        rollouts without a token are skipped. FORCED tokens count as others.

    Raises:
        InputError: an argument out of range; a score before `begin`; an engine without twins or without a critic; an
            unknown channel.

    Example:
        values 0.1, 0.5, 0.4 at the ends of three turns  ->  steps 0.1, 0.5, 0.4, score 1; for R = 1 the loss is 0

    Paper: arXiv:2505.20732 (SPA-RL), the progress estimator.
    Unconfirmed: the formula, known from secondary sources and the released code.
    Differs: the released estimator has a linear layer on the logits and reads it after a turn's last token; here the
        layer is on the hidden states, and reads the turn without its last token, which ends it.
    """
    if epochs < 1 or micro_batch_rows < 1 or learning_rate < 0 or not clip_norm > 0:
        raise InputError(
            f"give epochs and micro_batch_rows from 1, a learning_rate from 0 and a clip_norm above 0, not {epochs}, "
            f"{micro_batch_rows}, {learning_rate} and {clip_norm}"
        )
    return Progress(engine, channel, learning_rate, epochs, clip_norm, micro_batch_rows)


class Progress:
    """Judge of `progress`."""

    def __init__(
        self,
        engine: StatefulEngine | None,
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
        """Create a twin of the policy, unless the judge has a model."""
        if self._engine is not None:
            return
        if not isinstance(engine, Copyable):
            raise InputError(
                f"{type(engine).__name__} cannot be twinned, so that a progress judge cannot start as its policy: "
                "pass engine=; see core.protocols.Copyable"
            )
        self._engine = engine.twin(critic=True, clip_norm=self._clip_norm)

    @property
    def _own(self) -> StatefulEngine:
        if self._engine is None:
            raise InputError("this judge has no model: train it in the stage fit, or pass engine=")
        return self._engine

    # --- scoring ---------------------------------------------------------------------------------------------------

    def score(self, group: Group) -> np.ndarray:
        """[G]: sums over steps."""
        return np.array([own.sum() for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] for each sibling, computed in one batch."""
        return self._steps(list(group))

    def _steps(self, trajectories: Sequence[Trajectory]) -> tuple[np.ndarray, ...]:
        rows = [
            (i, s, Row(sequence, np.zeros(len(sequence)), 0, i, images=one.images))
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
        """Learn from outcomes; metrics as for `learn`, without the error before learning."""
        return self._fit([self._as_rated(group, scores) for group, scores in labelled])

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Learn from the outcomes of a step's groups.

        Returns:
            error, the mean squared difference of score and R before learning (held out, if groups are seen once);
            spread, the variance of R, which is the error of a constant judge; metrics of the optimizer steps (loss,
            loss/predicted, grad_norm, ...); and labels, the number of rollouts learned from.
        """
        del step
        errors, known = [], []
        for one in groups:
            label_G = self._labels(one.scores)
            known_G = ~np.isnan(label_G)
            known.append(label_G[known_G])
            errors.append(self.score(one.group)[known_G] - label_G[known_G])
        label, error = (np.concatenate([np.zeros(0), *each]) for each in (known, errors))
        before = {"error": float(np.mean(error**2)), "spread": float(np.var(label))} if len(label) else {}
        return {**before, **self._fit([self._as_rated(one.group, one.scores) for one in groups])}

    def _labels(self, scores: Scores) -> np.ndarray:
        """[G]: R, NaN if unknown."""
        return channel_values(scores, self._channel)

    def _as_rated(self, group: Group, scores: Scores) -> RatedGroup:
        """The group with R at each of a rollout's tokens as value target."""
        label_G = self._labels(scores)
        known_G = np.array([not np.isnan(v) and _speaks(one) for one, v in zip(group, label_G, strict=True)], bool)
        targets = tuple(
            tuple(np.where(sequence.mask, 0.0 if np.isnan(v) else v, 0.0) for sequence in one.sequences)
            for one, v in zip(group, label_G, strict=True)
        )
        nothing = tuple(tuple(np.zeros(len(sequence)) for sequence in one.sequences) for one in group)
        return RatedGroup.of(group, scores, Advantages(nothing, targets), trained=known_G)

    def _fit(self, groups: Sequence[RatedGroup]) -> dict[str, float]:
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
    """[N]: values at the last own token of each turn, 0 for a turn without one."""
    out = np.zeros(len(one.turns))
    for k, turn in enumerate(one.turns):
        own = np.flatnonzero(one.sequences[turn.sequence].mask[turn.start : turn.stop])
        if len(own):
            out[k] = value_ST[turn.sequence][turn.start + own[-1]]
    return out
