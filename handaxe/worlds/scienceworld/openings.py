"""Openings of ScienceWorld's scenes, cached on disk: description, first room, subgoals, and a winning path."""

from __future__ import annotations

import importlib.metadata
import json
import re
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.ops.cache_path import cache_path, content_digest
from handaxe.worlds.scienceworld.brief_texts import room_things
from handaxe.worlds.scienceworld.simulator_pool import SimulatorPool
from handaxe.worlds.scienceworld.simulator_process import HouseScene, SceneState

__all__ = ["Openings", "SceneOpening", "WITHOUT_GOLD"]

WITHOUT_GOLD = (
    "inclined-plane-friction-unnamed-surfaces",
    "mendelian-genetics-known-plant",
    "mendelian-genetics-unknown-plant",
)
"""Kinds whose gold actions do not reach the full score."""
FORMAT = "1"
"""Version of the files."""


class SceneOpening(NamedTuple):
    """Opening of a scene: description of the task, first room, texts of the subgoals, and a winning path; () without
    one."""

    task: str
    look: str
    goals: tuple[str, ...]
    path: tuple[str, ...]


class Openings:
    """Openings by scene, made on first use (some tenths of a second each) and cached for a version of the package.

    The winning path is the package's gold path without useless actions (an open door to open, a look at a room that was
    just described, waiting after the end) and with the names of things as the rooms show them ("turtle egg", not "egg
    turtle"), if this path wins; otherwise the gold path to its end.
    """

    def __init__(self, pool: SimulatorPool):
        self._pool = pool
        self._folder = cache_path("scienceworld", content_digest([FORMAT, importlib.metadata.version("scienceworld")]))
        self._known: dict[HouseScene, SceneOpening] = {}
        self._sides: dict[str, dict[str, list[int]]] = {}
        self._lock = threading.RLock()

    def opening(self, scene: HouseScene) -> SceneOpening:
        """Return the opening of a scene.

        Raises:
            InfrastructureError: the simulator failed. This holds for all methods.
        """
        with self._lock:
            if scene not in self._known:
                file = self._folder / f"{'-'.join(map(str, scene[:2]))}-{content_digest([scene.simplifications])}.json"
                if not file.exists():
                    _write(file, self._make(scene))
                made = json.loads(file.read_text())
                states = [SceneState(**{**one, "goals": tuple(one["goals"])}) for one in made["states"]]
                for count, state in enumerate(states):
                    self._pool.remember(scene, made["path"][:count], state)
                first = states[0]
                self._known[scene] = SceneOpening(first.text, first.look, tuple(made["goals"]), tuple(made["path"]))
            return self._known[scene]

    def variations(self, kind: str, side: str) -> list[int]:
        """Return the package's variations of a kind in a split: train, dev or test."""
        with self._lock:
            if kind not in self._sides:
                file = self._folder / f"{kind}.json"
                if not file.exists():
                    _write(file, self._pool.variations(kind))
                self._sides[kind] = json.loads(file.read_text())
            return self._sides[kind][side]

    def _make(self, scene: HouseScene) -> dict[str, Any]:
        """Subgoals, winning path, and the states before and after each of its actions."""
        made = self._pool.start(scene, gold=scene.kind not in WITHOUT_GOLD)
        paths = (self._shortened(scene, made.gold), made.gold) if made.gold else ()
        won = next(filter(None, (self._won(scene, path) for path in paths)), ())
        states = [self._pool.play(scene, won[:count])._asdict() for count in range(len(won) + 1)]
        return {"goals": made.goals, "path": won, "states": states}

    def _won(self, scene: HouseScene, path: Sequence[str]) -> tuple[str, ...]:
        """The path to its winning action; () if the path does not win."""
        for count in range(1, len(path) + 1):
            state = self._pool.play(scene, path[:count])
            if state.over:
                return tuple(path[:count]) if state.score >= 100 else ()
        return ()

    def _shortened(self, scene: HouseScene, gold: Sequence[str]) -> list[str]:
        short, picked = list[str](), ""
        for count, action in enumerate(gold):
            before, after = (self._pool.play(scene, gold[:number]) for number in (count, count + 1))
            if action == "look around" or after.text == "The door is already open.":
                continue
            changed = _renamed(action, before.look)
            changed = re.sub(r"^move .+ in inventory to ", f"move {picked} to ", changed) if picked else changed
            picked = changed.removeprefix("pick up ") if changed.startswith("pick up ") else picked
            short.append(changed)
            if after.over:
                break
        return short


def _renamed(action: str, look: str) -> str:
    """The action with the shown name of its thing, if exactly one name of the room has the words of the gold name.

    Example:
        _renamed("focus on egg turtle", "...\\n\\ta turtle egg\\n...") -> "focus on turtle egg"
    """
    found = re.fullmatch(r"(pick up|focus on) (.+)", action)
    if found is None:
        return action
    words = set(found[2].split())
    shown = {part.strip() for one in room_things(look) for part in re.split(r"[(),]", one)} - {""}
    fits = [one for one in shown if set(one.split()) <= words or words <= set(one.split())]
    return f"{found[1]} {fits[0]}" if len(fits) == 1 else action


def _write(file: Path, content: Any) -> None:
    file.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as work:
        made = Path(work) / "made"
        made.write_text(json.dumps(content))
        made.replace(file)
