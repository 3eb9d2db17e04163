"""The contract that every credit keeps, as one function: give it yours."""

import copy
import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Credit, Stateful
from handaxe.core.records import Advantages, Group, Scores, TokenSequence
from handaxe.ops.ragged import gather
from handaxe.testing.copies import untouched_copy
from handaxe.testing.ragged import random_group, random_scores
from handaxe.testing.records import make_group, make_scores, make_trajectory

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
    """Check that a credit keeps its contract, on random ragged groups, their scores all different or 0 and 1 with ties.

        shapes       one float64 [T] for each sequence, finite, exactly 0 off the mask; `returns` too where given
        purity       neither group nor scores are changed, and no array of theirs is handed back
        determinism  asked twice, it says the same to the last bit
        order        siblings in another order get the same values in that order, those of equal scores too
        masked       what features hold where the policy did not write is never looked at, be it NaN
        sequences    the same turns in three sequences instead of one get the same values; further rows of one sibling
                     change no other sibling's
        failures     a sibling that was never scored (outcome NaN) gets 0, the others what they get without it
        extremes     no sibling, one sibling, a sibling without a turn, and equal outcomes are all fine
        memory       what it was asked before changes nothing; or, where the credit is `slots.Stateful`, only what its
                     state_dict tells, which an untouched copy takes up

    Args:
        credit: what to check, and not asked anything before. A Stateful one is given back its first state before every
            question but the last, and at the end.
        compares: siblings are judged against each other: then one alone, and equal outcomes, must give exactly 0. None:
            it does where it says nothing of one alone and of outcomes of 1.
        features: what the credit may ask for.
        turns: the scores hold per-turn rewards as well.
        over_turns: its statistics are over turns instead of siblings, so that further turns of one sibling (rows with
            turns of their own) may change another one's values.
        seeds: how many random groups.

    Raises:
        AssertionError: saying which promise is broken.
    """
    untouched, asked = untouched_copy(credit), _from_one_state(credit)
    for seed in range(seeds):
        group = random_group(seed, size=2 + seed % 4, features=features)
        for ties in (False, True):
            scores = random_scores(group, seed, ties=ties)
            scores = scores if turns else replace(scores, turns=None)
            first = _pure(asked, group, scores)
            _check_same(first, asked(group, scores), "asked twice, the credit says two things", exact=True)
            _check_order(asked, group, scores, first)
            _check_masked(asked, group, scores, first)
            _check_unscored(asked, group, scores, first)
        _pure(asked, random_group(seed, size=1, features=features), make_scores([0.7]))
        if compares or (compares is None and _does_compare(asked, group)):
            _check_equal(asked, group)
    _check_sequences(asked, features, over_turns)
    _pure(asked, make_group(trajectories=[]), make_scores([]))
    silent = make_trajectory(layouts=["Ut"])
    spoke = make_trajectory(layouts=["Utp"], features=dict.fromkeys(features, 0.5))
    _pure(asked, make_group(trajectories=[silent, spoke]), make_scores([0.0, 1.0]))
    _check_memory(credit, untouched, features, turns)


def check_advantages(advantages: Advantages, group: Group) -> None:
    """Check shapes, types, finiteness, and zeros wherever the policy did not write.

    Raises:
        AssertionError: naming the trajectory.
    """
    named = {f"channel {name}": ragged for name, ragged in advantages.channels.items()}
    for name, ragged in {"tokens": advantages.tokens, "returns": advantages.returns, **named}.items():
        if ragged is None:
            continue
        assert len(ragged) == len(group), f"{name} has {len(ragged)} entries for {len(group)} siblings"
        for one, arrays in zip(group, ragged, strict=True):
            shapes = [np.shape(array) for array in arrays]
            assert shapes == [(len(s),) for s in one.sequences], f"{name} of {one.id!r} has shapes {shapes}"
            for sequence, array in zip(one.sequences, arrays, strict=True):
                assert array.dtype == np.float64, f"{name} of {one.id!r} is {array.dtype}, not float64"
                assert np.all(np.isfinite(array)), f"{name} of {one.id!r} is not finite"
                assert not np.any(array[~sequence.mask]), f"{name} of {one.id!r} is not 0 off the mask"
    if advantages.trains is None:
        return
    assert len(advantages.trains) == len(group), (
        f"trains has {len(advantages.trains)} entries for {len(group)} siblings"
    )
    for one, arrays in zip(group, advantages.trains, strict=True):
        found = [(np.shape(array), np.asarray(array).dtype) for array in arrays]
        assert found == [((len(s),), bool) for s in one.sequences], f"trains of {one.id!r} is {found}, not [T] bool"


