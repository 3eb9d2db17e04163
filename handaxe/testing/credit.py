"""Contract of credits."""

import copy
import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.advantage_problems import advantage_problems
from handaxe.core.isolated_copy import isolated_copy
from handaxe.core.protocols import Credit, Stateful
from handaxe.core.records import Advantages, Group, Scores, TokenSequence
from handaxe.ops.ragged import gather
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.testing.random_groups import random_group, random_scores

__all__ = ["check_advantages", "check_credit"]

FEATURES = ("old_logp", "ref_logp", "value", "entropy", "collision")


def check_credit(
    credit: Credit,
    *,
    compares: bool | None = None,
    features: Sequence[str] = FEATURES,
    turns: bool = True,
    over_turns: bool = False,
    seeds: int = 6,
) -> None:
    """Check the contract of a credit on random ragged groups, with distinct scores and with scores 0 and 1.

        shapes       one float64 [T] for each sequence, finite, exactly 0 off the mask; `returns`, too, if given
        purity       neither group nor scores are changed, and no array of theirs is returned
        determinism  two calls are equal, bit for bit
        order        siblings in another order get equal values in that order, also for equal scores
        masked       features at tokens of others are never read, even if NaN
        sequences    equal turns in three sequences instead of one get equal values; further rows of one sibling do not
                     change other siblings' values
        failures     an unscored sibling (outcome NaN) gets 0, and the others' values do not depend on it
        extremes     no sibling, one sibling, a sibling without a turn, and equal outcomes are accepted
        memory       earlier calls change nothing; for a `core.protocols.Stateful` credit, only through state_dict, from
                     which an untouched copy is restored

    Args:
        credit: unused credit. The first state of a Stateful one is restored before every call but the last, and at the
            end.
        compares: siblings are compared with each other: then a single sibling, and equal outcomes, must give exactly 0.
            None detects this from a single sibling and from outcomes of 1.
        features: features that the credit may read.
        turns: the scores have per-turn rewards, too.
        over_turns: its statistics are over turns instead of siblings, so that further turns of one sibling may change
            another sibling's values.
        seeds: number of random groups.

    Raises:
        AssertionError: a promise is broken; the message names it.
    """
    untouched, pure = isolated_copy(credit), _from_one_state(credit)
    for seed in range(seeds):
        group = random_group(seed, size=2 + seed % 4, features=features)
        for ties in (False, True):
            scores = random_scores(group, seed, ties=ties)
            scores = scores if turns else replace(scores, turns=None)
            first = _pure(pure, group, scores)
            _check_same(first, pure(group, scores), "two calls of the credit differ", exact=True)
            _check_order(pure, group, scores, first)
            _check_masked(pure, group, scores, first)
            _check_unscored(pure, group, scores, first)
        _pure(pure, random_group(seed, size=1, features=features), make_scores([0.7]))
        if compares or (compares is None and _does_compare(pure, group)):
            _check_equal(pure, group)
    _check_sequences(pure, features, over_turns)
    _pure(pure, make_group(trajectories=[]), make_scores([]))
    silent = make_trajectory(layouts=["Ut"])
    spoke = make_trajectory(layouts=["Utp"], features=dict.fromkeys(features, 0.5))
    _pure(pure, make_group(trajectories=[silent, spoke]), make_scores([0.0, 1.0]))
    _check_memory(credit, untouched, features, turns)


def check_advantages(advantages: Advantages, group: Group) -> None:
    """Check shapes, types, finiteness, and zeros outside policy tokens.

    Raises:
        AssertionError: with the trajectory.
    """
    for problem in advantage_problems(advantages, group):
        raise AssertionError(problem)


def _pure(credit: Credit, group: Group, scores: Scores) -> Advantages:
    before = pickle.dumps((group, scores))
    advantages = credit(group, scores)
    assert pickle.dumps((group, scores)) == before, "the credit changed its input"
    check_advantages(advantages, group)
    given = [scores.outcome, *(a for t in group for s in t.sequences for a in (s.logp, *s.features.values()))]
    handed = [array for own in advantages.tokens for array in own]
    assert not any(np.shares_memory(a, b) for a in given for b in handed), "the credit hands back an array of its input"
    return advantages


