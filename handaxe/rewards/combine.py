"""Combinators: several rewards into one, each component kept apart as a channel.

A component named "answer" leaves its outcome in channels["answer"], its own channels in channels["answer/..."], and
its per-turn values in turn_channels["answer"]. State of components is carried: save the combined reward, all is saved.

Example:
    answer (1, 0), format (1, 1)
    weighted({"answer": (1.0, answer), "format": (0.2, format)})      outcome (1.2, 0.2)
    product({"answer": answer, "format": format})                     outcome (1, 0)
    gate(on=answer, then=format)                                      outcome (1, 0)
Idea: channels stay apart until something combines them, so that a credit may also normalise each on its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.errors import InputError
from handaxe.ops.seeds import generator
from handaxe.records import Group, Scores
from handaxe.rewards.lift import checked, outcome_only
from handaxe.slots import Reward, Stateful

__all__ = ["gate", "product", "shuffled", "total", "weighted"]

Weight = float | Callable[[int], float]
Merge = Callable[[Group, dict[str, Scores]], Scores]


def weighted(components: Mapping[str, tuple[Weight, Reward]]) -> Reward:
    """Add rewards with weights, outcome to outcome and turn to turn.

        outcome_i  = sum_k w_k(step) * outcome_k,i
        turns_i[n] = sum_k w_k(step) * turns_k,i[n]        over the components that have turns

    Channels hold the components unweighted.

    Args:
        components: name -> (weight, reward). A weight may be a function of the training step, `group.step`.

    Returns:
        A reward; `turns` is None when no component has any.

    Raises:
        InputError: no component, or a weight that is not finite.
        VerifierError: a component's value that is not finite, naming component and trajectory.

    Example:
        answer (1, 0) with weight 1 and format (1, 1) with weight 0.2  ->  outcome (1.2, 0.2)
    """
    for name, (weight, _) in components.items():
        if not callable(weight) and not np.isfinite(weight):
            raise InputError(f"the weight of reward {name!r} is {weight}; give a finite number")

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        weights = {name: w(group.step) if callable(w) else w for name, (w, _) in components.items()}
        value = sum((weights[name] * part.outcome for name, part in parts.items()), np.zeros(len(group)))
        turned = [(weights[name], part.turns) for name, part in parts.items() if part.turns is not None]
        turns = None
        if turned:
            zeros = [np.zeros(len(one.turns)) for one in group]
            turns = tuple(sum((w * t[i] for w, t in turned), zero) for i, zero in enumerate(zeros))
        return Scores(value, turns=turns)

    return _Combined({name: reward for name, (_, reward) in components.items()}, merge)


def product(components: Mapping[str, Reward]) -> Reward:
    """Multiply outcomes, so that a trajectory which earns nothing of one component earns nothing at all.

        outcome_i = prod_k outcome_k,i

    Args:
        components: name -> reward without per-turn values.

    Raises:
        InputError: no component, or one with per-turn values (what a product of them means is not defined).

    Example:
        answer (1, 0), economy (0.5, 1)  ->  outcome (0.5, 0)
    """

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        value = np.ones(len(group))
        for name, part in parts.items():
            value = value * outcome_only(part, name).outcome
        return Scores(value)

    return _Combined(components, merge)


def gate(
    *, on: Reward, then: Reward, otherwise: Reward | None = None, above: float = 0.0, mark_eligible: bool = False
) -> Reward:
    """Let one reward through only where another is earned.

        open_i    = outcome_on,i > above
        outcome_i = outcome_then,i  where open_i,  else outcome_otherwise,i (0 without it);   turns alike

    Args:
        on: what decides; its own value is not part of the result.
        then: the reward of trajectories that pass.
        otherwise: the reward of those that do not.
        above: the gate opens strictly above this.
        mark_eligible: also set Scores.eligible to open_i, for credits that count only those in their statistics.

    Returns:
        A reward with the channels "on", "then" and "otherwise", each over all siblings.

    Example:
        on (1, 0, 1), then (0.3, 0.9, 0.5), otherwise (-1, -2, -3)  ->  outcome (0.3, -2, 0.5)
    """
    components = {"on": on, "then": then} | ({} if otherwise is None else {"otherwise": otherwise})

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        passed = outcome_only(parts["on"], "on").outcome > above
        yes, no = parts["then"], parts.get("otherwise", Scores(np.zeros(len(group))))
        turns = None
        if yes.turns is not None or no.turns is not None:
            chosen = [(yes if passed[i] else no).turns for i in range(len(group))]
            turns = tuple(
                np.zeros(len(one.turns)) if t is None else t[i] for i, (one, t) in enumerate(zip(group, chosen))
            )
        return Scores(
            np.where(passed, yes.outcome, no.outcome), turns=turns, eligible=passed if mark_eligible else None
        )

    return _Combined(components, merge)


def total(reward: Reward) -> Reward:
    """Add the per-turn rewards, once, into the outcome.

        outcome_i' = outcome_i + sum_n turns_i[n]        turns' = None

    Returns:
        A reward without per-turn values. Channels are kept; the values added stay readable as turn_channels["turns"].

    Example:
        outcome (1, 0), turns ((0.5, 0.25), ())  ->  outcome (1.75, 0)
    """

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        part = parts["total"]
        if part.turns is None:
            return part
        value = part.outcome + np.array([turn.sum() for turn in part.turns])
        return replace(part, outcome=value, turns=None, turn_channels={**part.turn_channels, "turns": part.turns})

    return _Combined({"total": reward}, merge, keep_apart=False)


def shuffled(reward: Reward, *, seed: int = 0) -> Reward:
    """Deal the outcomes of a group out to its attempts anew: a control in which the reward says nothing of an attempt.

        outcome'_i = outcome_p(i), p a permutation drawn from (seed, step, task); per-turn rewards are added in first

    Channels move along with the outcomes. What is still learned with it, the reward did not teach. The permutation is
    one of the attempts sorted by id, so that their order makes no difference.

    Example:
        outcomes of the attempts a, b, c are 1, 0, 0 and p = (1, 2, 0)  ->  0, 0, 1

    Idea: a permutation test; equal outcomes stay as they are, and a lone attempt keeps its own.
    """

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        part = parts["shuffled"]
        by_id = np.array(sorted(range(len(group)), key=lambda i: group[i].id))
        source = np.empty(len(group), dtype=np.int64)
        source[by_id] = by_id[generator("shuffled", seed, group.step, group.task.id).permutation(len(group))]
        channels = {name: values[source] for name, values in part.channels.items()}
        return Scores(part.outcome[source], channels=channels)

    return _Combined({"shuffled": total(reward)}, merge, keep_apart=False)


class _Combined:
    """Scores every component, merges what they say, and carries their state."""

    def __init__(self, components: Mapping[str, Reward], merge: Merge, *, keep_apart: bool = True):
        if not components:
            raise InputError("a combined reward needs at least one component")
        self._components = dict(components)
        self._merge = merge
        self._keep_apart = keep_apart

    def __call__(self, group: Group) -> Scores:
        parts = {name: checked(reward(group), group, name) for name, reward in self._components.items()}
        merged = checked(self._merge(group, parts), group, "+".join(parts))
        if not self._keep_apart:
            return merged
        channels: dict[str, np.ndarray] = {}
        turn_channels: dict[str, tuple[np.ndarray, ...]] = {}
        eligible = merged.eligible
        for name, part in parts.items():
            channels[name] = part.outcome
            channels |= {f"{name}/{inner}": value for inner, value in part.channels.items()}
            turn_channels |= {} if part.turns is None else {name: part.turns}
            turn_channels |= {f"{name}/{inner}": value for inner, value in part.turn_channels.items()}
            if part.eligible is not None:
                eligible = part.eligible if eligible is None else eligible & part.eligible
        return replace(merged, channels=channels, turn_channels=turn_channels, eligible=eligible)

    def state_dict(self) -> dict[str, Any]:
        return {name: part.state_dict() for name, part in self._stateful().items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, part in self._stateful().items():
            part.load_state_dict(state[name])

    def _stateful(self) -> dict[str, Stateful]:
        found: dict[str, Stateful] = {}
        for name, part in self._components.items():
            if isinstance(part, Stateful):
                found[name] = part
        return found
