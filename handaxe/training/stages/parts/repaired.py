"""Author of programs checked before training: errors return until the program runs."""

from collections.abc import Callable

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed
from handaxe.training.stages.parts.program_search import Brief, Writer

__all__ = ["repaired"]

Repair = Callable[[str, Brief, int], str]
"""(program that failed, brief, seed) -> another program."""


def repaired(*, author: Writer, repair: Repair, repairs: int = 3) -> Writer:
    """Wrap an author: run each program on rollouts of the start, and let errors be repaired.

        p_0 = the author's program,  p_j+1 = repair(p_j) while check(p_j) names an error and j < repairs

    Args:
        author: writes the programs.
        repair: writes another program in place of one that failed.
        repairs: most repairs of a program, >= 0.

    Returns:
        An author for `search_programs`. A program that still fails after the last repair stays as it is.

    Raises:
        InputError: `repairs` is negative.

    Example:
        programs a, b; b fails, repaired to c, which fails, and to d, which runs -> a, d with 2 repairs, a, c with 1

    Paper: arXiv:2309.11489 (Text2Reward), the reduction of errors by code execution.
    Differs: the program runs on rollouts of the policy before training, not on a simulator's steps.
    """
    if repairs < 0:
        raise InputError(f"repairs is {repairs}; give 0 or more")

    def write(brief: Brief, count: int, seed: int) -> list[str]:
        out = list(author(brief, count, seed))
        for k, text in enumerate(out):
            for j in range(repairs):
                if not brief.check(text):
                    break
                text = repair(text, brief, derive_seed(seed, "repair", k, j))
            out[k] = text
        return out

    return write
