"""Yunjue Agent (arXiv:2601.18226): a tool library that starts empty and evolves over batches of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import NamedTuple

import numpy as np

from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.yunjue.evolve import Absorb, Evolution, keep_all, keep_none, keep_one, merge_universal
from handaxe.papers.yunjue.generality_loss import generality_loss
from handaxe.tools.building_blocks import GRID_BLOCKS, LIST_BLOCKS
from handaxe.tools.program_search import ProgramMaker
from handaxe.worlds.parts.rule_tasks import RuleTask, is_correct, rule_tasks

__all__ = ["yunjue"]

POLICIES: dict[str, Absorb] = {"universal": merge_universal, "one": keep_one, "all": keep_all, "none": keep_none}
"""Absorption -> function: universal tools; one tool of equal ones; all tools; none, an agent without a library."""
FIRST, NEAR = "move_.pix_solid|gravity_|change", "move_.pix_colorful"
"""Rules of arc_1d: of the first domain, and of the near one."""
COLORS = (1, 2, 3, 4, 5)


class Played(NamedTuple):
    """Results of a stream: correct, reused and created by task [T], new public tools by batch [B], and tools at the
    end."""

    correct: np.ndarray
    reused: np.ndarray
    created: np.ndarray
    new: np.ndarray
    tools: int


def yunjue(*, seeds: int = 5, tasks: int = 64, second: int = 32, batch: int = 16, most: int = 4000) -> StudyFunction:
    """Evolve libraries over streams of `arc_1d` tasks, and continue with a near and a far domain, warm and cold.

    The near domain has rows with blocks of several colors, the far one the lists of `list_functions`. The split is
    train: nothing is trained, and no agent reads an answer.

    Figures:
        POLICY/accuracy, POLICY/reuse, POLICY/tools     share of tasks correct, and solved by a public tool; tools at
                                                        the end; mean over seeds
        POLICY/egl_first, POLICY/egl_second             new public tools per 1000 tasks, in the halves of the stream
        fall/egl, .../low, .../high                     first less second of universal, mean over seeds with 95 %
                                                        interval
        gain/accuracy                                   likewise: universal less none
        fewer/POLICY                                    likewise: tools of one or all less those of universal
        kept/POLICY                                     likewise: accuracy of universal less that of one or all
        DOMAIN/warm, DOMAIN/cold, warm/DOMAIN           tools created per 100 tasks of the near or the far domain, with
                                                        the library of the first domain and without; likewise: cold
                                                        less warm
        DOMAIN/accuracy_warm, DOMAIN/accuracy_cold      share of tasks correct

    Args:
        seeds: streams.
        tasks: of the first domain.
        second: tasks of the near and of the far domain.
        batch: tasks that do not see the tools of each other.
        most: programs that the maker evaluates for a ticket.
    """

    def measure(seed: int) -> dict[str, float]:
        found: dict[str, list[Played]] = {name: [] for name in POLICIES}
        later: dict[tuple[str, str], list[Played]] = {
            (domain, start): [] for domain in ("near", "far") for start in ("warm", "cold")
        }
        for number in range(seed, seed + seeds):
            first = rule_tasks("arc_1d", count=tasks, seed=number, rules=FIRST)
            streams = {
                "near": rule_tasks("arc_1d", count=second, seed=number, rules=NEAR),
                "far": rule_tasks("list_functions", count=second, seed=number),
            }
            evolved = {name: _evolution(absorb, most) for name, absorb in POLICIES.items()}
            for name, evolution in evolved.items():
                found[name].append(_play(evolution, first, batch))
            for (domain, start), played in later.items():
                library = deepcopy(evolved["universal"]) if start == "warm" else _evolution(merge_universal, most)
                played.append(_play(library, streams[domain], batch))
        return _first_figures(found) | _later_figures(later)

    return measure


def _evolution(absorb: Absorb, most: int) -> Evolution:
    makers = {
        "arc_1d": ProgramMaker(GRID_BLOCKS, most=most, constants=COLORS),
        "list_functions": ProgramMaker(LIST_BLOCKS, most=most),
    }
    return Evolution(makers, absorb, values=COLORS)


def _play(evolution: Evolution, stream: Sequence[RuleTask], batch: int) -> Played:
    rows, new = list[tuple[bool, bool, bool]](), list[int]()
    for start in range(0, len(stream), batch):
        own = stream[start : start + batch]
        results, added = evolution.play(own)
        new.append(added)
        rows += [
            (is_correct(one, result.value), result.reused, result.created)
            for one, result in zip(own, results, strict=True)
        ]
    correct, reused, created = np.array(rows, np.float64).T
    return Played(correct, reused, created, np.array(new, np.float64), len(evolution.public.entries))


def _losses(one: Played) -> tuple[float, float]:
    """New public tools per 1000 tasks in the halves of a stream of equal batches."""
    created_T = np.repeat(one.new / (len(one.correct) / len(one.new)), len(one.correct) // len(one.new))
    first, second, *_ = generality_loss(created_T, window=-(-len(created_T) // 2))
    return float(first), float(second)


def _first_figures(found: dict[str, list[Played]]) -> dict[str, float]:
    figures, loss_SP = (
        dict[str, float](),
        {name: np.array([_losses(one) for one in own]) for name, own in found.items()},
    )
    accuracy = {name: np.array([one.correct.mean() for one in own]) for name, own in found.items()}
    tools = {name: np.array([one.tools for one in own], np.float64) for name, own in found.items()}
    for name, own in found.items():
        figures |= {
            f"{name}/accuracy": float(accuracy[name].mean()),
            f"{name}/reuse": float(np.mean([one.reused.mean() for one in own])),
            f"{name}/tools": float(tools[name].mean()),
            f"{name}/egl_first": float(loss_SP[name][:, 0].mean()),
            f"{name}/egl_second": float(loss_SP[name][:, 1].mean()),
        }
    figures |= interval_figures("fall/egl", loss_SP["universal"][:, 0] - loss_SP["universal"][:, 1])
    figures |= interval_figures("gain/accuracy", accuracy["universal"] - accuracy["none"])
    for name in ("one", "all"):
        figures |= interval_figures(f"fewer/{name}", tools[name] - tools["universal"])
        figures |= interval_figures(f"kept/{name}", accuracy["universal"] - accuracy[name])
    return figures


def _later_figures(later: dict[tuple[str, str], list[Played]]) -> dict[str, float]:
    figures = dict[str, float]()
    created = {key: np.array([100 * one.created.mean() for one in own]) for key, own in later.items()}
    for (domain, start), own in later.items():
        figures[f"{domain}/{start}"] = float(created[domain, start].mean())
        figures[f"{domain}/accuracy_{start}"] = float(np.mean([one.correct.mean() for one in own]))
    for domain in ("near", "far"):
        figures |= interval_figures(f"warm/{domain}", created[domain, "cold"] - created[domain, "warm"])
    return figures
