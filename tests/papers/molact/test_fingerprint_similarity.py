from functools import partial

import pytest

from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.molact.molecules import molecules, source_similarity

pytest.importorskip("rdkit")

from rdkit.Chem import AllChem

from handaxe.core.errors import TaskError
from handaxe.papers.molact.fingerprint_similarity import fingerprint_similarity
from handaxe.papers.molact.molecule import read_molecule
from handaxe.testing.make_records import make_group, make_task, make_trajectory

CONTRACT = [{"source": lambda task: "CCO"}, {"source": lambda task: "CCO", "scaffold": True}]
LAB = [
    LabCase("fingerprint_similarity(...)", partial(molecules, kinds=("edit",)), lambda world: source_similarity()),
]
SIBLINGS = make_group(trajectories=[make_trajectory(texts=[t]) for t in ("OCC", "CCN", "CC(", "c1ccccc1")])


def scored(source, *texts, **knobs):
    task = make_task(metadata={"source": source})
    group = make_group(task=task, trajectories=[make_trajectory(texts=[t], task=task) for t in texts])
    return fingerprint_similarity(source=lambda one: one.metadata["source"], **knobs)(group).outcome.tolist()


def test_fingerprint_similarity_equals_the_worked_examples():
    assert scored("CCO", "OCC", "CCN", "CC(") == pytest.approx([1, 1 / 3, 0])
    assert scored("c1ccccc1O", "c1ccccc1N", "CCN", scaffold=True) == [1, 0]


def test_fingerprint_similarity_equals_the_jaccard_index_of_bits():
    texts = ["CCO", "CCCN", "c1ccccc1O", "OC(=O)CC#N", "c1ccc(cc1)C1CCC(CC1)F"]
    bits = [set(AllChem.GetMorganFingerprintAsBitVect(read_molecule(t), 2, 2048).GetOnBits()) for t in texts]
    for source, wanted in zip(texts, bits):
        slow = [len(one & wanted) / len(one | wanted) for one in bits]
        assert scored(source, *texts) == pytest.approx(slow)


def test_a_group_keeps_the_scaffold_and_a_ring_changes_it():
    assert scored("c1ccccc1CC", "c1ccccc1CCO", scaffold=True) == [1]
    (share,) = scored("c1ccccc1CC", "c1ccccc1C1CCCCC1", scaffold=True)
    assert 0 < share < 1


@pytest.mark.parametrize("text", ["", "C" * 10_000, "C(" * 200])
def test_an_invalid_smiles_scores_zero(text):
    assert scored("CCO", text) == scored("CCO", text, scaffold=True) == [0]


def test_a_task_without_a_molecule_raises_task_error():
    with pytest.raises(TaskError, match="needs a molecule to compare with"):
        scored("CC(", "CC")
