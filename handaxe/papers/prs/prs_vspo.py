"""VSPO: groups that teach much come again in the place of those that teach nothing, each time a little less."""

from handaxe.methods.method import Method, replace
from handaxe.papers.prs.refill_by_value import refill_by_value
from handaxe.selection.pipe import pipe

__all__ = ["prs_vspo"]


def prs_vspo(base: Method, *, damping: float = 0.5, even: bool = False) -> Method:
    """Train on PRS, with groups of equal rewards dropped and others copied into their places.

    The claims against other options are the paper's ablation of four cells, value or chance by damped or not.

    Args:
        damping: of a copy against the one before it; unconfirmed. 1 leaves copies as they are.
        even: draw what is copied evenly.
    """
    return replace(base, select=pipe(base.select, refill_by_value(damping=damping, even=even)))
