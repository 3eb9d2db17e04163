from dataclasses import replace

from handaxe.core.protocols import Stateful
from handaxe.core.records import Advantages
from handaxe.credit.constant_baseline import constant_baseline
from handaxe.credit.transformed import transformed
from handaxe.testing.make_records import make_group, make_scores

BIAS = "depends on the credit and the transforms"


def double(rated):
    return [with_tokens(one, [[2 * a for a in own] for own in one.advantages.tokens]) for one in rated]


def add_one(rated):
    return [
        with_tokens(
            one,
            [[(a + 1) * s.mask for a, s in zip(own, t.sequences)] for own, t in zip(one.advantages.tokens, one.group)],
        )
        for one in rated
    ]


def with_tokens(one, tokens):
    return replace(one, advantages=Advantages(tuple(tuple(own) for own in tokens)))


class Counter:
    def __init__(self):
        self.calls = 0

    def __call__(self, rated):
        self.calls += 1
        return rated

    def state_dict(self):
        return {"calls": self.calls}

    def load_state_dict(self, state):
        self.calls = state["calls"]


def value(credit):
    return credit(make_group(layouts=["Utp"]), make_scores([0.5])).tokens[0][0].tolist()


def test_transformed_matches_the_docstring_example():
    assert value(transformed(constant_baseline(), double)) == [0, 0, 1]


def test_transforms_apply_in_order():
    assert value(transformed(constant_baseline(), double, add_one)) == [0, 0, 2]
    assert value(transformed(constant_baseline(), add_one, double)) == [0, 0, 3]
    assert value(transformed(constant_baseline())) == [0, 0, 0.5]


def test_state_holds_that_of_credit_and_transforms():
    first = transformed(constant_baseline(), double, Counter())
    assert isinstance(first, Stateful)
    value(first)
    value(first)
    assert first.state_dict() == {"2": {"calls": 2}}
    counter = Counter()
    second = transformed(constant_baseline(), double, counter)
    second.load_state_dict(first.state_dict())
    assert counter.calls == 2
