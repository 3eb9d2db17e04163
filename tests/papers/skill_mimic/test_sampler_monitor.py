import numpy as np
import pytest

from handaxe.papers.skill_mimic.sampler_monitor import SamplerMonitor


def test_the_figures_are_of_the_last_step():
    monitor = SamplerMonitor()
    monitor.note(np.array([0.25, 0.25, 0.5]))
    monitor.note(np.array([0.726, 0.274]))
    assert monitor.learn([], step=3) == pytest.approx({"tilt": 0.226, "most": 1.452}, abs=1e-9)
