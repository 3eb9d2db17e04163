"""Study: accuracy of a reward model on preference pairs, with tools, without tools, and with random tool results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.evaluation.preference_rows import answer_rollout
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.themis.tool_judge import ToolJudge, tool_judge
from handaxe.papers.themis.tool_pairs import DOMAINS, PAIR_TOOLS, PreferencePair, tool_pairs
from handaxe.tools.decorator import Tool
from handaxe.tools.noisy import noisy
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import Split

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
    from handaxe.models import load as loading
else:
    local = DeferredModule("handaxe.engines.local.engine")
    loading = DeferredModule("handaxe.models.load")

__all__ = ["themis_tools"]

QUERIES = 64
"""Calls of training pairs that random results answer, for each tool."""


def themis_tools(*, pairs: int = 1600, held_out: int = 240, epochs: int = 2) -> StudyFunction:
    """Fit reward models with and without tools on the same pairs, and measure both on held-out problems.

    Both start from the shipped policy of 0.85M parameters and take the same number of optimizer steps.

    Figures:
        accuracy/ARM              share of pairs with the higher score for the right answer; a conversation of the judge
                                  without an end counts as wrong. ARM is tools, plain (no tools), or random: the judge
                                  with tools, whose tools answer another call
        accuracy/ARM/DOMAIN       the same in one domain, see `tool_pairs`
        gain/plain, gain/random   accuracy with tools less that of the other arm, with /low and /high of the 95 %
                                  interval over pairs
        gain/plain/DOMAIN         the same in one domain
        random/plain              accuracy with random results less that without tools, with the interval
        calls, reference          calls of a conversation with tools; share of conversations with the reference calls

    Args:
        pairs: for training.
        held_out: for the measurement.
        epochs: passes over the training pairs.

    Example:
        tools right on 3 of 4 pairs, plain on 2 of 4  ->  gain/plain 0.25

    Paper: arXiv:2310.01045 (Themis), pairwise accuracy with and without tools.
    Differs: tiny models, and problems by rule.
    """

    def measure(seed: int) -> dict[str, float]:
        train, test = _rows("train", pairs, seed), _rows("test", held_out, seed)
        policy = loading.load("tiny")
        engine = local.LocalEngine(policy.model)
        offered: dict[str, Sequence[Tool]] = {"tools": PAIR_TOOLS, "plain": ()}
        judges = dict[str, ToolJudge]()
        for name, tools in offered.items():
            judges[name] = tool_judge(tools=tools, calls=reference_calls, epochs=epochs)
            judges[name].bind(engine, policy.format)
            judges[name].fit([(one.group, Scores(np.array([1.0, 0.0]))) for one in train])
        arms: dict[str, tuple[ToolJudge, EnvFactory | None]] = {
            "tools": (judges["tools"], None),
            "plain": (judges["plain"], None),
            "random": (judges["tools"], _random_tools(train)),
        }
        found = {name: _judged(judge, test, env) for name, (judge, env) in arms.items()}
        return _figures({name: one.right for name, one in found.items()}, test) | _call_figures(found["tools"], test)

    return measure


class _Row(NamedTuple):
    pair: PreferencePair
    group: Group

    @property
    def domain(self) -> str:
        return str(self.pair.task.metadata["domain"])


class _Judged(NamedTuple):
    """Pairs in the right order [P], and conversations about both answers of each pair."""

    right: np.ndarray
    conversations: Sequence[Trajectory]


def _rows(split: Split, count: int, seed: int) -> list[_Row]:
    made = tool_pairs(split=split, count=count, seed=seed)
    return [_Row(one, Group(one.task, tuple(_rollouts(one)))) for one in made]


def _rollouts(one: PreferencePair) -> list[Trajectory]:
    return [answer_rollout(one.task, text, k) for k, text in enumerate((one.chosen, one.rejected))]


def _random_tools(train: Sequence[_Row]) -> EnvFactory:
    """The same tools, with results of a call of another problem."""
    calls = [call for row in train for call in reference_calls(row.pair.task)]
    queries = {
        one.schema.name: [dict(call.arguments) for call in calls if call.name == one.schema.name][:QUERIES]
        for one in PAIR_TOOLS
    }
    return tool_chat([noisy(one, chance=1.0, queries=queries[one.schema.name]) for one in PAIR_TOOLS])


def _judged(judge: ToolJudge, rows: Sequence[_Row], env: EnvFactory | None) -> _Judged:
    flat = tuple(one for row in rows for one in row.group)
    found = judge.conversations(Group(flat[0].task, flat), env=env)
    score_P2 = judge.score_conversations(found).reshape(-1, 2)
    ended_P2 = np.array([one.ending.kind == "completed" for one in found]).reshape(-1, 2)
    return _Judged((score_P2[:, 0] > score_P2[:, 1]) & ended_P2.all(1), found)


def _figures(right: dict[str, np.ndarray], rows: Sequence[_Row]) -> dict[str, float]:
    domain_P = np.array([row.domain for row in rows])
    figures = {f"accuracy/{arm}": float(own_P.mean()) for arm, own_P in right.items()}
    for domain in DOMAINS:
        own_P = domain_P == domain
        figures |= {f"accuracy/{arm}/{domain}": float(one_P[own_P].mean()) for arm, one_P in right.items()}
        gain = right["tools"][own_P].astype(float) - right["plain"][own_P]
        figures |= interval_figures(f"gain/plain/{domain}", gain)
    number = {arm: own_P.astype(np.float64) for arm, own_P in right.items()}
    figures |= interval_figures("gain/plain", number["tools"] - number["plain"])
    figures |= interval_figures("gain/random", number["tools"] - number["random"])
    return figures | interval_figures("random/plain", number["random"] - number["plain"])


def _call_figures(found: _Judged, rows: Sequence[_Row]) -> dict[str, float]:
    wanted = [reference_calls(row.pair.task) for row in rows for _ in range(2)]
    made = [[(call.name, dict(call.arguments)) for call in one.calls] for one in found.conversations]
    same = [own == [(call.name, dict(call.arguments)) for call in gold] for own, gold in zip(made, wanted, strict=True)]
    return {"calls": float(np.mean([len(own) for own in made])), "reference": float(np.mean(same))}
