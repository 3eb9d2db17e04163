"""The state of what is made of parts."""

import pytest

from handaxe.core.protocols import Stateful
from handaxe.ops.composite import Composite, remembers


class Counts:
    def __init__(self, count):
        self.count = count

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


class Both(Composite):
    def __init__(self, first, second):
        self.made = {"first": first, "second": second, "plain": len}

    def parts(self):
        return self.made


def test_the_state_is_that_of_the_parts_that_have_one():
    both = Both(Counts(1), Counts(2))
    assert both.state_dict() == {"first": {"count": 1}, "second": {"count": 2}}
    other = Both(Counts(7), Counts(8))
    other.load_state_dict(both.state_dict())
    assert other.state_dict() == both.state_dict()


def test_it_is_a_part_itself():
    inner = Both(Counts(1), len)
    outer = Both(inner, Counts(3))
    assert isinstance(outer, Stateful)
    assert outer.state_dict() == {"first": {"first": {"count": 1}}, "second": {"count": 3}}


class Own(Both):
    def state_dict(self):
        return {"own": 5} | super().state_dict()


def test_what_it_remembers_besides_stands_beside_its_parts():
    assert Own(Counts(1), len).state_dict() == {"own": 5, "first": {"count": 1}}


def test_who_remembers():
    assert remembers(Counts(1)) and not remembers(len)
    assert remembers(Both(len, Counts(1))) and remembers(Both(len, Both(Counts(1), len)))
    assert not remembers(Both(len, Both(len, len))), "its state is empty whatever happens"
    assert remembers(Own(len, len)), "though none of its parts does"


def test_one_that_does_not_say_what_it_is_made_of():
    with pytest.raises(NotImplementedError):
        Composite().state_dict()