def _check_same(left: Advantages, right: Advantages, message: str, *, exact: bool = False) -> None:
    assert (left.returns is None) == (right.returns is None), message
    assert (left.trains is None) == (right.trains is None), message
    assert left.channels.keys() == right.channels.keys(), message
    parts = [
        (one.tokens, one.returns or (), one.trains or (), *(one.channels[name] for name in left.channels))
        for one in (left, right)
    ]
    for a, b in zip(*parts):
        assert len(a) == len(b), message
        for x, y in zip(_flat(a), _flat(b), strict=True):
            assert np.array_equal(x, y) if exact else np.allclose(x, y, rtol=1e-9, atol=1e-9), message


def _flat(ragged: Sequence[Sequence[np.ndarray]]) -> list[np.ndarray]:
    return [array for own in ragged for array in own]


def _take(group: Group, scores: Scores, index: Sequence[int]) -> tuple[Group, Scores]:
    chosen = list(index)
    return replace(group, trajectories=tuple(group[i] for i in chosen)), replace(
        scores,
        outcome=scores.outcome[chosen],
        turns=None if scores.turns is None else tuple(scores.turns[i] for i in chosen),
        channels={name: values[chosen] for name, values in scores.channels.items()},
        turn_channels={name: tuple(values[i] for i in chosen) for name, values in scores.turn_channels.items()},
        eligible=None if scores.eligible is None else scores.eligible[chosen],
    )


def _pick(advantages: Advantages, index: Sequence[int]) -> Advantages:
    returns, trains = (
        None if ragged is None else tuple(ragged[i] for i in index)
        for ragged in (advantages.returns, advantages.trains)
    )
    tokens = tuple(advantages.tokens[i] for i in index)
    channels = {name: tuple(ragged[i] for i in index) for name, ragged in advantages.channels.items()}
    return Advantages(tokens, returns, trains, channels)


def _check_order(credit: Credit, group: Group, scores: Scores, first: Advantages) -> None:
    for order in (list(range(len(group)))[::-1], [*range(1, len(group)), 0]):
        moved = credit(*_take(group, scores, order))
        _check_same(moved, _pick(first, order), f"siblings in the order {order} get other values")


def _poison(group: Group, value: float) -> Group:
    """Set every feature to `value` outside policy tokens."""

    def own(sequence: TokenSequence) -> TokenSequence:
        mask = sequence.mask
        return replace(sequence, features={k: np.where(mask, x, value) for k, x in sequence.features.items()})

    members = tuple(replace(t, sequences=tuple(own(s) for s in t.sequences)) for t in group)
    return replace(group, trajectories=members)


def _check_masked(credit: Credit, group: Group, scores: Scores, first: Advantages) -> None:
    for value in (np.nan, 1e9):
        advantages = credit(_poison(group, value), scores)
        _check_same(advantages, first, f"features of {value} where the policy did not write change values")


def _check_unscored(credit: Credit, group: Group, scores: Scores, first: Advantages) -> None:
    failed = make_trajectory(layouts=["Utpp tTt p"], features=dict.fromkeys(group[0].sequences[0].features, 0.5))
    crowd = replace(group, trajectories=(*group.trajectories, failed))
    missing = np.full(len(failed.turns), np.nan)
    advantages = _pure(
        credit,
        crowd,
        Scores(
            np.append(scores.outcome, np.nan),
            None if scores.turns is None else (*scores.turns, missing),
            eligible=None if scores.eligible is None else np.append(scores.eligible, False),
        ),
    )
    assert not any(array.any() for array in advantages.tokens[-1]), "a sibling that was never scored gets an advantage"
    _check_same(
        _pick(advantages, range(len(group))), first, "a sibling that was never scored changes the others' values"
    )


