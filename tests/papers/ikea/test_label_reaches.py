import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.papers.ikea.label_reaches import label_reaches
from handaxe.training.stages.parts.choose_by_label import choose_by_label


def task(name, value):
    return Task(name, (Message("user", name),), metadata={"probe": value})


def test_label_reaches_balances_known_and_unknown_tasks():
    tasks = [task(name, value) for name, value in zip("abcde", (0.0, 0.5, 0.25, 0.1 + 0.2 + 0.2, 0.4))]
    assert [label_reaches(least=0.5)(one) for one in tasks] == [False, True, False, True, False]
    assert [one.id for one in choose_by_label(balance=label_reaches())(tasks)] == ["a", "b", "c", "d"]


def test_label_reaches_handles_rounding_and_missing_labels():
    assert not label_reaches()(task("a", None)) and label_reaches(least=0.0)(task("a", 0.0))
    with pytest.raises(InputError, match="no label 'known'"):
        label_reaches(label="known")(task("a", 1.0))
