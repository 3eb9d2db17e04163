"""Scores rollouts and steps by the log-ratio of an online-trained language model to a reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Copyable, Engine, Labelled, Loss, Pairs, StatefulEngine
from handaxe.core.records import Advantages, Group, RatedGroup, Scores, TokenSequence, Trajectory
from handaxe.losses.dpo import dpo
from handaxe.losses.outcome_cross_entropy import outcome_cross_entropy
from handaxe.ops.masked import masked
from handaxe.ops.ragged import channel_values, gather, token_turn_indices
from handaxe.training.loop.batch import Row, make_batch, microbatches, pad, temperature
from handaxe.training.loop.update import mean_metrics, optimiser_step
from handaxe.training.sft.supervised import pair_pieces

__all__ = ["ImplicitPrm", "implicit_prm"]

Reference = Literal["frozen", "sampler"]
Aggregate = Literal["sum", "mean", "min"]
AGGREGATES: Mapping[str, Callable[[np.ndarray], float]] = {"sum": np.sum, "mean": np.mean, "min": np.min}


def implicit_prm(
    *,
    engine: StatefulEngine | None = None,
    reference: Reference = "frozen",
    beta: float = 0.05,
    pairs: Pairs | None = None,
    loss: Loss | None = None,
    anchored: bool = False,
    aggregate: Aggregate = "sum",
    channel: str | None = None,
    above: float = 0.5,
    learning_rate: float = 1e-4,
    epochs: int = 1,
    clip_norm: float = 10.0,
    micro_batch_rows: int = 64,
) -> ImplicitPrm:
    """Make a judge from a language model phi, trained on outcomes alone, with a score for every step.

        r_k = beta sum_{t in turn k} (log phi(y_t) - log ref(y_t))          over the policy's tokens of turn k
        q_k = r_1 + ... + r_k                                                of a prefix
        score = r_1 + ... + r_N, or their mean or minimum

    It learns as a `Learner`, one optimizer step an epoch on all groups of a step: without `pairs` by cross-entropy of
    sigmoid(r_1 + ... + r_N) with the outcome (`losses.outcome_cross_entropy`), with pairs by DPO on the score of whole
    rollouts (`losses.dpo`; the mean if `aggregate` is "mean"). The reference never learns.

    Args:
        engine: phi, and its frozen reference; None: a twin of the policy at the call of `begin`, which `train` makes.
        reference: "frozen", the initial weights of phi, both read at temperature 1; or "sampler", the sampling policy,
            by its recorded log-probs (or the feature old_logp) at the sampling temperature.
        beta: > 0, per nat; 0.05 in both papers.
        pairs: preferences between rollouts; None learns from single outcomes.
        loss: another loss on rollouts laid out as for these two, with an own beta.
        anchored: give the loss `batch.extras["anchor"]`, before each step the mean over the rollouts of
            sum_t (log phi(y_t) - log ref(y_t)), and 0 if that is below 0.
        aggregate: of step scores to the rollout's score; "min" picks the best of several in implicit PRM's paper.
        channel: channel of the scores with the outcome to learn from; None: their outcome. Rewards of turns, which may
            be its own, are never learned from.
        above: a rollout is correct if the outcome is above this.
        learning_rate: of AdamW; 1e-6 (iStar) and 5e-7 for models of billions of parameters.
        epochs: optimizer steps each time it learns.
        clip_norm: of a twin; 10 in iStar.
        micro_batch_rows: rows of a forward and backward pass at most, with pairs and rollouts kept whole.

    Returns:
        A judge that is a StepJudge, a PairJudge (probability sigmoid(score_a - score_b)), Fittable and a Learner, with
        weights, moments and reference in its state. A rollout without a token scores 0. With reference "sampler", a
        forced token without old_logp does not count, since the sampler did not score it.

    Raises:
        InputError: an argument out of range; a call before `begin`; an engine without twins.

    Example:
        log-ratios that sum to 2, -1 and 2 over the turns, beta 0.05  ->  steps 0.1, -0.05, 0.1, score 0.15
        correct, with sigmoid(0.15) = 0.53743: loss 0.62096; wrong: 0.77096
        (2, 4) against (-2, 0), the mean over turns: scores 0.15 and -0.05, DPO loss 0.5981

    Paper: arXiv:2412.01981 (implicit PRM); arXiv:2509.19199 (iStar): reference "sampler", pairs, in released code the
    mean over turns.
    Differs: iStar refreshes the reference policy once a step, as sampling does here; its division of a batch's step
    rewards by their largest sum is left out.
    """
    if beta <= 0 or epochs < 1 or micro_batch_rows < 1 or learning_rate < 0:
        raise InputError(
            f"give beta above 0, epochs and micro_batch_rows from 1 and a learning_rate from 0, not {beta}, {epochs}, "
            f"{micro_batch_rows} and {learning_rate}"
        )
    if reference not in ("frozen", "sampler") or aggregate not in AGGREGATES:
        raise InputError(
            f"implicit_prm takes the reference frozen or sampler and the aggregate sum, mean or min, not {reference!r} "
            f"and {aggregate!r}"
        )
    return ImplicitPrm(
        engine,
        reference=reference,
        beta=beta,
        pairs=pairs,
        loss=loss,
        anchored=anchored,
        aggregate=aggregate,
        channel=channel,
        above=above,
        learning_rate=learning_rate,
        epochs=epochs,
        clip_norm=clip_norm,
        micro_batch_rows=micro_batch_rows,
    )


class ImplicitPrm:
    """See `implicit_prm`."""

    def __init__(
        self,
        engine: StatefulEngine | None,
        *,
        reference: Reference,
        beta: float,
        pairs: Pairs | None,
        loss: Loss | None,
        anchored: bool,
        aggregate: Aggregate,
        channel: str | None,
        above: float,
        learning_rate: float,
        epochs: int,
        clip_norm: float,
        micro_batch_rows: int,
    ):
        self._engine = engine
        self._reference = reference
        self._beta = beta
        self._pairs = pairs
        self._aggregate = aggregate
        self._channel = channel
        self._above = above
        self._learning_rate = learning_rate
        self._epochs = epochs
        self._clip_norm = clip_norm
        self._rows = micro_batch_rows
        steps: Literal["sum", "mean"] = "mean" if aggregate == "mean" else "sum"
        self._read = 0  # tokens since the last `learn`; a metric and no state
        self._loss = loss or (outcome_cross_entropy(beta=beta) if pairs is None else dpo(beta=beta, steps=steps))
        self._anchored = anchored

    def begin(self, engine: Engine) -> None:
        """Become a twin of the policy, unless the judge has a model."""
        if self._engine is not None:
            return
        if not isinstance(engine, Copyable):
            raise InputError(
                f"{type(engine).__name__} has no twins, so an implicit PRM cannot start as a copy of the policy: give "
                "it an engine; see protocols.Copyable"
            )
        self._engine = engine.twin(reference=self._reference == "frozen", clip_norm=self._clip_norm)

    # --- scoring ---------------------------------------------------------------------------------------------------

    def score(self, group: Group) -> np.ndarray:
        """[G]: the aggregate of each rollout's steps."""
        return self._scores(self.score_steps(group))

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling, all siblings in one batch."""
        return self._steps(list(group))

    def compare(self, pairs: Sequence[tuple[Trajectory, Trajectory]]) -> np.ndarray:
        """[P]: sigmoid(score of the first - score of the second)."""
        score_2P = self._scores(self._steps([one for pair in pairs for one in pair]))
        return 1 / (1 + np.exp(score_2P[1::2] - score_2P[0::2]))

    def _scores(self, steps: Sequence[np.ndarray]) -> np.ndarray:
        return np.array([AGGREGATES[self._aggregate](own) if len(own) else 0.0 for own in steps], np.float64)

    def _steps(self, trajectories: Sequence[Trajectory]) -> tuple[np.ndarray, ...]:
        rows = [
            Row(sequence, np.zeros(len(sequence)), 0, i, temperature(one), mask=known, images=one.images)
            for i, one in enumerate(trajectories)
            for sequence in one.sequences
            if (known := self._known(sequence)).any()
        ]
        ratios: Iterator[np.ndarray] = iter(())
        self._read += sum(len(row.sequence) for row in rows)
        if rows:
            batch = self._with_reference(pad(rows, pad_id=self._own.pad_id))
            gap_BT = self._own.forward(batch)["logp"].double() - batch.extras["ref_logp"].double()
            gap = torch.where(batch.mask_BT, gap_BT, 0.0).numpy()
            ratios = iter([gap[i, : len(row.sequence)] for i, row in enumerate(rows)])
        return tuple(self._beta * self._by_turn(one, ratios) for one in trajectories)

    def _by_turn(self, trajectory: Trajectory, ratios: Iterator[np.ndarray]) -> np.ndarray:
        arrays = [
            next(ratios) if self._known(sequence).any() else np.zeros(len(sequence))
            for sequence in trajectory.sequences
        ]
        return np.bincount(
            token_turn_indices(trajectory), weights=gather(trajectory, arrays), minlength=len(trajectory.turns)
        ).astype(np.float64)

    def _known(self, sequence: TokenSequence) -> np.ndarray:
        """[T] bool: tokens with a log-prob of the reference."""
        if self._reference == "frozen" or "old_logp" in sequence.features:
            return sequence.mask
        return sequence.mask & ~sequence.forced

    def _with_reference(self, batch: Batch) -> Batch:
        """The batch with ref_logp, at the temperature of the reference."""
        if self._reference == "sampler":
            return replace(batch, extras={**batch.extras, "ref_logp": batch.old_logp_BT})
        batch = replace(batch, temperature_B=torch.ones_like(batch.temperature_B))
        ref_BT = self._own.forward(batch, reference=True)["logp"]
        return replace(batch, extras={**batch.extras, "ref_logp": ref_BT})

    def _with_anchor(self, batch: Batch) -> Batch:
        """The batch with the mean log-ratio of its rollouts, if the loss needs it."""
        if not self._anchored:
            return batch
        gap_BT = masked(self._own.forward(batch)["logp"] - batch.extras["ref_logp"], batch.mask_BT)
        mean = gap_BT.double().sum() / max(batch.denominators.rollouts, 1.0)
        anchor_BT = torch.full_like(batch.adv_BT, max(0.0, float(mean)))
        return replace(batch, extras={**batch.extras, "anchor": anchor_BT})

    @property
    def _own(self) -> StatefulEngine:
        if self._engine is None:
            raise InputError("this judge has no model yet: list it in learners= of train, or pass engine=")
        return self._engine

    # --- learning --------------------------------------------------------------------------------------------------

    def fit(self, labelled: Sequence[Labelled]) -> dict[str, float]:
        """Learn from outcomes; metrics as of `learn`, without scores before the update."""
        return self._fit([_rated(group, scores, np.ones(len(group), bool)) for group, scores in labelled])

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Learn from correct and wrong rollouts in all groups of a step.

        Returns:
            Metrics of the scores before the update: step_gap, the mean step score in correct rollouts minus that in
            wrong ones, and gain, the accuracy of the highest-scored rollout of a group minus the group's mean accuracy.
            Metrics of the update (loss, loss/accuracy, loss/margin, grad_norm, ...); labels, the number of rollouts or
            pairs; tokens_read, scored since the last update, and tokens_learned.
        """
        del step
        before = self._metrics_before(groups)
        found = {**before, **self._fit(groups), "tokens_read": float(self._read)}
        self._read = 0
        return found

    def _metrics_before(self, groups: Sequence[RatedGroup]) -> dict[str, float]:
        steps = self._steps([one for rated in groups for one in rated.group])
        right: list[np.ndarray] = []
        wrong: list[np.ndarray] = []
        gains = []
        for rated in groups:
            own, steps = steps[: len(rated.group)], steps[len(rated.group) :]
            label_G = self._labels(rated.scores)
            for values, label in zip(own, label_G, strict=True):
                right += [values] if label == 1 else []
                wrong += [values] if label == 0 else []
            if (known := ~np.isnan(label_G)).any():
                score_G, label_G = self._scores(own)[known], label_G[known]
                gains.append(label_G[score_G == score_G.max()].mean() - label_G.mean())
        gap = _mean(right) - _mean(wrong) if right and wrong else 0.0
        return {"step_gap": gap, "gain": float(np.mean(gains)) if gains else 0.0}

    def _labels(self, scores: Scores) -> np.ndarray:
        """[G]: 1 correct, 0 wrong, NaN unknown."""
        value_G = channel_values(scores, self._channel)
        return np.where(np.isnan(value_G), np.nan, value_G > self._above)

    def _fit(self, groups: Sequence[RatedGroup]) -> dict[str, float]:
        members = self._singles(groups) if self._pairs is None else self._sides(self._pairs(groups))
        if not members:
            return {"labels": 0.0, "tokens_learned": 0.0}
        batch = self._with_reference(make_batch(members, pad_id=self._own.pad_id, compares=False))
        split = microbatches if self._pairs is None else pair_pieces
        taken = [
            optimiser_step(self._own, self._loss, split(self._with_anchor(batch), self._rows), self._learning_rate)
            for _ in range(self._epochs)
        ]
        labels = batch.denominators.rollouts / (1 if self._pairs is None else 2)
        return {
            **mean_metrics(taken),
            "labels": labels,
            "tokens_learned": float(batch.attend_BT.sum()) * self._epochs,
        }

    def _singles(self, groups: Sequence[RatedGroup]) -> list[RatedGroup]:
        """Every rollout with a known label, at advantage 1 or -1."""
        found = []
        for one in groups:
            label_G = self._labels(one.scores)
            able = [i for i, t in enumerate(one.group) if not np.isnan(label_G[i]) and self._has_tokens(t)]
            if able:
                group = replace(one.group, trajectories=tuple(one.group[i] for i in able))
                found.append(self._as_rated(group, 2 * label_G[able] - 1))
        return found

    def _sides(self, pairs: Sequence[Any]) -> list[RatedGroup]:
        """A group of two for each pair without a tie, the better one first."""
        return [
            self._as_rated(Group(pair.chosen.task, (pair.chosen, pair.rejected)), np.ones(2))
            for pair in pairs
            if pair.strength > 0 and self._has_tokens(pair.chosen) and self._has_tokens(pair.rejected)
        ]

    def _has_tokens(self, trajectory: Trajectory) -> bool:
        return any(self._known(sequence).any() for sequence in trajectory.sequences)

    def _as_rated(self, group: Group, value_G: np.ndarray) -> RatedGroup:
        trains = tuple(tuple(self._known(sequence) for sequence in one.sequences) for one in group)
        tokens = tuple(tuple(v * known for known in own) for v, own in zip(value_G, trains, strict=True))
        return RatedGroup.of(group, Scores(value_G), Advantages(tokens, trains=trains))

    # --- keeping ---------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        return {"engine": None if self._engine is None else self._engine.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["engine"] is not None:
            self._own.load_state_dict(state["engine"])


def _rated(group: Group, scores: Scores, trained: np.ndarray) -> RatedGroup:
    nothing = tuple(tuple(np.zeros(len(sequence)) for sequence in one.sequences) for one in group)
    return RatedGroup.of(group, scores, Advantages(nothing), trained=trained)


def _mean(values: Sequence[np.ndarray]) -> float:
    """Mean over all steps of all rollouts; 0 without steps."""
    flat = np.concatenate([np.zeros(0), *values])
    return float(flat.mean()) if len(flat) else 0.0
