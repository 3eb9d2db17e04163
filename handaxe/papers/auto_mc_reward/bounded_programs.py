"""Author of programs whose total is a constant times a sign."""

from collections.abc import Sequence

from handaxe.papers.auto_mc_reward.sign_bounded import SIZE
from handaxe.training.stages.parts.program_search import Brief, Writer

__all__ = ["bound_program", "bounded_programs"]

BOUND = f"""

def compute_reward(before, after, dense=compute_reward):
    total, parts = dense(before, after)
    if total - total != 0:
        raise ValueError("the total is not finite")
    return {SIZE} * ((total > 0) - (total < 0)), parts
"""


def bounded_programs(*, author: Writer, bounded: bool = True) -> Writer:
    """Wrap an author: each program returns a constant times the sign of its total.

        total'[n] = 0.1 sgn(total[n])        of every turn n; components stay unchanged

    The author reads its good program without the bound.

    Args:
        author: writes the programs.
        bounded: False leaves the programs unchanged.

    Returns:
        An author for `search_programs`.

    Example:
        totals -3, 0.2, 0 of three turns -> -0.1, 0.1, 0

    Paper: arXiv:2312.09238 (Auto MC-Reward), the dense part of the reward.
    Differs: a total that is not finite fails.
    """
    if not bounded:
        return author

    def write(brief: Brief, count: int, seed: int) -> Sequence[str]:
        good = brief.feedback.good
        if good is not None:
            plain = good._replace(text=good.text.replace(BOUND, ""))
            brief = brief._replace(feedback=brief.feedback._replace(good=plain))
        return [bound_program(text) for text in author(brief, count, seed)]

    return write


def bound_program(text: str) -> str:
    """Append the sign to a program; a second time changes no total."""
    return text.rstrip("\n") + "\n" + BOUND
