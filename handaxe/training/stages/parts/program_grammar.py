"""Author of reward programs without a language model: a grammar, and changes of a program by the curves."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from handaxe.training.stages.parts.program_search import TASK, Brief, ProgramTrial, Writer

__all__ = [
    "Component",
    "change_program",
    "grammar",
    "program_text",
    "read_program",
    "repair_program",
]

TERMS: Mapping[str, str] = {
    "change": '(after["{k}"] - before["{k}"])',
    "gain": 'max(0.0, after["{k}"] - before["{k}"])',
    "level": 'after["{k}"]',
    "near": 'math.exp(-abs(after["{k}"] - before["{k}"]) / 0.5)',
    "growth": '(after["{k}"] / before["{k}"])',
}
"""Terms of a number k. `near` has the paper's exponential with a temperature; `growth` fails where the number was 0."""
CHANCES = (4, 2, 1, 1, 1)
WEIGHTS = (-3.0, -1.0, -0.3, -0.1, 0.1, 0.3, 1.0, 3.0)
MOST = 3
"""Components of a new program."""
NO_SUCCESS = 0.02
FLAT = 0.01
DOMINANT = 10.0
TRIES = 50
LINE = re.compile(r'^        "(\w+)": (-?[\d.e+-]+) \* (.+),$', re.MULTILINE)


class Component(NamedTuple):
    """Component of a program: name, weight and term."""

    name: str
    weight: float
    term: str


def grammar() -> Writer:
    """Make an author: random programs first, later changes of the good program of the feedback.

    A program is a sum of up to 3 components, weight times term of one number. Changes follow the tips that Eureka gives
    to its language model, in this order:

        maximum of the task's curve below 0.02       -> a new program
        a component with a constant curve            -> another component instead
        a component 10 times as large as all others  -> a tenth of its weight
        otherwise, and without curves of components  -> a random change of one component

    The first program of a round follows the first tip that fits; further programs add random changes. No two programs
    of a round are equal. Programs avoid a component that the bad program of the feedback has, with the same sign, and
    the good one lacks, as long as half of the tries suffice.

    Returns:
        An author for `search_programs`.

    Example:
        names ("failed", "ok") -> components such as "failed_change": -1 * (after["failed"] - before["failed"])

    Idea: the stand-in for a language model reads the same curves, so that searches with and without them differ.
    """

    def write(brief: Brief, count: int, seed: int) -> list[str]:
        rng, out = random.Random(seed), list[str]()
        good, bad = brief.feedback.good, brief.feedback.bad
        avoided = set() if good is None or bad is None else _signs(bad.text) - _signs(good.text)
        for attempt in range(count * TRIES):
            made = _new(brief.names, rng) if good is None else change_program(good, brief.names, rng, further=len(out))
            text = program_text(made)
            avoids = attempt > count * TRIES // 2 or not avoided & _signs(text)
            if avoids and text not in out and (good is None or text != good.text):
                out.append(text)
            if len(out) == count:
                break
        return out

    return write


def change_program(good: ProgramTrial, names: Sequence[str], rng: random.Random, *, further: int) -> list[Component]:
    """Change a program by the curves, then `further` times at random, at most twice."""
    parts = read_program(good.text)
    if not parts or max(good.curves.get(TASK, (1.0,))) < NO_SUCCESS:
        return _new(names, rng)
    means = {one.name: _mean(good.curves.get(f"component/{one.name}", ())) for one in parts}
    flat = [k for k, one in enumerate(parts) if _is_flat(good.curves.get(f"component/{one.name}", ()))]
    heavy = [k for k, one in enumerate(parts) if len(parts) > 1 and _dominates(one.name, means)]
    if flat:
        parts[rng.choice(flat)] = _component(names, rng)
    elif heavy:
        parts[heavy[0]] = parts[heavy[0]]._replace(weight=parts[heavy[0]].weight / DOMINANT)
    else:
        parts = _random_change(parts, names, rng)
    for _ in range(min(further, 2)):
        parts = _random_change(parts, names, rng)
    return _distinct(parts)


def repair_program(text: str, brief: Brief, seed: int) -> str:
    """Replace components with a failure of their own; a program of another author becomes a new program.

    Args:
        text: program that failed.
        brief: with `check`, which runs a text.
        seed: of the new components.
    """
    rng, out = random.Random(seed), list[Component]()
    for one in read_program(text):
        fails = bool(brief.check(program_text([one])))
        out.append(_component(brief.names, rng) if fails else one)
    return program_text(_distinct(out) or _new(brief.names, rng))


def program_text(parts: Sequence[Component]) -> str:
    """The text of a program."""
    lines = [f'        "{one.name}": {one.weight:g} * {one.term},' for one in parts]
    head = "import math\n\n\ndef compute_reward(before, after):\n    parts = {"
    return "\n".join([head, *lines, "    }", "    return sum(parts.values()), parts", ""])


def read_program(text: str) -> list[Component]:
    """Inverse of `program_text`; [] for a program of another author."""
    return [Component(name, float(weight), term) for name, weight, term in LINE.findall(text)]


def _signs(text: str) -> set[tuple[str, bool]]:
    """Name and sign of each component."""
    return {(one.name, one.weight > 0) for one in read_program(text)}


def _new(names: Sequence[str], rng: random.Random) -> list[Component]:
    return _distinct([_component(names, rng) for _ in range(rng.randint(1, MOST))])


def _component(names: Sequence[str], rng: random.Random) -> Component:
    name, (kind,) = rng.choice(list(names)), rng.choices(list(TERMS), CHANCES)
    return Component(f"{name[:30]}_{kind}", rng.choice(WEIGHTS), TERMS[kind].format(k=name))


def _random_change(parts: Sequence[Component], names: Sequence[str], rng: random.Random) -> list[Component]:
    """Scale, turn around, replace, add or drop a component."""
    k, out = rng.randrange(len(parts)), list(parts)
    change = rng.choice(("scale", "sign", "replace", "add", "drop"))
    if change == "add" or (change == "drop" and len(out) == 1):
        out.append(_component(names, rng))
    elif change == "drop":
        del out[k]
    elif change == "replace":
        out[k] = _component(names, rng)
    else:
        out[k] = out[k]._replace(weight=out[k].weight * (-1.0 if change == "sign" else rng.choice((0.3, 3.0))))
    return _distinct(out)


def _distinct(parts: Sequence[Component]) -> list[Component]:
    """The last component of each name."""
    return list({one.name: one for one in parts}.values())


def _mean(curve: Sequence[float]) -> float:
    return sum(curve) / len(curve) if curve else 0.0


def _is_flat(curve: Sequence[float]) -> bool:
    """True if a curve of two values or more varies by a hundredth of the size at most."""
    return len(curve) > 1 and max(curve) - min(curve) <= FLAT * max(map(abs, curve))


def _dominates(name: str, means: Mapping[str, float]) -> bool:
    others = sum(abs(value) for other, value in means.items() if other != name)
    return abs(means[name]) > DOMINANT * others > 0
