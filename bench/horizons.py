"""Turns, tokens and cost of a world's rollouts, and the start of the world before and after 20 steps of grpo.

    python bench/horizons.py                      every world of SETTINGS
    python bench/horizons.py textworld repair     these
    python bench/horizons.py textworld --no-train without the start and its training

The world's expert plays held-out tasks on one core. Beside it stands the bare simulator, `bench/simulators/NAME.py`,
where the world has one: `steps(seconds)` makes steps without handaxe and returns (steps, seconds). Both are measured in
turn in this process. Rows of the other worlds stay in bench/results/horizons.json.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results" / "horizons.json"
ROUNDS = 3
"""Of the attempts and the bare simulator, in turn; each round plays a third of the tasks."""


@dataclass(frozen=True)
class Setting:
    """World, its options as on the command line, limits of a rollout, and the name of bench/simulators/NAME.py."""

    world: str
    options: tuple[str, ...] = ()
    max_turns: int = 12
    max_tokens: int = 48
    simulator: str = ""
    trained: bool = True

    @property
    def name(self) -> str:
        """World and options in one string."""
        return " ".join((self.world, *self.options))


SETTINGS = (
    Setting("hops", ("--world.lengths", "2", "3", "4"), max_turns=6),
    Setting("textworld", max_turns=8),
    Setting("minigrid_text", ("--world.size", "6"), max_turns=12, max_tokens=16),
    Setting(
        "minigrid_text",
        (*("--world.kind", "multiroom", "--world.size", "3"), *("--world.longest", "16", "--world.astray", "0.1")),
        max_turns=20,
        max_tokens=16,
        simulator="minigrid_text",
    ),
    Setting(
        "textworld",
        (
            *("--world.kind", "medium", "--world.rooms", "8", "--world.length", "8", "--world.shortest", "8"),
            *("--world.games", "80", "--world.hints", "0.7"),
        ),
        max_tokens=48,
        simulator="textworld",
    ),
    Setting(
        "miniwob",
        ("--world.pages", "choose-date-nodelay", "--world.instances", "160", "--world.brief"),
        max_turns=16,
        max_tokens=32,
        simulator="miniwob",
    ),
    Setting("journeys", max_turns=8),
    Setting("workspace", max_turns=8, max_tokens=24),
    Setting("toolchains", max_turns=6),
    Setting("bfcl", ("--world.category", "short", "--world.user-turns", "6"), max_tokens=32, simulator="bfcl"),
    Setting("toolbox", max_turns=5, max_tokens=64, simulator="toolbox"),
    Setting(
        "toolbox", ("--world.no-brief", "--world.lengths", "1", "2", "3", "4", "5"), simulator="toolbox", trained=False
    ),
    Setting("bfcl", ("--world.single-calls",), simulator="bfcl", trained=False),
    Setting(
        "tau2",
        (*("--world.domain", "retail", "--world.user", "requests", "--world.brief"), "--world.personas", "static"),
        max_tokens=160,
        simulator="tau2",
    ),
    Setting(
        "tau2",
        ("--world.domain", "retail", "--world.user", "requests", "--world.policy", "none"),
        simulator="tau2",
        trained=False,
    ),
    Setting("tau2", ("--world.domain", "airline", "--world.user", "requests", "--world.policy", "none"), trained=False),
    Setting("atlas", max_turns=5, max_tokens=72, simulator="atlas"),
    Setting("textarena", max_tokens=24, simulator="textarena"),
    Setting("repair", max_turns=10, simulator="repair"),
    Setting("repair", ("--world.longest", "36"), simulator="repair", trained=False),
    Setting(
        "scienceworld",
        (
            "--world.kinds",
            "lifespan-longest-lived",
            "lifespan-shortest-lived",
            "lifespan-longest-lived-then-shortest-lived",
        ),
        max_turns=8,
        simulator="scienceworld",
    ),
    Setting("scienceworld", simulator="scienceworld", trained=False),
    Setting("atlas", ("--world.level", "hard"), simulator="atlas", trained=False),
)


def main() -> None:
    """Measure, print, and store the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", nargs="*", help="names of worlds; all of SETTINGS without one")
    parser.add_argument("--tasks", type=int, default=32, help="held-out tasks of the expert")
    parser.add_argument("--held-out", type=int, default=100, help="held-out tasks of the start")
    parser.add_argument("--no-train", action="store_true", help="leave out the start and its training")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    if unknown := set(given.worlds) - {one.world for one in SETTINGS}:
        parser.error(f"no setting of {', '.join(sorted(unknown))}: add a line to SETTINGS")
    os.environ["OMP_NUM_THREADS"] = "1"
    rows = {row["name"]: row for row in json.loads(given.out.read_text())} if given.out.exists() else {}
    for setting in SETTINGS:
        if given.worlds and setting.world not in given.worlds:
            continue
        row = {"name": setting.name, **asdict(setting), **_expert(setting, given.tasks), "load": os.getloadavg()[0]}
        if setting.trained and not given.no_train:
            row |= _trained(setting, given.held_out)
        rows[setting.name] = {**rows.get(setting.name, {}), **row}
        print(json.dumps(row), flush=True)
        given.out.write_text(json.dumps(list(rows.values()), indent=1) + "\n")


