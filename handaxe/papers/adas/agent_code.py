"""Agents in code: a design, the Python function that it is written as, and its accuracy in the sandbox."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from handaxe.tools.draft_runner import run_draft
from handaxe.worlds.parts.rule_tasks import RuleTask, is_correct

__all__ = ["AgentDesign", "AgentResult", "CHOICES", "evaluate", "write_agent"]

PARTS = Path(__file__).with_name("agent_parts.py")
SECONDS = 60.0
"""For the tasks of a request, which take milliseconds: only an agent that hangs meets the limit."""
CHUNK = 8
"""Tasks of a request."""
CODE = '''

def forward(examples, query, seed):
    """An agent: proposals, refinements and a choice."""
    parts = AgentParts(seed)
    shown = examples[:{shown}]
    steps = parts.step_back(examples) if {step_back} else parts.steps
    pool = []
    for role in parts.roles if {roles} else [steps]:
        own = [one for one in role if one in steps]
        if not own:
            continue
        for _ in range({restarts}):
            drafts = [parts.propose({length}, own) for _ in range({samples})]
            values = [parts.marks(one, shown) for one in drafts] if {samples} > 1 or {refinements} else [0.0]
            value = max(values)
            best = drafts[values.index(value)]
            for _ in range({refinements}):
                if value == 1.0:
                    break
                other = parts.improve(best, {length}, own)
                found = parts.marks(other, shown)
                if found >= value:
                    best, value = other, found
            pool.append((value, best))
        if {stop} and max([value for value, _ in pool]) == 1.0:
            break
    if {vote}:
        return parts.most_common([parts.run(one, query) for _, one in pool])
    return parts.run(max(pool, key=lambda one: one[0])[1], query)
'''


class AgentDesign(NamedTuple):
    """Parameters of an agent's code.

    samples      drafts, of which the best is kept
    refinements  changes of a draft that are kept if they fit no worse
    restarts     drafts in the pool of the choice
    length       most steps of a program
    shown        examples that a draft is marked on
    step_back    exclude operations by the examples first
    roles        a pool for each family of operations
    vote         choose the most common answer, else the best draft
    stop         leave out the other roles after a draft that fits

    Example:
        AgentDesign(restarts=16, vote=True): the most common answer of 16 drafts, which is self-consistency

    Idea: agents drawn from a grammar always parse.
    """

    samples: int = 1
    refinements: int = 0
    restarts: int = 1
    length: int = 2
    shown: int = 3
    step_back: bool = False
    roles: bool = False
    vote: bool = False
    stop: bool = False


CHOICES: dict[str, tuple[int | bool, ...]] = {
    "samples": (1, 2, 4, 8, 16, 32),
    "refinements": (0, 2, 4, 8, 16, 32),
    "restarts": (1, 2, 4, 8, 16),
    "length": (1, 2, 3),
    "shown": (1, 2, 3),
    "step_back": (False, True),
    "roles": (False, True),
    "vote": (False, True),
    "stop": (False, True),
}
"""Values of each parameter."""


class AgentResult(NamedTuple):
    """Result on tasks: correct_T, 0 or 1, and the first error, "" for none.

    Example:
        four tasks, and code without a closing parenthesis -> correct_T 0 0 0 0 and error "SyntaxError: ..."
    """

    correct_T: np.ndarray
    error: str


def write_agent(design: AgentDesign) -> str:
    """Write the Python of an agent: its parts, and the function forward(examples, query, seed).

    Example:
        the code of AgentDesign(samples=4) draws four programs, and runs the best of them on the query

    Paper: arXiv:2408.08435 (ADAS), agents as code with a function `forward`.
    Differs: the code is a fixed text with the numbers of a design; the paper's meta agent writes free code.
    """
    return _parts() + CODE.format(**design._asdict())


def evaluate(code: str, tasks: Sequence[RuleTask], *, seed: int) -> AgentResult:
    """Run an agent's code on tasks in the sandbox; a task with an error is wrong.

    Args:
        code: untrusted Python with forward(examples, query, seed).
        tasks: with worked examples.
        seed: of the agent's random numbers; task k has seed + k.

    Returns:
        Correct answers by the generator's scorer.

    Example:
        "def forward(examples, query, seed): return query" on tasks that change the query -> correct_T 0, error ""

    Paper: arXiv:2408.08435 (ADAS), evaluation of an agent on validation tasks.
    Differs: the library's embedded sandbox runs the code.
    """
    calls = [
        {
            "examples": [[case.arguments["xs"], case.expected] for case in one.examples],
            "query": one.query["xs"],
            "seed": seed + number,
        }
        for number, one in enumerate(tasks)
    ]
    chunks = [calls[start : start + CHUNK] for start in range(0, len(calls), CHUNK)]
    results = [one for chunk in chunks for one in run_draft(code, "forward", chunk, seconds=SECONDS)]
    correct = [not found.error and is_correct(one, found.value) for one, found in zip(tasks, results, strict=True)]
    return AgentResult(np.array(correct, np.float64), next((one.error for one in results if one.error), ""))


@functools.cache
def _parts() -> str:
    return PARTS.read_text()
