"""Molecules and molecular properties, by rdkit.

The length of a policy's text is limited before rdkit's parser, which runs in this process, reads it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from handaxe.core.errors import InputError

__all__ = [
    "GROUPS",
    "LONGEST_SMILES",
    "Molecule",
    "PROPERTIES",
    "alike",
    "canonical",
    "compute_property",
    "group_count",
    "read_molecule",
]

LONGEST_SMILES = 200
"""Limit on the characters of a SMILES; drugs have less than half of that."""
GROUPS: Mapping[str, str] = {
    "hydroxyl": "[OX2H][#6;!$(C=O)]",
    "amine": "[NX3H2][#6;!$(C=[O,N,S])]",
    "fluoro": "[F][#6]",
    "chloro": "[Cl][#6]",
    "nitrile": "[NX1]#[CX2]",
    "acid": "[CX3](=O)[OX2H]",
}
"""Functional group -> SMARTS. The OH of an acid is no hydroxyl."""
PROPERTIES = ("logp", "qed")
"""Crippen's logP, and the quantitative estimate of drug-likeness, 0 to 1."""
BITS, RADIUS = 2048, 2
Molecule = Any
"""A molecule of rdkit."""


def read_molecule(smiles: str) -> Molecule | None:
    """Parse a SMILES. Return None for an invalid or empty one, or for more than 200 characters.

    Raises:
        InputError: rdkit is not installed.
    """
    if len(smiles) > LONGEST_SMILES or not smiles.isascii() or not smiles.strip():
        return None
    return _parsed(smiles.strip())


@functools.lru_cache(maxsize=20_000)
def _parsed(smiles: str) -> Molecule | None:
    chem = _rdkit()
    with chem.rdBase.BlockLogs():
        try:
            made = chem.Chem.MolFromSmiles(smiles)
        except (RuntimeError, ValueError):
            return None
    return made if made is not None and made.GetNumAtoms() else None


def canonical(molecule: Molecule) -> str:
    """Canonical SMILES, equal for all spellings of a molecule."""
    written: str = _rdkit().Chem.MolToSmiles(molecule)
    return written


def group_count(molecule: Molecule, group: str) -> int:
    """Count a functional group in the molecule.

    Args:
        molecule: to search.
        group: a name of GROUPS, or a SMARTS.

    Raises:
        InputError: `group` is neither.

    Example:
        the molecule OCCO has 2 hydroxyl
    """
    return len(molecule.GetSubstructMatches(_pattern(GROUPS.get(group, group))))


def compute_property(molecule: Molecule, name: str) -> float:
    """Compute a property of the molecule.

    Args:
        molecule: to measure.
        name: of PROPERTIES.

    Raises:
        InputError: an unknown property.
    """
    chem = _rdkit()
    if name not in PROPERTIES:
        raise InputError(f"the property {name!r} is unknown; there are {', '.join(PROPERTIES)}")
    return float(chem.Crippen.MolLogP(molecule) if name == "logp" else chem.QED.qed(molecule))


def alike(first: Molecule, second: Molecule, *, scaffold: bool = False) -> float:
    """Tanimoto similarity of two molecules' Morgan fingerprints (radius 2, 2048 bits).

        |A & B| / |A | B|          A, B: bits that are set

    Args:
        first, second: molecules.
        scaffold: compare their Murcko scaffolds, rings and their links. Two molecules without a ring share the empty
            scaffold (similarity 1); one with and one without a ring have similarity 0.

    Returns:
        0 to 1.
    """
    chem = _rdkit()
    if scaffold:
        first, second = (chem.MurckoScaffold.GetScaffoldForMol(one) for one in (first, second))
        if not first.GetNumAtoms() or not second.GetNumAtoms():
            return float(first.GetNumAtoms() == second.GetNumAtoms())
    a, b = (_fingerprints().GetFingerprint(one) for one in (first, second))
    return float(chem.DataStructs.TanimotoSimilarity(a, b))


@functools.cache
def _fingerprints() -> Any:
    return _rdkit().rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=BITS)


@functools.cache
def _pattern(smarts: str) -> Any:
    chem = _rdkit()
    with chem.rdBase.BlockLogs():
        made = chem.Chem.MolFromSmarts(smarts)
    if made is None:
        raise InputError(f"{smarts!r} is neither a group of {', '.join(GROUPS)} nor a SMARTS")
    return made


class _Rdkit:
    """The used parts of rdkit."""

    def __init__(self) -> None:
        from rdkit import Chem, DataStructs, rdBase
        from rdkit.Chem import QED, Crippen, rdFingerprintGenerator
        from rdkit.Chem.Scaffolds import MurckoScaffold

        self.Chem, self.rdBase = Chem, rdBase
        self.Crippen, self.QED = Crippen, QED
        self.DataStructs, self.rdFingerprintGenerator = DataStructs, rdFingerprintGenerator
        self.MurckoScaffold = MurckoScaffold


@functools.cache
def _rdkit() -> _Rdkit:
    try:
        return _Rdkit()
    except ImportError as error:
        raise InputError('molecules are read with rdkit: pip install "handaxe[chem]"') from error