def _expert(setting: Setting, count: int) -> dict[str, Any]:
    """Turns and tokens of the expert, its success, attempts a minute, and steps a second of the bare simulator."""
    import torch

    from handaxe.commands.configure import options_dataclass, parse
    from handaxe.core.records import Group
    from handaxe.methods.build import create_world
    from handaxe.methods.lookup import find
    from handaxe.methods.run_spec import NamedFactory
    from handaxe.models.chat_formats.compact import Compact
    from handaxe.rewards.parts.scoring import score_group
    from handaxe.worlds.parts.demonstrate import demonstrate

    torch.set_num_threads(1)
    made = NamedFactory(setting.world, find("worlds", setting.world))
    options: dict[str, Any] = {}
    if made.options():
        found = parse(
            {"world": (options_dataclass(made), None)}, list(setting.options), prog="horizons", description=""
        )
        options = vars(found["world"])
    world = create_world(made, options)
    tasks = world.tasks("test", count, 0)
    env, rollout = world.env(world.tools), world.make_rollout(64)
    bare = importlib.import_module(f"simulators.{setting.simulator}").steps if setting.simulator else None
    played: list[Any] = []
    minutes: list[float] = []
    rates: list[float] = []
    steps: list[float] = []
    for k in range(ROUNDS):  # other tasks in each round: some worlds remember what was played
        begun = time.perf_counter()
        own = [demonstrate(env, task, world.expert, format=Compact(), rollout=rollout) for task in tasks[k::ROUNDS]]
        seconds = time.perf_counter() - begun
        played += own
        minutes.append(60 * len(own) / seconds)
        rates.append(sum(len(one.turns) for one in own) / seconds)
        if bare is not None:
            number, took = bare(2.0)
            steps.append(number / took)
    right = [score_group(world.correct, Group(one.task, (one,)))[1].outcome[0] > 0.5 for one in played]
    turns = [len(one.turns) for one in played]
    tokens = [max(len(sequence.ids) for sequence in one.sequences) for one in played]
    return {
        "expert": sum(map(float, right)) / len(right),
        "turns": [statistics.median(turns), max(turns)],
        "tokens": [statistics.median(tokens), max(tokens)],
        "attempts_a_minute": minutes,
        "steps_a_second": rates,
        "bare_steps_a_second": steps,
    }


def _trained(setting: Setting, held_out: int) -> dict[str, Any]:
    """Success of the start and of the policy after 20 steps of grpo, with seconds of both."""
    limits = ["--max-turns", str(setting.max_turns), "--max-tokens", str(setting.max_tokens)]
    limits += ["--held-out", str(held_out), "--quiet"]
    with tempfile.TemporaryDirectory() as work:
        begun = time.perf_counter()
        _handaxe(
            ["start", setting.world, *setting.options, *limits, "--out", f"{work}/start", "--json", f"{work}/s.json"]
        )
        started = time.perf_counter()
        train = ["train", "grpo", "--world", setting.world, *setting.options, *limits, "--model", f"{work}/start"]
        _handaxe([*train, "--steps", "20", "--out", f"{work}/run", "--json", f"{work}/t.json"])
        ended = time.perf_counter()
        start, run = json.loads(Path(work, "s.json").read_text()), json.loads(Path(work, "t.json").read_text())
    return {
        "start": start["after"]["pass@1"],
        "after_20_steps": run["after"]["pass@1"]["value"],
        "start_seconds": started - begun,
        "train_seconds": ended - started,
    }


def _handaxe(words: list[str]) -> None:
    subprocess.run([sys.executable, "-m", "handaxe", *words], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
