"""Runs the text of a reward program over the turns of a rollout, in the embedded sandbox."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError, Retry, VerifierError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.rewards.parts.checks import is_number
from handaxe.rewards.parts.turn_numbers import turn_numbers
from handaxe.tools.python import python

__all__ = ["LARGEST", "MOST_COMPONENTS", "program"]

Numbers = Sequence[Mapping[str, float]]
LARGEST = 1e6
"""Bound of the size of a total or component; beyond it a normalization over siblings loses precision."""
MOST_COMPONENTS = 16
NAME = re.compile(r"[A-Za-z_]\w{0,39}", re.ASCII)
MAX_REPLY = 200_000
"""Characters of the longest reply; a longer one is cut, and then no JSON."""
MEMORY = 32 * 2**20
CALL = """
import json as _json
_turns = _json.loads({numbers!r})
print(_json.dumps([compute_reward(before, after) for before, after in zip(_turns, _turns[1:])]))
"""


def program(
    *, text: str, numbers: Callable[[Trajectory], Numbers] = turn_numbers, seconds: float = 2.0, memory: int = MEMORY
) -> Reward:
    """Score rollouts by a program with a function `compute_reward(before, after) -> (total, components)`.

        R_i = sum_n total_i[n]        total_i[n], components_i[n] = compute_reward(x_i[n], x_i[n + 1])

    x_i[0] to x_i[N] are the numbers of rollout i before and after its N turns. Every rollout has a new session of
    `tools.python`: no file, no network, no package, no state of earlier rollouts, limits on time and memory. The text
    is never run or parsed outside.

    Args:
        text: of the program; may import math, json and re.
        numbers: rollout -> N + 1 mappings with equal names.
        seconds: of execution for a rollout, > 0.
        memory: bytes of a session, >= 1 MiB.

    Returns:
        A reward with outcome [G]; each component is a channel, summed over turns, 0 where a turn does not name it.

    Raises:
        VerifierError: in a call; the program fails, loops, prints, or returns anything but a total and at most 16 named
            components, all finite numbers up to 1e6 in size. It names the rollout, which stays unscored.
        InputError: the text is empty, or a limit is out of range.

    A rollout without turns has outcome 0 and no component.

    Example:
        total after["ok"] - before["ok"], with "ok" 0, 1, 1, 2 over three turns -> R = 1 + 0 + 1 = 2

    Kept: users train on programs that a model of their own wrote.
    Paper: arXiv:2310.12931 (Eureka), the reward of a step as total and dictionary of components.
    Differs: the paper runs one step of many environments at once, on tensors; here a turn of one rollout, on numbers.
    """
    if not isinstance(text, str) or not text.strip():
        raise InputError("the reward program is empty: give Python that defines compute_reward(before, after)")
    python(seconds=seconds, memory=memory)  # raises early for limits out of range

    def reward(group: Group) -> Scores:
        found = [_run(text, numbers(one), one, seconds, memory) for one in group]
        names = dict.fromkeys(name for _, parts in found for name in parts)
        channels = {name: np.array([parts.get(name, 0.0) for _, parts in found]) for name in names}
        return Scores(np.array([total for total, _ in found], dtype=np.float64), channels=channels)

    return reward


def _run(text: str, numbers: Numbers, one: Trajectory, seconds: float, memory: int) -> tuple[float, dict[str, float]]:
    """Total and components of a rollout, summed over turns."""
    turns = len(numbers) - 1
    session = python(seconds=seconds, memory=memory, max_chars=MAX_REPLY)
    code = f"{text}\n{CALL.format(numbers=json.dumps(numbers))}"
    try:
        reply = session(code)
        rows = json.loads(reply)
    except Retry as error:
        raise _failed(one, _last_line(str(error))) from error
    except (ValueError, RecursionError) as error:
        raise _failed(one, "it printed something, or returned a value that is no JSON") from error
    finally:
        session.owner.close()
    if not isinstance(rows, list) or len(rows) != turns:
        raise _failed(one, f"it gave no list of {turns} results, one a turn")
    total, parts = 0.0, dict[str, float]()
    for n, row in enumerate(rows):
        value, components = _checked(row, one, n)
        total += value
        for name, part in components.items():
            parts[name] = parts.get(name, 0.0) + part
    return total, parts


def _checked(row: Any, one: Trajectory, turn: int) -> tuple[float, dict[str, float]]:
    if not isinstance(row, list) or len(row) != 2 or not isinstance(row[1], dict):
        raise _failed(one, f"turn {turn} returned {row!r:.60}; return (total, components), with a dict of components")
    value, components = row
    if len(components) > MOST_COMPONENTS or not all(NAME.fullmatch(name) for name in components):
        raise _failed(
            one, f"turn {turn} has {len(components)} components; at most {MOST_COMPONENTS}, named as in Python"
        )
    for name, part in (("total", value), *components.items()):
        if not is_number(part) or abs(part) > LARGEST:
            raise _failed(
                one, f"turn {turn} has the {name} {part!r:.60}; return a finite number up to {LARGEST:g} in size"
            )
    return float(value), {name: float(part) for name, part in components.items()}


def _failed(one: Trajectory, why: str) -> VerifierError:
    return VerifierError(f"the reward program failed on rollout {one.id!r}: {why}", trajectory=one.id)


def _last_line(text: str) -> str:
    """Find the line of a traceback with the error's name."""
    lines = [
        line.strip() for line in text.splitlines() if re.match(r"[A-Za-z]\w*(Error|Exception|Exit|Interrupt)\b", line)
    ]
    return (lines[-1] if lines else text.strip().splitlines()[-1] if text.strip() else "no message")[:300]
