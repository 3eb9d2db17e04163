"""Checks without ranks; test_engine.py has the tests with ranks."""

from pathlib import Path

import pytest

from handaxe.core.errors import InputError
from handaxe.engines.cluster.driver_checkpointing import DriverCheckpointing


def test_accumulated_gradient_refuses_save_state_dict_and_restart():
    engine = DriverCheckpointing()
    engine._has_gradient = True
    for action in (lambda: engine.save(Path("x")), engine.state_dict, engine.restart):
        with pytest.raises(InputError, match="after optim_step"):
            action()
