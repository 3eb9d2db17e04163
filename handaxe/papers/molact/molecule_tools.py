"""Tools for molecules: SMILES validation, functional groups, properties."""

from __future__ import annotations

from typing import Annotated

from handaxe.core.errors import Retry
from handaxe.papers.molact.molecule import (
    GROUPS,
    LONGEST_SMILES,
    PROPERTIES,
    Molecule,
    canonical,
    compute_property,
    group_count,
    read_molecule,
)
from handaxe.tools.decorator import Tool, tool

__all__ = ["molecules"]


def molecules(*, cost: float = 0.0) -> list[Tool]:
    """Make the tools `valid(smiles)`, `count_groups(smiles)` and `property(smiles)`.

    The tools are stateless. An invalid SMILES, or one of more than 200 characters, gives status "retry".

    Args:
        cost: of one call.

    Returns:
        [valid, count_groups, property], for `tool_chat([molecules()])`.

    Raises:
        InputError: by a call, if rdkit is not installed (extra [chem]).

    Example:
        valid("OCC") is "CCO"; count_groups("OCCO") is "hydroxyl 2"; property("CCO") is "logp 0.00 qed 0.41"
    """

    @tool(timeout=None, cost=cost)
    def valid(smiles: Annotated[str, "a SMILES"]) -> str:
        """Check a SMILES, and read it in its canonical form."""
        return canonical(_read(smiles))

    @tool(timeout=None, cost=cost)
    def count_groups(smiles: Annotated[str, "a SMILES"]) -> str:
        """Count the functional groups of a molecule."""
        molecule = _read(smiles)
        counts = {group: group_count(molecule, group) for group in GROUPS}
        return ", ".join(f"{group} {count}" for group, count in counts.items() if count) or "none"

    @tool(name="property", timeout=None, cost=cost)
    def measured(smiles: Annotated[str, "a SMILES"]) -> str:
        """Read the logP and the drug-likeness (qed) of a molecule."""
        molecule = _read(smiles)
        return " ".join(f"{name} {round(compute_property(molecule, name), 2) + 0.0:.2f}" for name in PROPERTIES)

    return [valid, count_groups, measured]


def _read(smiles: str) -> Molecule:
    molecule = read_molecule(smiles)
    if molecule is None:
        why = f"it has {len(smiles)} characters, the limit is {LONGEST_SMILES}" if len(smiles) > LONGEST_SMILES else ""
        raise Retry(f"{smiles[:40]!r} is no molecule: {why or 'write a SMILES such as CCO'}")
    return molecule
