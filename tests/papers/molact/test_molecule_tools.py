import pytest

pytest.importorskip("rdkit")

from handaxe.core.records import ToolCall
from handaxe.papers.molact.molecule_tools import molecules

VALID, COUNT, PROPERTY = molecules()


def test_molecule_tools_answer_the_worked_examples():
    assert VALID("OCC") == "CCO" and COUNT("OCCO") == "hydroxyl 2" and PROPERTY("CCO") == "logp 0.00 qed 0.41"
    assert COUNT("CC") == "none" and COUNT("NCCO") == "hydroxyl 1, amine 1"


@pytest.mark.parametrize("tool", [VALID, COUNT, PROPERTY], ids=lambda tool: tool.schema.name)
@pytest.mark.parametrize(
    ("smiles", "why"), [("CC(", "SMILES such as"), ("C" * 10_000, "10000 characters"), ("", "SMIL")]
)
def test_an_invalid_smiles_gives_retry(tool, smiles, why):
    reply = tool.run(ToolCall(tool.schema.name, {"smiles": smiles}))
    assert reply.status == "retry" and why in reply.content and len(reply.content) < 200