def _pure(credit: Credit, group: Group, scores: Scores) -> Advantages:
    before = pickle.dumps((group, scores))
    said = credit(group, scores)
    assert pickle.dumps((group, scores)) == before, "the credit changed what it was given"
    check_advantages(said, group)
    given = [scores.outcome, *(a for t in group for s in t.sequences for a in (s.logp, *s.features.values()))]
    handed = [array for own in said.tokens for array in own]
    assert not any(np.shares_memory(a, b) for a in given for b in handed), "the credit hands back an array of its input"
    return said


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
    """The group with every feature set to `value` where the policy did not write."""

    def own(sequence: TokenSequence) -> TokenSequence:
        mask = sequence.mask
        return replace(sequence, features={k: np.where(mask, x, value) for k, x in sequence.features.items()})

    members = tuple(replace(t, sequences=tuple(own(s) for s in t.sequences)) for t in group)
    return replace(group, trajectories=members)


def _check_masked(credit: Credit, group: Group, scores: Scores, first: Advantages) -> None:
    for value in (np.nan, 1e9):
        said = credit(_poison(group, value), scores)
        _check_same(said, first, f"features of {value} where the policy did not write change values")


def _check_unscored(credit: Credit, group: Group, scores: Scores, first: Advantages) -> None:
    failed = make_trajectory(layouts=["Utpp tTt p"], features=dict.fromkeys(group[0].sequences[0].features, 0.5))
    crowd = replace(group, trajectories=(*group.trajectories, failed))
    missing = np.full(len(failed.turns), np.nan)
    said = _pure(
        credit,
        crowd,
        Scores(
            np.append(scores.outcome, np.nan),
            None if scores.turns is None else (*scores.turns, missing),
            eligible=None if scores.eligible is None else np.append(scores.eligible, False),
        ),
    )
    assert not any(array.any() for array in said.tokens[-1]), "a sibling that was never scored gets an advantage"
    _check_same(_pick(said, range(len(group))), first, "a sibling that was never scored changes the others' values")


def _check_equal(credit: Credit, group: Group) -> None:
    near = [0.1 + 0.2 - 0.2 if i % 2 else 0.1 for i in range(len(group))]
    for outcome in ([0.0] * len(group), [1.0] * len(group), near):
        said = credit(group, make_scores(outcome))
        assert not any(a.any() for a in _flat(said.tokens)), f"equal outcomes {outcome} do not give exactly 0"
    alone, _ = _take(group, make_scores([0.0] * len(group)), [0])
    said = credit(alone, make_scores([0.7]))
    assert not any(a.any() for a in _flat(said.tokens)), "a sibling without siblings does not get exactly 0"


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
        assert same, "how many sequences a sibling has changes another sibling's values"


def _from_one_state(credit: Credit) -> Credit:
    """The credit, asked every question in the state that it is in now."""
    if not isinstance(credit, Stateful):
        return credit
    first = copy.deepcopy(credit.state_dict())

    def asked(group: Group, scores: Scores) -> Advantages:
        credit.load_state_dict(copy.deepcopy(first))
        said = credit(group, scores)
        credit.load_state_dict(copy.deepcopy(first))
        return said

    return asked


def _does_compare(credit: Credit, group: Group) -> bool:
    """Whether it says nothing of a sibling alone, and nothing of outcomes of 1."""
    alone, _ = _take(group, make_scores([1.0] * len(group)), [0])
    found = credit(alone, make_scores([0.7])), credit(group, make_scores([1.0] * len(group)))
    return not any(array.any() for said in found for array in _flat(said.tokens))


def _check_memory(credit: Credit, untouched: Credit, features: Sequence[str], turns: bool) -> None:
    """Asked about a group of far smaller rewards before, or about another one, it says the same of the next."""
    asked = list[tuple[Group, Scores]]()
    for seed, scale in enumerate((0.01, 100.0, 1.0)):
        group = random_group(100 + seed, size=4, features=features)
        scores = random_scores(group, 100 + seed)
        parts = None if scores.turns is None or not turns else tuple(scale * own for own in scores.turns)
        asked.append((group, replace(scores, outcome=scale * scores.outcome, turns=parts)))
    small, large, last = asked
    credit(*small)
    if isinstance(credit, Stateful) and isinstance(untouched, Stateful):
        state = copy.deepcopy(credit.state_dict())
        untouched(*large)
        untouched.load_state_dict(copy.deepcopy(state))
        assert _equal(untouched.state_dict(), state), "load_state_dict does not take back the whole state"
        why = "asked other groups before, the credit says other things, which its state_dict does not tell"
    else:
        why = "asked other groups before, the credit says other things: give it state_dict and load_state_dict"
    _check_same(credit(*last), untouched(*last), why)


def _equal(left: object, right: object) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(_equal(a, b) for a, b in zip(left, right, strict=True))
    return bool(np.array_equal(left, right))  # type: ignore[arg-type]
