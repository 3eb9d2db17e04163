"""Selectors that each break one promise of the contract."""

from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.records import Advantages
from handaxe.testing.make_records import make_rated, make_scores
from handaxe.testing.selectors import check_selector, check_transform


def train_all(rated):
    return [replace(one, trained=np.ones(len(one.group), bool)) for one in rated]


def in_place(rated):
    for one in rated:
        one.trained[:] = False
    return list(rated)


def memory():
    seen = []

    def select(rated):
        seen.extend(rated)
        return list(rated)[: len(seen) % 4]

    return select


def off_mask(rated):
    ones = [Advantages(tuple(tuple(a + 1 for a in own) for own in one.advantages.tokens)) for one in rated]
    return [replace(one, advantages=own) for one, own in zip(rated, ones)]


def looks_under_the_mask(rated):
    return [one for one in rated if not np.isnan(one.group[0].sequences[0].features["value"]).any()]


def zero_scores(rated):
    return [one.with_group(one.group, make_scores([0.0] * len(one.group))) for one in rated]


def loses(**fields):
    """Transform that changes only these fields of the advantages."""
    return lambda rated: [replace(one, advantages=replace(one.advantages, **fields)) for one in rated]


class Alternates:
    """Returns the first group at every third call, else all others. `saved`: state_dict has the count; `loaded`:
    load_state_dict restores it."""

    def __init__(self, saved=True, loaded=True):
        self.count, self.saved, self.loaded = 0, saved, loaded

    def __call__(self, rated):
        self.count += bool(rated)
        return list(rated)[:1] if self.count % 3 == 1 else list(rated)[1:]

    def state_dict(self):
        return {"count": self.count if self.saved else 0}

    def load_state_dict(self, state):
        if self.loaded:
            self.count = state["count"]


def twins(rated):
    """Repeat the first sibling of every group."""
    out = []
    for one in rated:
        tokens, scores = one.advantages.tokens, one.scores.outcome
        group = replace(one.group, trajectories=(*one.group, one.group[0]))
        out.append(
            replace(
                one.with_group(group, make_scores([*scores, scores[0]])),
                advantages=Advantages((*tokens, tokens[0])),
                trained=np.append(one.trained, True),
            )
        )
    return out


def test_stateful_selector_is_checked():
    check_selector(Alternates(), filters=False)
    with pytest.raises(AssertionError, match="does not restore|two calls|off the mask"):
        check_selector(Alternates(loaded=False), filters=False)
    with pytest.raises(AssertionError, match="two calls|off the mask|outside its state_dict"):
        check_selector(Alternates(saved=False), filters=False)
    with pytest.raises(AssertionError, match="share an id"):
        check_selector(twins, filters=False)


def test_good_selectors_pass():
    check_selector(list)
    check_selector(lambda rated: [one for one in rated if len(one.group) > 1])
    check_selector(lambda rated: [*rated, *rated], filters=False)


@pytest.mark.parametrize(
    "select, message",
    [
        (lambda rated: [*rated, make_rated()], "from no group"),
        (train_all, "trains that did not"),
        (in_place, "changed its input"),
        (memory(), "two calls"),
        (off_mask, "off the mask"),
        (looks_under_the_mask, "features off the mask"),
        (lambda rated: list(rated)[::-1], "in another order"),
        (lambda rated: list(rated)[:2], "order of groups changes which"),
        (lambda rated: [*rated, *rated], "order, or some are new"),
        (zero_scores, "scores"),
        (lambda rated: [one.with_group(replace(one.group)) for one in rated], "another group"),
        (lambda rated: [replace(one, trained=one.trained.astype(int)) for one in rated], "bool"),
        (lambda rated: [replace(one, trained=one.trained[:-1]) for one in rated], "one entry a sibling"),
        (lambda rated: [replace(one, part=0) for one in rated], "loses `part`"),
        (loses(returns=None), "loses or invents advantages.returns"),
        (loses(trains=None), "loses or invents advantages.trains"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_broken_selectors_raise(select, message):
    with pytest.raises(AssertionError, match=message):
        check_selector(select)


class Fading(Alternates):
    """Divides advantages by the number of calls."""

    def __call__(self, rated):
        self.count += bool(rated)
        scaled = [tuple(tuple(a / (1 + self.count) for a in own) for own in one.advantages.tokens) for one in rated]
        return [replace(one, advantages=replace(one.advantages, tokens=own)) for one, own in zip(rated, scaled)]


def test_good_transforms_pass():
    check_transform(list)
    check_transform(halved)
    check_transform(Fading())


def halved(rated):
    return [replace(one, advantages=replace(one.advantages, tokens=_half(one.advantages.tokens))) for one in rated]


def _half(tokens):
    return tuple(tuple(a / 2 for a in own) for own in tokens)


def by_place(rated):
    out = []
    for k, one in enumerate(rated):
        tokens = tuple(tuple(k * a for a in own) for own in one.advantages.tokens)
        out.append(replace(one, advantages=replace(one.advantages, tokens=tokens)))
    return out


@pytest.mark.parametrize(
    "shape, message",
    [
        (lambda rated: [one for one in rated if len(one.group) > 1], "returns 4 of 5"),
        (lambda rated: list(rated)[::-1], "another order"),
        (zero_scores, "scores"),
        (train_all, "trained siblings"),
        (by_place, "the order of groups"),
        (Fading().__call__, "two calls"),
        (Fading(saved=False), "two calls|outside its state_dict"),
        (Fading(loaded=False), "two calls|does not restore"),
        (lambda rated: [replace(one, part=1) for one in rated], "loses `part`"),
        (loses(returns=None), "loses or invents advantages.returns"),
        (
            lambda rated: [replace(one, advantages=Advantages(one.advantages.tokens)) for one in rated],
            "advantages.trains",
        ),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_broken_transforms_raise(shape, message):
    with pytest.raises(AssertionError, match=message):
        check_transform(shape)
