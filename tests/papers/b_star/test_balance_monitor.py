import numpy as np
import pytest

from handaxe.core.protocols import Learner
from handaxe.papers.b_star.balance_monitor import BalanceMonitor


def test_monitor_reports_nothing_before_the_first_round():
    monitor = BalanceMonitor()
    assert isinstance(monitor, Learner) and monitor.learn([], step=0) == {}


def test_monitor_counts_different_choices_and_keeps_the_last():
    monitor = BalanceMonitor()
    monitor.note(0.75, 0.5, 0.2)
    monitor.note(0.75, 1.1, 0.4)
    expected = {"rounds": 2, "temperatures": 1, "thresholds": 2, "temperature": 0.75, "threshold": 1.1, "balance": 0.4}
    assert monitor.learn([], step=0) == expected
    restored = BalanceMonitor()
    restored.load_state_dict(monitor.state_dict())
    assert restored.learn([], step=3) == expected


def test_monitor_equals_a_slow_count():
    rng, monitor = np.random.default_rng(0), BalanceMonitor()
    pairs = [(float(heat), float(limit)) for heat, limit in rng.integers(0, 3, (10, 2))]
    for heat, limit in pairs:
        monitor.note(heat, limit, 0.0)
    found = monitor.learn([], step=0)
    assert found["temperatures"] == pytest.approx(len({heat for heat, _ in pairs}))
    assert found["thresholds"] == pytest.approx(len({limit for _, limit in pairs}))
