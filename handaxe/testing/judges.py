"""Contract of judges."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.protocols import Fittable, Judge, PairJudge, Stateful, StepJudge
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.testing.rewards import without_turns

__all__ = ["check_judge"]

TOLERANCE = 1e-5


def check_judge(judge: Judge, group: Group, *, fits: int = 8, tolerance: float = TOLERANCE) -> None:
    """Check the contract of a judge on a group, for each method.

        shapes       score [G], score_steps [N_i] for each sibling, float64 and finite; compare [P] from 0 to 1
        purity       neither the group nor the judge's state is changed by scoring
        determinism  two calls are equal, bit for bit
        order        siblings in another order, or one alone, get equal scores (up to `tolerance`)
        masked       log-probs and features at tokens of others are never read, even if NaN
        pairs        the probabilities of (a, b) and (b, a) sum to 1
        edge cases   no sibling, and a sibling without turns, are accepted
        state        an untouched copy restored from state_dict scores equally, bit for bit
        learning     (`Fittable`) labels against its opinion change its opinion, and learning changes neither the group
        nor
                     the labels

    Args:
        judge: the judge; restored to its first state at the end, if it is stateful.
        group: at least two siblings with different policy tokens and texts.
        fits: number of presentations of the labels.
        tolerance: allowed difference of scores if siblings are read in another batch.

    Raises:
        AssertionError: a promise is broken; the message names it.
    """
    assert len(group) >= 2, "check_judge needs at least two siblings"
    untouched = copy.deepcopy(judge)
    before, state = pickle.dumps(group), _state(judge)
    for name, ask in _methods(judge).items():
        first = ask(group)
        _check_shapes(name, first, group)
        _check_same(first, ask(group), f"two calls of {name} differ")
        _check_order(name, ask, group, first, tolerance)
        _check_same(first, ask(_blinded(group)), f"{name} reads tokens that the policy did not write")
        assert len(ask(replace(group, trajectories=()))) == 0, f"{name} of no sibling is not empty"
        silent = replace(group, trajectories=(*group.trajectories, without_turns(group[0])))
        _check_shapes(name, ask(silent), silent)
    if isinstance(judge, PairJudge):
        _check_pairs(judge, group)
    assert pickle.dumps(group) == before, "the judge changed the group that it scored"
    assert _equal(state, _state(judge)), "the judge's state is changed by scoring"
    if isinstance(judge, Fittable):
        _check_learning(judge, group, fits)
        assert pickle.dumps(group) == before, "the judge changed the group that it learned from"
    if isinstance(judge, Stateful):
        _check_state(judge, untouched, group, state)


def _methods(judge: Judge) -> dict[str, Callable[[Group], Any]]:
    methods: dict[str, Callable[[Group], Any]] = {"score": judge.score}
    if isinstance(judge, StepJudge):
        methods["score_steps"] = judge.score_steps
    return methods


def _check_shapes(name: str, scores: Any, group: Group) -> None:
    wanted = [()] * len(group) if name == "score" else [(len(one.turns),) for one in group]
    if name == "score":
        assert isinstance(scores, np.ndarray), f"score is a {type(scores).__name__}, not a numpy array"
        assert scores.dtype == np.float64, f"score is {scores.dtype}, not float64"
    shapes = [np.shape(own) for own in scores]
    assert shapes == wanted, f"{name} has shapes {shapes}, not {wanted}"
    assert all(np.isfinite(own).all() for own in scores), f"{name} is not finite: {scores}"


def _check_order(name: str, ask: Callable[[Group], Any], group: Group, first: Any, tolerance: float) -> None:
    orders = [list(range(len(group)))[::-1], [*range(1, len(group)), 0], *[[i] for i in range(len(group))]]
    for order in orders:
        scores = ask(replace(group, trajectories=tuple(group[i] for i in order)))
        for place, i in enumerate(order):
            near = np.allclose(scores[place], first[i], rtol=0, atol=tolerance)
            assert near, f"with the siblings {order}, {name} of sibling {i} is {scores[place]} and not {first[i]}"


def _check_pairs(judge: PairJudge, group: Group) -> None:
    pairs = [(a, b) for a in group for b in group if a is not b]
    chance_P = judge.compare(pairs)
    assert np.shape(chance_P) == (len(pairs),), f"compare has shape {np.shape(chance_P)} for {len(pairs)} pairs"
    assert ((chance_P >= 0) & (chance_P <= 1)).all(), f"compare gives chances out of range: {chance_P}"
    turned_P = judge.compare([(b, a) for a, b in pairs])
    assert np.allclose(chance_P + turned_P, 1.0, atol=1e-4), "the chances of (a, b) and (b, a) do not add up to 1"
    assert len(judge.compare([])) == 0, "compare of no pair is not empty"


def _check_learning(judge: Any, group: Group, fits: int) -> None:
    """Fit the judge on labels against the present scores."""
    score_G = judge.score(group)
    correct_G = score_G <= np.median(score_G)
    correct_G = correct_G if not correct_G.all() else np.arange(len(group)) % 2 == 0
    labels = Scores(correct_G.astype(np.float64))
    for _ in range(fits):
        metrics = judge.fit([(group, labels)])
        assert all(np.isfinite(value) for value in metrics.values()), f"metrics of learning are not finite: {metrics}"
    assert np.array_equal(labels.outcome, correct_G), "the judge changed the labels that it learned from"
    gap = [float(own[correct_G].mean() - own[~correct_G].mean()) for own in (score_G, judge.score(group))]
    assert gap[1] > gap[0], f"after {fits} fits the judge scores correct siblings no higher: {gap[1]} after {gap[0]}"


def _check_state(judge: Any, untouched: Any, group: Group, first: Any) -> None:
    for name, ask in _methods(judge).items():
        untouched.load_state_dict(copy.deepcopy(judge.state_dict()))
        _check_same(ask(group), _methods(untouched)[name](group), f"{name} differs after load_state_dict")
    assert _equal(judge.state_dict(), untouched.state_dict()), "load_state_dict does not restore the whole state"
    judge.load_state_dict(copy.deepcopy(first))
    assert _equal(first, judge.state_dict()), "load_state_dict does not restore the first state"


def _state(judge: Any) -> Any:
    return copy.deepcopy(judge.state_dict()) if isinstance(judge, Stateful) else None


def _equal(a: Any, b: Any) -> bool:
    """Test whether two states are equal, bit for bit."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_equal(a[name], b[name]) for name in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_equal, a, b))
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


def _check_same(a: Any, b: Any, broken: str) -> None:
    assert len(a) == len(b) and all(map(np.array_equal, a, b)), f"{broken}: {a} and {b}"


def _blinded(group: Group) -> Group:
    """Set every log-prob and feature outside policy tokens to NaN."""
    return replace(group, trajectories=tuple(_blind(one) for one in group))


def _blind(one: Trajectory) -> Trajectory:
    sequences = []
    for sequence in one.sequences:
        hidden = {name: np.where(sequence.mask, values, np.nan) for name, values in sequence.features.items()}
        logp, behaviour = (np.where(sequence.mask, v, np.nan) for v in (sequence.logp, sequence.behaviour_logp))
        sequences.append(replace(sequence, logp=logp, behaviour_logp=behaviour, features=hidden))
    return replace(one, sequences=tuple(sequences))
