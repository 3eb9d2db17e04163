"""Where a recipe comes from."""

from dataclasses import dataclass

__all__ = ["Paper"]


@dataclass(frozen=True)
class Paper:
    """Where a recipe comes from.

    Args:
        title: the paper's title.
        short: the name people use, such as "OTC".
        arxiv: the arXiv id such as "2504.14870", or "" for what was published elsewhere or not at all.
        number: its number in the project's list of papers; None for a base algorithm.
    """

    title: str
    short: str
    arxiv: str = ""
    number: int | None = None
