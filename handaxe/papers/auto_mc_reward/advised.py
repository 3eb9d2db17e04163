"""Author that follows the suggestion of the analyser."""

from collections.abc import Sequence

from handaxe.papers.auto_mc_reward.failure_causes import Cause, rank_causes
from handaxe.training.stages.parts.program_grammar import Component, program_text, read_program
from handaxe.training.stages.parts.program_search import Brief, Writer

__all__ = ["advised"]

WEIGHT = 3.0
"""Weight of a suggested component, the largest of the grammar."""


def advised(*, author: Writer) -> Writer:
    """Wrap an author: programs of the grammar get the first suggested component that the good program lacks.

        component of cause k = 3 sgn(change_k) (after[k] - before[k])

    Args:
        author: writes the programs. Programs of a language model stay unchanged: the model reads the text of the
            feedback.

    Returns:
        An author for `search_programs`; without causes in the feedback, the programs are the author's.

    Example:
        cause "door" with change -1, and a program with the component "ok_change"
        -> components "ok_change" and "door_change", -3 * (after["door"] - before["door"])

    Paper: arXiv:2312.09238 (Auto MC-Reward), the designer that reads the analyser's suggestion.
    Differs: the suggestion is a component of the grammar.
    """

    def write(brief: Brief, count: int, seed: int) -> Sequence[str]:
        texts = author(brief, count, seed)
        good = brief.feedback.good
        causes = [] if good is None else rank_causes(good.curves)
        known = set() if good is None else {one.name for one in read_program(good.text)}
        new = [one for one in map(_component, causes) if one.name not in known]
        return [_extended(text, new[0]) for text in texts] if new else texts

    return write


def _component(cause: Cause) -> Component:
    weight = WEIGHT if cause.change > 0 else -WEIGHT
    return Component(f"{cause.name[:30]}_change", weight, f'(after["{cause.name}"] - before["{cause.name}"])')


def _extended(text: str, new: Component) -> str:
    """Add a component to a program of the grammar, in place of one with its name."""
    parts = read_program(text)
    return program_text([*(one for one in parts if one.name != new.name), new]) if parts else text
