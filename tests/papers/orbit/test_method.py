"""Constants of the method orbit, read by the tests of every method (tests/papers)."""

import pytest
from helpers.methods import made

pytest.importorskip("bm25s")
SHORT = ["--train-tasks", "4", "--probes", "2", "--seeds", "8"]
LAB = "its criteria are about searches in hops, and a stage filters them by rollouts of the policy"


def test_filters_come_before_training():
    assert len(made("orbit").stages) == 3
