import pytest

from handaxe.core.errors import Retry
from handaxe.tools.fold_memory import fold_memory


def test_example():
    assert fold_memory("12*34 is 408; still to add 5") == "folded"


def test_nothing_to_fold():
    with pytest.raises(Retry, match="the summary is empty"):
        fold_memory(" \n")
