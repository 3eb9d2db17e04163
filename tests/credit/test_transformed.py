from handaxe.core.protocols import Stateful
from handaxe.core.records import Advantages
from handaxe.credit.constant_baseline import constant_baseline
from handaxe.credit.transformed import transformed
from handaxe.testing.make_records import make_group, make_scores

BIAS = "depends on the credit and the transforms"


def double(group, advantages):
    return Advantages(tuple(tuple(2 * a for a in own) for own in advantages.tokens))


def add_one(group, advantages):
    return Advantages(
        tuple(tuple((a + 1) * s.mask for a, s in zip(own, t.sequences)) for own, t in zip(advantages.tokens, group))
    )


class Counter:
    def __init__(self):
        self.calls = 0

    def __call__(self, group, advantages):
        self.calls += 1
        return advantages

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
