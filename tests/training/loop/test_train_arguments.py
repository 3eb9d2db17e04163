import pytest

from handaxe.core.errors import InputError
from handaxe.training.loop.train_arguments import check_train_arguments


def test_check_train_arguments_names_unknown_and_fixed_arguments():
    check_train_arguments({"credit": None, "steps": 1, "rollout": None})
    with pytest.raises(InputError, match="train has no argument loses, stepps; it has .*credit"):
        check_train_arguments({"stepps": 1, "loses": 2})
    for name in ("engine", "format", "seed"):
        with pytest.raises(InputError, match=f"the context of a stage sets {name}; leave it out"):
            check_train_arguments({name: None})
