"""What needs no rank; the rest is in test_cluster.py, with ranks."""

from pathlib import Path

import pytest

from handaxe.core.errors import InputError
from handaxe.engines.cluster.checkpointing import ClusterCheckpointing


def test_a_gradient_that_has_gathered_is_not_lost():
    engine = ClusterCheckpointing()
    engine._gathered = True
    for act in (lambda: engine.save(Path("x")), engine.state_dict, engine.restart):
        with pytest.raises(InputError, match="after optim_step"):
            act()
