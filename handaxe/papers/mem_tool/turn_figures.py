"""Figures of a conversation from its turns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.papers.mem_tool.memory_metrics import removal_ratio, residual_tools, window_ratio
from handaxe.papers.mem_tool.play_modes import PlayedTurn

__all__ = ["turn_figures"]


def turn_figures(played: Sequence[PlayedTurn]) -> dict[str, float]:
    """Compute the metrics of a conversation.

    Args:
        played: three turns or more.

    Returns:
        removal, windows and residual, see `memory_metrics`; held, mean of held tools; correct, correct calls over
        calls; complete, share of requests with all steps made.

    Example:
        added 3, 3, 3 and removed 0, 3, 3 of three turns with a correct call each -> removal 2/3, correct 1

    Paper: arXiv:2507.21428 (MemTool), its metrics.
    Differs: the generator's scorer decides completion, where the paper asks a judge.
    """
    added, removed = [one.added for one in played], [one.removed for one in played]
    held = [one.held for one in played]
    calls = sum(one.calls for one in played)
    return {
        "removal": removal_ratio(added, removed),
        "windows": window_ratio(added, removed),
        "residual": residual_tools(held),
        "held": float(np.mean(held)),
        "correct": sum(one.useful for one in played) / calls if calls else 0.0,
        "complete": float(np.mean([one.complete for one in played])),
    }
