"""Sides of a method's claims: the method, and the baseline of each claim."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.commands.sides import Side, side
from handaxe.core.errors import InputError
from handaxe.evaluation.claims import Claim
from handaxe.methods.run_spec import base_spec

__all__ = ["HELD_OUT", "claim_sides"]

HELD_OUT = 400
"""Held-out tasks of runs without evaluations during training; see docs/claims.md, Variance."""
SIZE = "held_out"


def claim_sides(name: str, of_runs: Sequence[str] = ()) -> tuple[Side, dict[Claim, Side]]:
    """The side of a method, and claim -> side of its baseline, for claims with a baseline that runs.

    The baseline of a claim is the base with equal settings, or the method and options that the claim names. Both sides
    are evaluated on `HELD_OUT` tasks, unless the page of the method, a file of --config or an option sets the number,
    or evaluations during training take the time.

    Args:
        name: of the method.
        of_runs: options of `train` for every run.

    Raises:
        InputError: the method has no claims.
    """
    ours = side(name, of_runs)
    chosen = SIZE in ours.spec.template.page.settings or any(_sets_size(word) for word in of_runs)
    if not chosen and not ours.spec.settings.eval_every:
        of_runs = [*of_runs, "--held-out", str(HELD_OUT)]
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


def _sets_size(word: str) -> bool:
    return word.partition("=")[0].replace("_", "-") in ("--held-out", "--config")
