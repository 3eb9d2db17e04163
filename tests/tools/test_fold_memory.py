import pytest

from handaxe.core.errors import Retry
from handaxe.tools.fold_memory import fold_memory


def test_fold_memory_accepts_a_summary():
    assert fold_memory("12*34 is 408; still to add 5") == "folded"


def test_empty_summary_raises_retry():
    with pytest.raises(Retry, match="the summary is empty"):
        fold_memory(" \n")
