from functools import partial

import pytest

from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.molact.molecules import changed_groups, molecules

pytest.importorskip("rdkit")

from handaxe.core.errors import TaskError
from handaxe.papers.molact.group_count_change import group_count_change
from handaxe.testing.make_records import make_group, make_task, make_trajectory

KNOBS = {"source": lambda task: "CCO", "change": lambda task: {"hydroxyl": 1}}
CONTRACT = [KNOBS]
LAB = [
    LabCase("group_count_change(...)", partial(molecules, kinds=("edit",)), lambda world: changed_groups()),
]
SIBLINGS = make_group(trajectories=[make_trajectory(texts=[t]) for t in ("OCCO", "CCO", "CCO(")])


def scored(source, change, *texts):
    task = make_task(metadata={"source": source, "change": change})
    reward = group_count_change(source=lambda one: one.metadata["source"], change=lambda one: one.metadata["change"])
    scores = reward(make_group(task=task, trajectories=[make_trajectory(texts=[t], task=task) for t in texts]))
    return list(zip(scores.outcome.tolist(), scores.channels["valid"].tolist()))


def test_group_count_change_equals_the_worked_examples():
    assert scored("CCO", {"hydroxyl": 1}, "OCCO", "CCO", "CCOO(") == [(1, 1), (0, 1), (0, 0)]


@pytest.mark.parametrize(
    ("change", "text", "right"),
    [
        ({"hydroxyl": -1}, "CC", 1),
        ({"hydroxyl": -1}, "CCO", 0),
        ({"hydroxyl": -1, "amine": 1}, "CCN", 1),
        ({"hydroxyl": -1, "amine": 1}, "OCCN", 0),
        ({"hydroxyl": -1, "amine": 1}, "CC", 0),
        ({"hydroxyl": 1}, "OCC(O)O", 0),
        ({"hydroxyl": 1}, "c1ccccc1C(O)CO", 1),
        ({"hydroxyl": 1}, "CCOC", 0),
    ],
)
def test_group_count_change_scores_add_delete_and_replace(change, text, right):
    assert scored("CCO", change, text) == [(right, 1)]


@pytest.mark.parametrize("text", ["", "C" * 10_000, "C(" * 5_000, "O" * 201, "\u00e9"])
def test_an_invalid_smiles_is_neither_correct_nor_valid(text):
    assert scored("CCO", {"hydroxyl": 1}, text) == [(0, 0)]


def test_a_task_without_a_molecule_or_a_change_raises_task_error():
    with pytest.raises(TaskError, match="needs a molecule to edit"):
        scored("CC(", {"hydroxyl": 1}, "CC")
    with pytest.raises(TaskError, match="and a change"):
        scored("CCO", {}, "CC")
