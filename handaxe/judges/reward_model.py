"""Scores rollouts and turns by a head on a language model, trained on pairs or on labels.

Kept: reward models for users, and for papers about them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.heads import Head, head_measure
from handaxe.core.protocols import Copyable, Engine, Labelled, Loss, Pairs, StatefulEngine, StepJudge
from handaxe.core.records import Advantages, Group, RatedGroup, Scores, Trajectory
from handaxe.judges.labelled_groups import ranking_metrics, with_zero_credit
from handaxe.losses.parts.labels import LABEL
from handaxe.losses.parts.rollout_scores import STRENGTH
from handaxe.losses.preference.bradley_terry import bradley_terry
from handaxe.losses.preference.label_classification import label_classification
from handaxe.ops.aggregates import AGGREGATES, PROBABILITY_AGGREGATES, Aggregate
from handaxe.ops.ragged import channel_values
from handaxe.training.loop.batch import Row, make_batch, microbatches, pad
from handaxe.training.loop.update import mean_metrics, optimiser_step
from handaxe.training.sft.supervised import in_batches, pair_pieces

__all__ = ["RewardModel", "reward_model"]

Reads = Literal["end", "turns", "replies"]
NAME = "reward"
"""Name of the head."""
LABEL_NAME = "correct"
"""Name of the label that a loss on labels reads."""


def reward_model(
    *,
    engine: StatefulEngine | None = None,
    head: Head | None = None,
    reads: Reads = "end",
    aggregate: Aggregate = "last",
    pairs: Pairs | None = None,
    fit_pairs: Pairs | None = None,
    steps: StepJudge | None = None,
    loss: Loss | None = None,
    channel: str | None = None,
    output: int = 0,
    squash: bool = False,
    learning_rate: float = 1e-4,
    epochs: int = 1,
    fit_epochs: int | None = None,
    batch_size: int | None = None,
    rows: int = 64,
    learns: bool = True,
    clip_norm: float = 1.0,
) -> RewardModel:
    """Make a judge from a language model with a head on its hidden states.

        s_k   = head of the state after the last token of turn k (reads "turns"), after the first token of turn k + 1,
                which follows the replies to turn k (reads "replies"; for the last turn as "turns"), or after the last
                token of the rollout (reads "end"); with `squash` the sigmoid of it
        score = aggregate of s_1, ..., s_N                                                     `ops.aggregates`

    With `pairs` it learns from preferences (`losses.preference.bradley_terry`); else from labels at its places
    (`losses.preference.label_classification`): the verdicts of `steps` on turns, or the outcome, the same at every
    place. An outcome model reads "end"; a process model reads "turns" or "replies" and has `steps`. It is a `Learner`:
    in each step it learns from the rollouts of the step, after they were scored.

    Args:
        engine: model with a head named "reward"; None: a twin of the policy at the call of `begin`, by `train`.
        head: of a twin; `Head()` by default.
        reads: places of the scores.
        aggregate: of the scores of turns to the score of a rollout.
        pairs: preferences, such as `selection.pairs.ordered()`; None learns from labels.
        fit_pairs: preferences of `fit`; None for `pairs`.
        steps: its scores of turns are the labels, correct above 0; NaN is no label.
        loss: another loss on pairs or labels; labels are `batch.extras["label/correct"]`.
        channel: channel of the scores with the outcome to learn from; None: their outcome.
        output: output of the head that scores, from 0; a loss sees all outputs.
        squash: scores are probabilities, as some aggregates need them.
        learning_rate: of AdamW.
        epochs: passes over the data each time it learns.
        fit_epochs: passes over the data of `fit`; None for `epochs`.
        batch_size: pairs, or groups of labelled rollouts, of an optimizer step, in a new order each epoch; None: all.
        rows: rows of a forward and backward pass at most; pairs and rollouts stay whole.
        learns: False: `learn` only measures, and `fit` is the only training. A frozen reward model.
        clip_norm: of a twin.

    Returns:
        A judge that is a StepJudge, a PairJudge (sigmoid(score_a - score_b)), Fittable and a Learner, with weights and
        moments in its state. A turn without a score, which has no token or is not read, scores 0; so does a rollout
        without tokens.

    Raises:
        InputError: an argument out of range; a call before `begin`; an engine without twins or without the head.

    Example:
        scores 0.1, 0.5 and 0.4 after three turns  ->  steps 0.1, 0.5, 0.4; score 0.4 (last), 0.1 (min)
        chosen 1, rejected 0.5: loss softplus(-0.5) = 0.47408

    Idea: a reward model as in arXiv:2203.02155, on tokens that the policy wrote.
    Differs: the text that is scored is the rollout itself, without a question to a judge around it.
    """
    if (
        learning_rate < 0
        or min(epochs, 1 if fit_epochs is None else fit_epochs) < 1
        or rows < 1
        or (batch_size is not None and batch_size < 1)
        or not clip_norm > 0
        or output < 0
    ):
        raise InputError(
            "give a learning_rate and output from 0, epochs, fit_epochs, batch_size and rows from 1 and a clip_norm "
            f"above 0, not {learning_rate}, {output}, {epochs}, {fit_epochs}, {batch_size}, {rows} and {clip_norm}"
        )
    if reads not in ("end", "turns", "replies") or aggregate not in AGGREGATES:
        raise InputError(
            f"reads is 'end', 'turns' or 'replies', aggregate one of {', '.join(AGGREGATES)}: {reads!r}, {aggregate!r}"
        )
    if aggregate in PROBABILITY_AGGREGATES and not squash:
        raise InputError(f"the aggregate {aggregate} is of probabilities: pass squash=True")
    if pairs is None and fit_pairs is not None:
        raise InputError("fit_pairs are preferences, so pairs have to be given, too")
    if pairs is not None and steps is not None:
        raise InputError("a reward model learns from pairs or from labels of steps, not from both")
    fitted = loss or (label_classification(labels=(LABEL_NAME,)) if pairs is None else bradley_terry())
    options = _Options(
        reads=reads,
        aggregate=aggregate,
        pairs=pairs,
        fit_pairs=fit_pairs or pairs,
        steps=steps,
        loss=fitted,
        channel=channel,
        output=output,
        squash=squash,
        learning_rate=learning_rate,
        epochs=epochs,
        fit_epochs=epochs if fit_epochs is None else fit_epochs,
        batch_size=batch_size,
        rows=rows,
        learns=learns,
        clip_norm=clip_norm,
    )
    return RewardModel(engine, head or Head(), options)


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Arguments of `reward_model`."""

    reads: Reads
    aggregate: Aggregate
    pairs: Pairs | None
    fit_pairs: Pairs | None
    steps: StepJudge | None
    loss: Loss
    channel: str | None
    output: int
    squash: bool
    learning_rate: float
    epochs: int
    fit_epochs: int
    batch_size: int | None
    rows: int
    learns: bool
    clip_norm: float