def _check_equal(credit: Credit, group: Group) -> None:
    near = [0.1 + 0.2 - 0.2 if i % 2 else 0.1 for i in range(len(group))]
    for outcome in ([0.0] * len(group), [1.0] * len(group), near):
        advantages = credit(group, make_scores(outcome))
        assert not any(a.any() for a in _flat(advantages.tokens)), f"equal outcomes {outcome} do not give exactly 0"
    alone, _ = _take(group, make_scores([0.0] * len(group)), [0])
    advantages = credit(alone, make_scores([0.7]))
    assert not any(a.any() for a in _flat(advantages.tokens)), "a sibling without siblings does not get exactly 0"


def _check_sequences(credit: Credit, features: Sequence[str], over_turns: bool) -> None:
    numbers = {name: [-0.3, -0.8, -0.1, -0.6] if name.endswith("logp") else [0.4, 0.2, 0.9, 0.6] for name in features}

    def group(*drawings: str) -> Group:
        count = sum(drawing.count("p") for drawing in drawings)
        named = {name: [*own * count][:count] for name, own in numbers.items()}
        first = make_trajectory(layouts=drawings, logp=[*[-0.2, -0.9, -0.4, -0.7] * count][:count], features=named)
        second = {name: own[1:3] for name, own in numbers.items()}
        return make_group(trajectories=[first, make_trajectory(layouts=["Utpp"], features=second)])

    one, three = group("Utpp tTt p tTt p"), group("Utpp", "UtTTtp", "UUtp")
    scores = make_scores([1.0, 0.25])
    left, right = credit(one, scores), credit(three, scores)
    a, b = gather(one[0], left.tokens[0]), gather(three[0], right.tokens[0])
    assert np.allclose(a, b, rtol=1e-9, atol=1e-9), "the same turns in three sequences get other values than in one"
    more = credit(group("Utpp", "UtTTtp", "UUtp", "Utpp", "UtTTtp", "UUtp"), scores)
    for other in (left,) if over_turns else (left, more):
        same = all(np.allclose(x, y, atol=1e-9) for x, y in zip(other.tokens[1], right.tokens[1], strict=True))
        assert same, "the number of a sibling's sequences changes another sibling's values"


def _from_one_state(credit: Credit) -> Credit:
    """Wrap a Stateful credit: the present state is restored before and after each call."""
    if not isinstance(credit, Stateful):
        return credit
    first = copy.deepcopy(credit.state_dict())

    def restored(group: Group, scores: Scores) -> Advantages:
        credit.load_state_dict(copy.deepcopy(first))
        advantages = credit(group, scores)
        credit.load_state_dict(copy.deepcopy(first))
        return advantages

    return restored


def _does_compare(credit: Credit, group: Group) -> bool:
    """Test whether the credit gives 0 for a single sibling, and for outcomes of 1."""
    alone, _ = _take(group, make_scores([1.0] * len(group)), [0])
    found = credit(alone, make_scores([0.7])), credit(group, make_scores([1.0] * len(group)))
    return not any(array.any() for advantages in found for array in _flat(advantages.tokens))


def _check_memory(credit: Credit, untouched: Credit, features: Sequence[str], turns: bool) -> None:
    """Check the independence from earlier groups, also from far smaller rewards."""
    questions = list[tuple[Group, Scores]]()
    for seed, scale in enumerate((0.01, 100.0, 1.0)):
        group = random_group(100 + seed, size=4, features=features)
        scores = random_scores(group, 100 + seed)
        parts = None if scores.turns is None or not turns else tuple(scale * own for own in scores.turns)
        questions.append((group, replace(scores, outcome=scale * scores.outcome, turns=parts)))
    small, large, last = questions
    credit(*small)
    if isinstance(credit, Stateful) and isinstance(untouched, Stateful):
        state = copy.deepcopy(credit.state_dict())
        untouched(*large)
        untouched.load_state_dict(copy.deepcopy(state))
        assert _equal(untouched.state_dict(), state), "load_state_dict does not restore the whole state"
        message = "earlier groups change the credit's results, outside its state_dict"
    else:
        message = "earlier groups change the credit's results: give it state_dict and load_state_dict"
    _check_same(credit(*last), untouched(*last), message)


def _equal(left: object, right: object) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(_equal(a, b) for a, b in zip(left, right, strict=True))
    return bool(np.array_equal(left, right))  # type: ignore[arg-type]
