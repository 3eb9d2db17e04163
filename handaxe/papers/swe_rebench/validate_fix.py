"""Validation of a task by execution: tests that a fix must make pass, and tests that must keep passing."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

from handaxe.core.errors import InputError

__all__ = ["FixTests", "Refusal", "resolved", "validate_fix"]

Refusal = Literal["gold fails", "no failing test", "no passing test"]


class FixTests(NamedTuple):
    """Tests of a task.

    fail_to_pass: fail before the reference fix and pass after. pass_to_pass: pass before and after. Both in the order
    of the tests.
    """

    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]


def validate_fix(tests: Collection[str], before: Collection[str], after: Collection[str]) -> FixTests | Refusal:
    """Split the tests of a candidate, or refuse the candidate.

        fail_to_pass = failed before, passed after
        pass_to_pass = passed before, passed after

    Args:
        tests: names of all tests, in order.
        before: tests that fail without the reference fix.
        after: tests that fail with the reference fix.

    Returns:
        Both groups, or the reason of a refusal: a test fails after the fix, no test changes, or no test passes before.

    Raises:
        InputError: a failed test is not among `tests`.

    Example:
        tests t1, t2 and t3; t1 and t2 fail before, none after -> fail_to_pass (t1, t2), pass_to_pass (t3,)

    Paper: arXiv:2505.20411 (SWE-rebench), section on execution-based validation.
    Differs: a candidate without a test in `pass_to_pass` is refused.
    """
    if unknown := sorted({*before, *after} - set(tests)):
        raise InputError(f"failed tests {', '.join(unknown)} are not among the tests of the task: list all tests")
    if after:
        return "gold fails"
    changed = tuple(one for one in tests if one in before)
    kept = tuple(one for one in tests if one not in before)
    if not changed:
        return "no failing test"
    return FixTests(changed, kept) if kept else "no passing test"


def resolved(tests: FixTests, failed: Collection[str]) -> bool:
    """Decide the reward of a patch: 1 if every test of both groups passes, else 0.

    Args:
        tests: of the task.
        failed: tests that fail with the patch.

    Example:
        fail_to_pass (t1, t2), pass_to_pass (t3,): failed () -> True; failed (t3,) -> False

    Paper: arXiv:2505.20411 (SWE-rebench), the reward of a task.
    """
    return not {*tests.fail_to_pass, *tests.pass_to_pass} & set(failed)
