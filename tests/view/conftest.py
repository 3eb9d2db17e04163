"""Recorded runs for the viewer, made without a model: a script is played through the byte-level chat format."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import played
from helpers.group_records import recorded_group

from handaxe.core.records import Advantages, Branch, Group, Message, Scores, Task, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.tools import tool
from handaxe.training.record.run_record import RunRecord

HOSTILE = (
    "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'></script><!-- <script> "
    "\x1b[31mred\x1b[0m \x1b]8;;javascript:alert(1)\x07 \u202eabc\u202c \u2066x\u2069 "
    "zero\u200bwidth \x9b2J {{constructor}} &lt;"
)
RESULTS = Path(__file__).parents[2] / "handaxe" / "papers" / "otc" / "result.json"
SEEDS = (0, 1)


@tool
def look(query: str) -> str:
    """Look something up.

    Args:
        query: words.
    """
    return HOSTILE if query == "hostile" else f"found {query}"


def rated(group, scores, **channels):
    """Siblings that are all scored and trained, with advantage score - mean at every second token of the policy."""
    values = np.array(scores, float)
    every = [tuple(s.mask & (np.arange(len(s)) % 2 == 0) for s in t.sequences) for t in group]
    tokens = tuple(
        tuple(np.where(chosen, value - values.mean(), 0.0) for chosen in own) for own, value in zip(every, values)
    )
    channels = {name: np.array(found, float) for name, found in channels.items()}
    return recorded_group(group, Scores(values, channels=channels), Advantages(tokens))


def group_of(step, seed):
    """Three siblings; the third forks from the second after the first turn."""
    task = Task(f"task-{step}", (Message("user", f"What is it, {step}?"),), answer="it")
    group = played.play(task, look, [ToolCall("look", {"query": "it"}), "it is caf\u00e9"], step=step)
    first, second, third = group
    fork = replace(third, branch_of=Branch(second.id, 0, second.turns[0].stop))
    first = replace(first, notes={"roles": ["planner", "speaker"]})
    return rated(Group(task, (first, second, fork), step), [1.0, 0.0, seed / 4], right=[1, 0, 0], format=[1, 1, 1])


def hostile_group(step):
    """Equal scores; all text is hostile, the ids of task and channel included."""
    task = Task(f"evil {HOSTILE}", (Message("user", HOSTILE),), answer=HOSTILE, metadata={HOSTILE: HOSTILE})
    group = played.play(task, look, [ToolCall("look", {"query": "hostile"}), HOSTILE], step=step, samples=2)
    one, two = group
    turn = one.turns[0]
    long = replace(turn, replies=(replace(turn.replies[0], content="long" * 250_000 + HOSTILE),))
    notes = {HOSTILE: "\ud800", "roles": [HOSTILE] * 2}
    one = replace(one, turns=(long, *one.turns[1:]), notes=notes, env={"state": HOSTILE})
    return rated(Group(task, (one, two), step), [1.0, 1.0], **{"evil<img src=x onerror='window.hacked=1'>": [1, 1]})


def write_run(folder, seed):
    about = {"recipe": {"name": "grpo", "arguments": {"seed": seed, "world": "sums", "model": "tiny"}, "command": "x"}}
    about["arguments"] = {
        "reward": "handaxe.rewards.exact_match.exact_match.<locals>.score",
        "format": "handaxe.models.chat_formats.compact.Compact",
    }
    with RunRecord(folder, about=about) as record:
        record.write_event(0, "started")
        for step in range(3):
            groups = [group_of(step, seed)] + ([hostile_group(step)] if step == 2 else [])
            metrics = {
                "reward": 0.2 * step + 0.1 * seed,
                "calls": 1.0,
                "calls/made": 3.0 + seed,
                "tokens/sampled": 90.0,
            }
            record.write_step(step, groups, metrics | {"seconds/sampling": 1.0 + seed, "tokens": 30.0})
        record.write_event(3, "finished")


@pytest.fixture(scope="session")
def viewed(tmp_path_factory) -> Path:
    """Two runs that differ only in the seed, with results of a replication and a comparison; read only."""
    folder = tmp_path_factory.mktemp("viewed")
    for seed in SEEDS:
        write_run(folder / f"seed-{seed}", seed)
    (folder / "results").mkdir()
    shutil.copy(RESULTS, folder / "results" / "otc.json")
    paired = {"ours": [1.0, None], "theirs": [0.5, 0.5], "difference": 0.25, "low": -0.5, "high": 1.0}
    sides = ["grpo", f"otc {HOSTILE}"]
    compared = {"seeds": [0, 1], "sides": dict.fromkeys(sides, []), "metrics": {"calls": dict.fromkeys(sides, paired)}}
    (folder / "results" / "sides.json").write_text(json.dumps(compared))
    return folder


@pytest.fixture
def decoder():
    return lambda folder: Compact().decode


@pytest.fixture(scope="session")
def hostile_text() -> str:
    return HOSTILE
