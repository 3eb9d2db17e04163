import pytest

from handaxe.core.errors import InputError
from handaxe.testing.make_records import make_task
from handaxe.training.stages.parts.label_of import label_of


def test_a_number_none_and_no_label():
    task = make_task(metadata={"probe": 0.25, "never": None})
    assert label_of(task, "probe") == 0.25 and label_of(task, "never") is None
    with pytest.raises(InputError, match="no label 'other'"):
        label_of(task, "other")
