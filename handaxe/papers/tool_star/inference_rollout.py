"""Rollout with the inference tools of Tool-Star."""

from __future__ import annotations

from handaxe.asking.desk import AskDesk
from handaxe.core.protocols import Rollout
from handaxe.papers.tool_star.chain_refiner import refined_chain
from handaxe.papers.tool_star.code_debugger import asked_debugger, code_debugger, reference_debugger
from handaxe.rollouts.resample_failed_turn import resample_failed_turn
from handaxe.worlds.world import World

__all__ = ["inference_rollout"]


def inference_rollout(
    world: World,
    *,
    max_turns: int,
    desk: AskDesk | None,
    debugger: bool = True,
    backtracer: bool = True,
    refiner: bool = True,
    retries: int = 2,
    back: int = 20,
) -> Rollout:
    """Make the strategy of the world with inference tools.

        debugger      a failed call is executed again with a corrected one
        backtracer    a turn whose call fails nevertheless is taken back and resampled
        refiner       a chain at its limit of turns loses redundant exchanges, and goes on

    Args:
        world: its reference calls are the corrections without a desk.
        max_turns: of a rollout.
        desk: asks a language model for corrections; None for the reference calls.
        debugger, backtracer, refiner: use the tool.
        retries, back: see `resample_failed_turn`.

    Returns:
        The world's own strategy if all are off.

    Raises:
        InputError: a number out of range; a debugger without a desk in a world without reference calls.

    Example:
        call "12*" of the task 12*34: executed as "12*34", without a resample

    Paper: arXiv:2505.16410 (Tool-Star), tools at inference.
    Unconfirmed: the order of the tools, retries and back.
    Differs: with the refiner alone, turns follow each other as in `linear`, whatever the strategy of the world.
    """
    rollout = world.make_rollout(max_turns)
    limits = refined_chain(max_turns=max_turns) if refiner else max_turns
    if backtracer or refiner:
        rollout = resample_failed_turn(retries=retries if backtracer else 0, back=back, max_turns=limits)
    if debugger:
        debug = reference_debugger(world.need("reference")) if desk is None else asked_debugger(desk)
        rollout = code_debugger(rollout=rollout, debug=debug)
    return rollout
