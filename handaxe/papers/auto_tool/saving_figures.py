"""Accuracy and saved calls of streams with a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from handaxe.ops.stats import interval_figures
from handaxe.papers.auto_tool.graph_stream import StreamRun

__all__ = ["saving_figures"]


def saving_figures(runs: Sequence[Mapping[str, StreamRun]]) -> dict[str, float]:
    """Compute means over seeds, and paired differences of auto_tool and the other arms.

    Args:
        runs: arm -> run, of each seed.

    Returns:
        The figures of `auto_tool`.

    Example:
        10 and 10 calls of the policy, 9 and 7 of auto_tool -> fewer_calls 0.2, late/fewer_calls 0.3

    Paper: arXiv:2511.14650 (AutoTool), reduction of calls to the language model at equal success.
    Differs: nothing known.
    """
    figures = dict[str, float]()
    for name in runs[0]:
        own = [run[name] for run in runs]
        inertial = float(sum(run.inertial_T.sum() for run in own))
        calls = float(sum(run.calls_T.sum() for run in own))
        figures |= {
            name: float(np.mean([run.right_T.mean() for run in own])),
            f"{name}/calls": float(np.mean([run.calls_T.mean() for run in own])),
            f"{name}/tokens": float(np.mean([run.tokens_T.mean() for run in own])),
            f"{name}/inertial": inertial / (inertial + calls),
        }
        if inertial:
            figures[f"{name}/exact"] = float(sum(run.exact_T.sum() for run in own)) / inertial
    for name in [one for one in runs[0] if one != "auto_tool"]:
        gain_S = [run["auto_tool"].right_T.mean() - run[name].right_T.mean() for run in runs]
        figures |= interval_figures(f"gain/{name}", gain_S)
    half = len(runs[0]["policy"].calls_T) // 2
    for name, part in (("fewer_calls", slice(None)), ("late/fewer_calls", slice(half, None))):
        saved = [1 - run["auto_tool"].calls_T[part].mean() / run["policy"].calls_T[part].mean() for run in runs]
        figures |= interval_figures(name, saved)
    fewer = [1 - run["auto_tool"].tokens_T.mean() / run["policy"].tokens_T.mean() for run in runs]
    return figures | interval_figures("fewer_tokens", fewer)