class RewardModel:
    """See `reward_model`."""

    def __init__(self, engine: StatefulEngine | None, head: Head, options: _Options):
        self._engine = engine
        self._head = head
        self._options = options
        self._read = 0  # tokens since the last `learn`; a metric and no state

    def begin(self, engine: Engine) -> None:
        """Become a twin of the policy with a head, unless the judge has a model."""
        if self._engine is not None:
            return
        if not isinstance(engine, Copyable):
            raise InputError(
                f"{type(engine).__name__} has no twins, so a reward model cannot start as a copy of the policy: give "
                "it an engine; see protocols.Copyable"
            )
        self._engine = engine.twin(heads={NAME: self._head}, clip_norm=self._options.clip_norm)

    # --- scoring ---------------------------------------------------------------------------------------------------

    def score(self, group: Group) -> np.ndarray:
        """[G]: the aggregate of each rollout's turns."""
        return self._scores(list(group))

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling, all siblings in one batch."""
        found = []
        for trajectory, (turns, score_R) in zip(group, self._values(list(group)), strict=True):
            step_N = np.zeros(len(trajectory.turns))
            step_N[list(turns)] = score_R
            found.append(step_N)
        return tuple(found)

    def compare(self, pairs: Sequence[tuple[Trajectory, Trajectory]]) -> np.ndarray:
        """[P]: sigmoid(score of the first - score of the second)."""
        sides = {id(one): one for pair in pairs for one in pair}  # a rollout of several pairs is scored once
        score = dict(zip(sides, self._scores(list(sides.values())), strict=True))
        return np.array([1 / (1 + np.exp(score[id(second)] - score[id(first)])) for first, second in pairs], np.float64)

    def outputs(self, group: Group) -> np.ndarray:
        """[G, K]: every output of the head at the last place of each rollout; 0 for a rollout without tokens."""
        width = self._own_head().outputs
        found = [value_RK[-1] if len(value_RK) else np.zeros(width) for _, value_RK in self._all_values(list(group))]
        return np.array(found, np.float64).reshape(len(group), width)

    def _scores(self, trajectories: Sequence[Trajectory]) -> np.ndarray:
        made = AGGREGATES[self._options.aggregate]
        found = [made(score_R) if len(score_R) else 0.0 for _, score_R in self._values(trajectories)]
        return np.array(found, np.float64)

    def _values(self, trajectories: Sequence[Trajectory]) -> list[tuple[tuple[int, ...], np.ndarray]]:
        """Turns that are read, and their scores, of each rollout."""
        found = [(turns, value_RK[:, self._options.output]) for turns, value_RK in self._all_values(trajectories)]
        return [(turns, 1 / (1 + np.exp(-score_R)) if self._options.squash else score_R) for turns, score_R in found]

    def _all_values(self, trajectories: Sequence[Trajectory]) -> list[tuple[tuple[int, ...], np.ndarray]]:
        places = [self._places(one) for one in trajectories]
        rows, keys = [], []
        for i, (one, own) in enumerate(zip(trajectories, places, strict=True)):
            masks = self._masks(one, own)
            for s, sequence in enumerate(one.sequences):
                if masks[s].any():
                    rows.append(Row(sequence, np.zeros(len(sequence)), 0, i, 1.0, mask=masks[s], images=one.images))
                    keys.append((i, s))
        width = self._own_head().outputs
        if not rows:
            return [((), np.zeros((0, width))) for _ in trajectories]
        self._read += sum(len(row.sequence) for row in rows)
        name = head_measure(NAME)
        score_BTK = self._own.forward(pad(rows, pad_id=self._own.pad_id), names=(name,))[name].double().numpy()
        row_of = {key: row for row, key in enumerate(keys)}
        return [
            (
                tuple(turn for turn, _, _ in own),
                np.array([score_BTK[row_of[i, s], t] for _, s, t in own], np.float64).reshape(len(own), width),
            )
            for i, own in enumerate(places)
        ]

    def _places(self, trajectory: Trajectory) -> list[tuple[int, int, int]]:
        """Turn, sequence and token of each score, in order; see `reads` of `reward_model`."""
        ends = [(n, turn.sequence, turn.stop - 1) for n, turn in enumerate(trajectory.turns) if turn.stop > turn.start]
        if self._options.reads != "replies":
            return ends if self._options.reads == "turns" else ends[-1:]
        starts = [(turn.sequence, turn.start) for turn in trajectory.turns if turn.stop > turn.start]
        return [(n, *after) for (n, _, _), after in zip(ends, starts[1:], strict=False)] + ends[-1:]

    def _masks(self, trajectory: Trajectory, places: Sequence[tuple[int, int, int]]) -> list[np.ndarray]:
        masks = [np.zeros(len(sequence), bool) for sequence in trajectory.sequences]
        for _, sequence, token in places:
            masks[sequence][token] = True
        return masks

    @property
    def _own(self) -> StatefulEngine:
        if self._engine is None:
            raise InputError("this judge has no model yet: list it in learners= of train, or pass engine=")
        return self._engine

    def _own_head(self) -> Head:
        heads: Mapping[str, Head] = getattr(self._own, "heads", {})
        if NAME not in heads:
            raise InputError(
                f"the engine of a reward model needs heads={{{NAME!r}: Head()}}; it has {', '.join(heads)}"
            )
        if self._options.output >= heads[NAME].outputs:
            raise InputError(f"output is {self._options.output}, and the head has {heads[NAME].outputs}")
        return heads[NAME]

    # --- learning --------------------------------------------------------------------------------------------------

    def fit(self, labelled: Sequence[Labelled]) -> dict[str, float]:
        """Learn from preferences or labels; labels of turns stand in `Scores.turns`. Metrics as of `learn`."""
        return self._fit(with_zero_credit(labelled), fits=True)

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Learn from all groups of a step.

        Returns:
            Metrics of the scores before the update: agreement (share of pairs of unequal outcomes in the order of the
            scores), gap (mean score of the better half of the outcomes minus that of the others), mean and spread
            (standard deviation) of the scores. Metrics of the update (loss, loss/accuracy, grad_norm, ...); labels, the
            number of pairs or labels; tokens_read, scored since the last update, and tokens_learned.
        """
        del step
        score_N = self._scores([one for rated in groups for one in rated.group])
        found = ranking_metrics(score_N, groups, self._options.channel)
        if self._options.learns:
            found |= self._fit(groups)
        read, self._read = self._read, 0
        return {**found, "tokens_read": float(read)}

    def _fit(self, groups: Sequence[RatedGroup], *, fits: bool = False) -> dict[str, float]:
        epochs = self._options.fit_epochs if fits else self._options.epochs
        pairs = self._options.fit_pairs if fits else self._options.pairs
        members = self._labelled(groups) if pairs is None else self._sides(pairs(groups))
        if not members:
            return {"labels": 0.0, "tokens_learned": 0.0}
        self._own_head()
        taken = []
        labels, learned = 0.0, 0.0
        size = self._options.batch_size or len(members)
        for chosen in in_batches(len(members), size, epochs, seed=self._own.version):
            batch = self._batch([members[i] for i in sorted(chosen)])
            pieces = (microbatches if self._options.pairs is None else pair_pieces)(batch, self._options.rows)
            taken.append(optimiser_step(self._own, self._options.loss, pieces, self._options.learning_rate))
            labels += batch.denominators.tokens if self._options.pairs is None else batch.denominators.rollouts / 2
            learned += float(batch.attend_BT.sum())
        return {**mean_metrics(taken), "labels": labels / epochs, "tokens_learned": learned}

    def _batch(self, members: Sequence[RatedGroup]) -> Batch:
        """Make a batch; the advantages of the members hold strengths or labels."""
        batch = make_batch(members, pad_id=self._own.pad_id, compares=False)
        name = STRENGTH if self._options.pairs is not None else LABEL + LABEL_NAME
        return replace(batch, extras={**batch.extras, name: batch.adv_BT})

    def _labelled(self, groups: Sequence[RatedGroup]) -> list[RatedGroup]:
        """Rollouts with a known label; the advantages at their places hold it."""
        found = []
        for one in groups:
            kept = []
            for trajectory, label_N in zip(one.group, self._labels(one), strict=True):
                places = [place for place in self._places(trajectory) if not np.isnan(label_N[place[0]])]
                if places:
                    kept.append((trajectory, places, label_N))
            if kept:
                found.append(self._as_rated(one.group, kept))
        return found

    def _labels(self, rated: RatedGroup) -> list[np.ndarray]:
        """[N_i] per rollout: labels of turns."""
        if self._options.steps is not None:
            marked = self._options.steps.score_steps(rated.group)
            return [np.where(np.isnan(own), np.nan, own > 0) for own in marked]
        if rated.scores.turns is not None and self._options.reads != "end":
            return [np.asarray(own, np.float64) for own in rated.scores.turns]
        value_G = channel_values(rated.scores, self._options.channel)
        return [np.full(len(one.turns), value) for one, value in zip(rated.group, value_G, strict=True)]

    def _sides(self, pairs: Sequence[Any]) -> list[RatedGroup]:
        """A group of two for each pair, the better one first; the advantages at their places hold the strength."""
        found = []
        for pair in pairs:
            sides = [(one, self._places(one)) for one in (pair.chosen, pair.rejected)]
            if all(places for _, places in sides):
                strength = [(one, places, np.full(len(one.turns), pair.strength)) for one, places in sides]
                found.append(self._as_rated(Group(pair.chosen.task, ()), strength))
        return found

    def _as_rated(
        self, group: Group, kept: Sequence[tuple[Trajectory, Sequence[tuple[int, int, int]], np.ndarray]]
    ) -> RatedGroup:
        trains, tokens = [], []
        for trajectory, places, value_N in kept:
            values = [np.zeros(len(sequence)) for sequence in trajectory.sequences]
            for turn, sequence, token in places:
                values[sequence][token] = value_N[turn]
            trains.append(tuple(self._masks(trajectory, places)))
            tokens.append(tuple(values))
        chosen = replace(group, trajectories=tuple(one for one, _, _ in kept))
        return RatedGroup.of(chosen, Scores(np.zeros(len(kept))), Advantages(tuple(tokens), trains=tuple(trains)))

    # --- keeping ---------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        return {"engine": None if self._engine is None else self._engine.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["engine"] is not None:
            self._own.load_state_dict(state["engine"])
