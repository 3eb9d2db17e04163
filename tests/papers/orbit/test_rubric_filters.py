import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.papers.orbit.rubric_filters import RUBRIC_LABEL, drop_easy_criteria, medium_tasks


def tasks(*means):
    return [Task(str(n), (Message("user", "?"),), "", metadata={RUBRIC_LABEL: mean}) for n, mean in enumerate(means)]


def kept(*means, **options):
    return [one.id for one in medium_tasks(**options)(tasks(*means))]


def test_tasks_between_the_bounds_are_kept():
    assert kept(0.05, 0.4, 0.9, 0.1, 0.75, least=1) == ["1", "3", "4"]


def test_the_nearest_tasks_fill_up():
    assert kept(0.0, 0.4, 0.8, 1.0, least=2) == ["1", "2"]
    assert kept(0.0, None, least=5) == ["0", "1"]
    with pytest.raises(InputError, match="bounds in order"):
        medium_tasks(low=0.8, high=0.2)


def test_the_stage_reports_what_it_dropped():
    class Book:
        dropped = frozenset({"a"})

        def drop_easy(self, groups, *, above):
            assert groups == ["g"] and above == 0.5
            return {"a": 1.0, "b": 0.5}

    (row,) = drop_easy_criteria(book=Book(), source=lambda site: ["g"], above=0.5)(None)
    assert row == {"step": 0.0, "criteria": 2.0, "dropped": 1.0, "pass_rate": 0.75}
