"""SimpleTIR: an attempt ends at a void turn, and attempts with one are left out of the loss."""

from handaxe.losses.surrogates.dual_clip import dual_clip
from handaxe.methods.method import Method, replace
from handaxe.papers.simpletir.stop_on_empty_turn import stop_on_empty_turn
from handaxe.selection.mask_empty_turns import mask_empty_turns
from handaxe.selection.pipe import pipe

__all__ = ["simpletir"]


def simpletir(base: Method, *, keep: bool = False) -> Method:
    """End at a turn with neither call nor answer, and train without the tokens of attempts that hold one.

    Args:
        keep: train on those attempts all the same, to compare with.
    """
    answered = base.world.need("answered")
    rollout = stop_on_empty_turn(answer=answered, max_turns=base.settings.max_turns)
    kept = pipe(base.select, mask_empty_turns(answer=answered, keep=keep))
    return replace(base, rollout=rollout, surrogate=dual_clip(eps_high=0.28), select=kept)
