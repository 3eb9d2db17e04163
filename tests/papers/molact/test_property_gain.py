import sys
from functools import partial

import pytest

from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.molact.molecules import gained, molecules

pytest.importorskip("rdkit")

from handaxe.core.errors import InputError, TaskError
from handaxe.papers.molact.molecule import canonical, compute_property, read_molecule
from handaxe.papers.molact.property_gain import property_gain
from handaxe.testing.make_records import make_group, make_task, make_trajectory

CONTRACT = [{"source": lambda task: "CCO"}]
LAB = [
    LabCase("property_gain(...)", partial(molecules, kinds=("optimise",)), lambda world: gained()),
]
SIBLINGS = make_group(trajectories=[make_trajectory(texts=[t]) for t in ("CCCC", "CCO", "CC(")])


def scored(source, *texts, **knobs):
    task = make_task(metadata={"source": source})
    group = make_group(task=task, trajectories=[make_trajectory(texts=[t], task=task) for t in texts])
    return property_gain(source=lambda one: one.metadata["source"], **knobs)(group).outcome.tolist()


def test_property_gain_equals_the_worked_examples():
    assert scored("CCO", "CCC") == [1] and scored("CCC", "CCO") == [0]


def test_property_gain_equals_the_worked_example_of_the_paper(monkeypatch):
    """logP 1.0 -> 1.3 with a threshold of 0.5 is 0.6, and 0.8 of that 0.48."""
    told = {"CCO": 1.0, "CCC": 1.3}
    module = sys.modules[property_gain.__module__]
    monkeypatch.setattr(module, "compute_property", lambda molecule, name: told[canonical(molecule)])
    assert scored("CCO", "CCC") == pytest.approx([0.6]) and 0.8 * scored("CCO", "CCC")[0] == pytest.approx(0.48)


@pytest.mark.parametrize("name", ["logp", "qed"])
def test_property_gain_equals_a_slow_formula(name):
    texts = ["CCO", "CCCO", "CCCCO", "c1ccccc1O", "OCC(O)CO", "CC("]
    for source in texts[:-1]:
        for text, got in zip(texts, scored(source, *texts, name=name, threshold=1.5)):
            after, before = read_molecule(text), compute_property(read_molecule(source), name)
            gain = 0.0 if after is None else (compute_property(after, name) - before) / 1.5
            assert got == pytest.approx(max(0.0, min(gain, 1.0)))


@pytest.mark.parametrize("text", ["", "C" * 10_000, "nothing"])
def test_an_invalid_smiles_gains_nothing(text):
    assert scored("CCO", text) == [0]


def test_property_gain_refuses_bad_thresholds_and_properties():
    with pytest.raises(InputError, match="threshold is 0"):
        property_gain(source=str, threshold=0)
    with pytest.raises(TaskError, match="needs a molecule and a property"):
        scored("CC(", "CC")
    with pytest.raises(TaskError, match="mass"):
        scored("CC", "CC", name=lambda task: "mass")
