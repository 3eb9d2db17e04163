import pytest

pytest.importorskip("rdkit")

from handaxe.core.errors import InputError
from handaxe.papers.molact.molecule import (
    GROUPS,
    LONGEST_SMILES,
    alike,
    canonical,
    compute_property,
    group_count,
    read_molecule,
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "CC(",
        "c1ccc",
        "C" * 10_000,
        "(" * 10_000,
        "C1" * 5_000,
        "[" * 200,
        "C%99" * 50,
        "not a molecule",
        "C\x00C",
        "C\u00e9",
        "[Xx]",
        "F(C)(C)C",
    ],
)
def test_read_molecule_returns_none_for_invalid_smiles(text, capfd):
    assert read_molecule(text) is None
    assert capfd.readouterr() == ("", ""), "rdkit says nothing of it on the terminal"


def test_read_molecule_does_not_parse_long_text(monkeypatch):
    longest = "C" * LONGEST_SMILES
    assert read_molecule(longest) is not None
    monkeypatch.setattr("handaxe.papers.molact.molecule._parsed", lambda smiles: pytest.fail("it was parsed"))
    assert read_molecule(longest + "C") is None and read_molecule(" " * 10**6 + "C") is None


def test_canonical_is_equal_for_all_spellings():
    assert canonical(read_molecule("OCC")) == canonical(read_molecule(" C(O)C\n")) == "CCO"


@pytest.mark.parametrize(
    ("smiles", "counts"),
    [
        ("OCCO", {"hydroxyl": 2}),
        ("OC(=O)CC#N", {"acid": 1, "nitrile": 1}),
        ("Nc1ccc(cc1)F", {"amine": 1, "fluoro": 1}),
        ("NC(=O)C", {}),
        ("COC", {}),
        ("Oc1ccccc1Cl", {"hydroxyl": 1, "chloro": 1}),
    ],
)
def test_group_count_counts_functional_groups(smiles, counts):
    molecule = read_molecule(smiles)
    assert {group: n for group in GROUPS if (n := group_count(molecule, group))} == counts


def test_group_count_takes_a_smarts_and_refuses_other_text():
    assert group_count(read_molecule("CCC"), "[CH3]") == 2
    with pytest.raises(InputError, match="neither a group"):
        group_count(read_molecule("CCC"), "hydroxil")


def test_property_of_computes_logp_and_qed():
    assert compute_property(read_molecule("CCO"), "logp") == pytest.approx(-0.0014)
    assert 0 < compute_property(read_molecule("CCO"), "qed") < 1
    with pytest.raises(InputError, match="'mass' is unknown"):
        compute_property(read_molecule("CCO"), "mass")


def test_alike_is_the_tanimoto_similarity():
    one, other, ring = (read_molecule(text) for text in ("CCO", "CCN", "c1ccccc1O"))
    assert alike(one, other) == alike(other, one) == pytest.approx(1 / 3)
    assert alike(one, one) == alike(one, other, scaffold=True) == 1 and alike(one, ring, scaffold=True) == 0
    assert alike(ring, read_molecule("c1ccccc1N"), scaffold=True) == 1
