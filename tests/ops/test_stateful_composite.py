"""State of composites."""

import pytest

from handaxe.core.protocols import Stateful
from handaxe.ops.stateful_composite import StatefulComposite, has_state


class Counts:
    def __init__(self, count):
        self.count = count

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


class Both(StatefulComposite):
    def __init__(self, first, second):
        self.made = {"first": first, "second": second, "plain": len}

    def parts(self):
        return self.made


def test_state_has_the_stateful_parts_by_name():
    both = Both(Counts(1), Counts(2))
    assert both.state_dict() == {"first": {"count": 1}, "second": {"count": 2}}
    other = Both(Counts(7), Counts(8))
    other.load_state_dict(both.state_dict())
    assert other.state_dict() == both.state_dict()


def test_composites_nest():
    inner = Both(Counts(1), len)
    outer = Both(inner, Counts(3))
    assert isinstance(outer, Stateful)
    assert outer.state_dict() == {"first": {"first": {"count": 1}}, "second": {"count": 3}}


class Own(Both):
    def state_dict(self):
        return {"own": 5} | super().state_dict()


def test_subclass_adds_state_beside_its_parts():
    assert Own(Counts(1), len).state_dict() == {"own": 5, "first": {"count": 1}}


def test_has_state_looks_into_plain_composites():
    assert has_state(Counts(1)) and not has_state(len)
    assert has_state(Both(len, Counts(1))) and has_state(Both(len, Both(Counts(1), len)))
    assert not has_state(Both(len, Both(len, len))), "its state is empty whatever happens"
    assert has_state(Own(len, len)), "though none of its parts does"


def test_missing_parts_raise_not_implemented():
    with pytest.raises(NotImplementedError):
        StatefulComposite().state_dict()
