"""What needs no rank; the rest is in test_cluster.py, with ranks."""

from pathlib import Path

import pytest

from handaxe.engines.cluster_keeping import ClusterKeeping
from handaxe.errors import InputError


def test_a_gradient_that_has_gathered_is_not_lost():
    engine = ClusterKeeping()
    engine._gathered = True
    for act in (lambda: engine.save(Path("x")), engine.state_dict, engine.restart):
        with pytest.raises(InputError, match="after optim_step"):
            act()
