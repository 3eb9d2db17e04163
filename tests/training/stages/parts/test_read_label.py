import pytest

from handaxe.core.errors import InputError
from handaxe.testing.make_records import make_task
from handaxe.training.stages.parts.read_label import read_label


def test_a_number_none_and_no_label():
    task = make_task(metadata={"probe": 0.25, "never": None})
    assert read_label(task, "probe") == 0.25 and read_label(task, "never") is None
    with pytest.raises(InputError, match="no label 'other'"):
        read_label(task, "other")
