"""Dr. BoT: Dr. GRPO with a higher clip, without cut or repetitive attempts, on the groups that differ the most."""

from handaxe.losses.surrogates.dual_clip import dual_clip
from handaxe.methods.method import Method, replace
from handaxe.selection.keep_varied import keep_varied
from handaxe.selection.mask_overlong import mask_overlong
from handaxe.selection.mask_repetitive import mask_repetitive
from handaxe.selection.pipe import pipe

__all__ = ["dr_bot"]


def dr_bot(base: Method, *, eps_high: float = 0.28, cap: float = 10.0, share: float = 0.75) -> Method:
    """Train as SPEAR's base algorithm does.

    Args:
        eps_high: upper clip; 0.28 in the paper.
        cap: of the ratio where the advantage is negative; 10 in the paper.
        share: of the groups, those of the largest spread of rewards; 0.75 in the paper.
    """
    masks = (mask_overlong(reasons=("length", "turns", "budget")), mask_repetitive())
    select = pipe(base.select, *masks, keep_varied(share=share))
    return replace(base, surrogate=dual_clip(eps_high=eps_high, cap=cap), select=select)
