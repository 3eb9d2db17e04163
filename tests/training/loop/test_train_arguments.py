import pytest

from handaxe.core.errors import InputError
from handaxe.training.loop.train_arguments import check_train_arguments


def test_what_may_be_told():
    check_train_arguments({"credit": None, "steps": 1, "rollout": None})
    with pytest.raises(InputError, match="no argument loses, stepps; it has .*credit"):
        check_train_arguments({"stepps": 1, "loses": 2})
    for name in ("engine", "format", "seed", "keep"):
        with pytest.raises(InputError, match=f"takes {name} from its site"):
            check_train_arguments({name: None})
