"""Sides of a method's claims: the method, and the baseline of each claim."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.commands.sides import Side, side
from handaxe.core.errors import InputError
from handaxe.evaluation.claims import Claim
from handaxe.methods.run_spec import base_spec

__all__ = ["claim_sides"]


def claim_sides(name: str, of_runs: Sequence[str] = ()) -> tuple[Side, dict[Claim, Side]]:
    """The side of a method, and claim -> side of its baseline, for claims with a baseline that runs.

    The baseline of a claim is the base with equal settings, or the method and options that the claim names.

    Args:
        name: of the method.
        of_runs: options of `train` for every run.

    Raises:
        InputError: the method has no claims.
    """
    ours = side(name, of_runs)
    claims = ours.spec.template.page.claims
    if not claims:
        raise InputError(f"method {name} has no claims to replicate")
    baselines = {
        claim: side(claim.baseline, of_runs, like=ours) if claim.baseline else ours.of(base_spec(ours.spec))
        for claim in claims
        if not claim.alone
    }
    return ours, baselines
