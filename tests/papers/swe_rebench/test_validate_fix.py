import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.swe_rebench.validate_fix import FixTests, resolved, validate_fix

TESTS = ("t1", "t2", "t3")


@pytest.mark.parametrize(
    "before, after, found",
    [
        (("t1", "t2"), (), FixTests(("t1", "t2"), ("t3",))),
        (("t2", "t1"), (), FixTests(("t1", "t2"), ("t3",))),
        (("t1",), ("t1",), "gold fails"),
        ((), (), "no failing test"),
        (TESTS, (), "no passing test"),
    ],
)
def test_validate_fix_splits_tests_or_refuses(before, after, found):
    assert validate_fix(TESTS, before, after) == found


@pytest.mark.parametrize("failed, reward", [((), 1), (("t3",), 0), (("t1",), 0), (TESTS, 0), (("other",), 1)])
def test_resolved_needs_every_test(failed, reward):
    assert resolved(FixTests(("t1", "t2"), ("t3",)), failed) == reward


@given(st.sets(st.sampled_from(TESTS)))
def test_groups_are_disjoint_and_complete(before):
    found = validate_fix(TESTS, before, ())
    if isinstance(found, FixTests):
        assert sorted((*found.fail_to_pass, *found.pass_to_pass)) == sorted(TESTS)
        assert set(found.fail_to_pass) == before and not resolved(found, before)
    else:
        assert len(before) in (0, 3)


def test_unknown_failed_test_raises():
    with pytest.raises(InputError, match="t9 are not among"):
        validate_fix(TESTS, ("t9",), ())
