"""SimpleTIR (arXiv:2509.02479): end a rollout at an empty turn, and mask rollouts with one."""

from handaxe import losses, selection
from handaxe.methods.method import Method, replace
from handaxe.papers.simpletir.stop_on_empty_turn import stop_on_empty_turn

__all__ = ["simpletir"]


def simpletir(base: Method, *, train_empty_turns: bool = False) -> Method:
    """Stop at a turn with neither call nor answer, and leave such rollouts out of the loss.

    Args:
        train_empty_turns: train on these rollouts, too, the comparison of the paper.
    """
    is_answer = base.world.need("is_answer")
    mask = selection.mask_empty_turns(answer=is_answer, keep=train_empty_turns)
    return replace(
        base,
        rollout=stop_on_empty_turn(answer=is_answer, max_turns=base.settings.max_turns),
        surrogate=losses.surrogates.dual_clip(eps_high=0.28),
        select=selection.pipe(base.select, mask),
    )
