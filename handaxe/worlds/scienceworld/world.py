"""ScienceWorld: science tasks in a house of ten rooms, in the package's own simulator.

Kept: a world of long tasks for users.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from handaxe.core.errors import Failed, InputError, Retry
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Criterion, Message, Task, ToolCall, Trajectory
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.met_by_turn import met_by_turn
from handaxe.worlds.scienceworld.brief_texts import brief_reply, brief_task, brief_view
from handaxe.worlds.scienceworld.openings import WITHOUT_GOLD, Openings
from handaxe.worlds.scienceworld.simulator_pool import SimulatorPool
from handaxe.worlds.scienceworld.simulator_process import HouseScene, check_installed
from handaxe.worlds.scienceworld.way_back import WayBack
from handaxe.worlds.world import Expert, Facts, Split, Start, World

__all__ = ["Episode", "KINDS", "SHORT", "scienceworld"]

SHORT = (
    "find-animal",
    "find-living-thing",
    "find-non-living-thing",
    "find-plant",
    "lifespan-longest-lived",
    "lifespan-longest-lived-then-shortest-lived",
    "lifespan-shortest-lived",
    "power-component",
)
"""Kinds with short gold paths, the default."""
KINDS = (
    *SHORT,
    "boil",
    "change-the-state-of-matter-of",
    "chemistry-mix",
    "chemistry-mix-paint-secondary-color",
    "chemistry-mix-paint-tertiary-color",
    "freeze",
    "grow-fruit",
    "grow-plant",
    "identify-life-stages-1",
    "identify-life-stages-2",
    "inclined-plane-determine-angle",
    "inclined-plane-friction-named-surfaces",
    "inclined-plane-friction-unnamed-surfaces",
    "measure-melting-point-known-substance",
    "measure-melting-point-unknown-substance",
    "melt",
    "mendelian-genetics-known-plant",
    "mendelian-genetics-unknown-plant",
    "power-component-renewable-vs-nonrenewable-energy",
    "test-conductivity",
    "test-conductivity-of-unknown-substances",
    "use-thermometer",
)
"""All kinds of the package."""
SIMPLIFICATIONS = ("easy", "teleportAction", "openDoors", "openContainers", "selfWateringFlowerPots")
START = Start(skill=150, steps=0, batch_size=16, learning_rate=1.5e-3)
TURNS = 12
"""Turn limit of a demonstration."""
CONTEXT, SHORT_CONTEXT = 1536, 768
"""Tokens of the longest demonstrations, of the default kinds and of those about life spans."""
UNKNOWN = "No known action matches that input."
"""The simulator's reply to an unknown action, which changes nothing."""


def scienceworld(
    *,
    kinds: tuple[str, ...] = SHORT,
    variations: int = 24,
    held_out: Literal["dev", "test"] = "test",
    simplifications: tuple[str, ...] = ("easy",),
    brief: bool = True,
    simulators: int = 1,
    memory: int = 384,
    deadline: float = 60.0,
) -> World:
    """Tasks of ScienceWorld: find a plant, compare life spans, boil water, build a circuit.

    A rollout is correct if the package's score is 100. The tool `do` takes an action of the package in words. Scenes of
    train are the package's variations of train; scenes of test are its variations of `held_out`. Openings are made on
    first use (some tenths of a second each, seconds for long kinds) and cached (HANDAXE_CACHE, or ~/.cache/handaxe).
    The simulator is a Java process; see `SimulatorPool` for its sharing among rollouts.

    Args:
        kinds: names of the package's kinds of tasks; by default those with short gold paths.
        variations: number of variations per kind and split, drawn from the package's; longer task lists repeat scenes.
        held_out: the package's split that serves as test.
        simplifications: of the package: easy (all of them), teleportAction, openDoors, openContainers,
            selfWateringFlowerPots.
        brief: describe task and rooms in key words, for a small context; otherwise the package's own text.
        simulators: number of Java processes, 1 or more; one process serves any number of rollouts, one call at a time.
        memory: limit of the heap of each process in MiB, 128 or more; a process needs some 100 MiB in addition.
        deadline: seconds for a reply of the simulator; after the deadline the rollout ends as infra_error.

    Returns:
        A world broken down by "kind", with criteria (the package's subgoals) and the gauges actions, progress
        (final score from 0 to 1) and unknown (share of actions that the simulator does not know). Turn facts hold score
        and subgoals after each action. It has an expert if each kind has a gold path that wins, and a start if it is
        brief and has only kinds of the default.

    Raises:
        InputError: an argument out of range; a missing package (extra [scienceworld]) or Java.

    Example:
        "find animal, orange box in kitchen. outside: axe, butterfly egg, ...; kitchen" and do("focus on butterfly egg")
        -> "focus on butterfly egg", do("pick up butterfly egg") -> "move butterfly to inventory", ...
    """
    _check(kinds, variations, held_out, simplifications)
    check_installed()
    pool = SimulatorPool(processes=simulators, memory=memory, deadline=deadline)
    openings = Openings(pool)
    way_back = WayBack(pool, openings)
    simplified = ",".join(simplifications)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        side = "train" if split == "train" else held_out
        scenes = _scenes(openings, kinds, variations, side, simplified)
        found = list[Task]()
        while len(found) < count:
            rng = random.Random(derive_seed("scienceworld tasks", split, seed, len(found)))
            some = rng.sample(scenes, len(scenes))[: count - len(found)]
            found += [
                _task(openings, scene, f"{split}-{seed}-{len(found) + n}", brief=brief) for n, scene in enumerate(some)
            ]
        return found

    def env(tools: Sequence[Any]) -> EnvFactory:
        tool_chat(tools)  # raises early for bad tools
        return lambda task: _EpisodeEnv(task, tools, Episode(pool, _scene(task), brief=brief))

    winnable = not set(kinds) & set(WITHOUT_GOLD)
    return World(
        name="scienceworld",
        tasks=tasks,
        env=env,
        correct=outcome(lambda one: float(_final(one, "score") >= 100)),
        breakdown=("kind",),
        hidden_keys=("scene",),
        expert=_expert(way_back) if winnable else None,
        start=START if brief and set(kinds) <= set(SHORT) else None,
        start_turns=TURNS,
        start_context=SHORT_CONTEXT if all(kind.startswith("lifespan") for kind in kinds) else CONTEXT,
        criteria=_criteria,
        check=_met,
        gauges={
            "actions": RatioMetric(lambda one, right: float(_final(one, "steps"))),
            "progress": RatioMetric(lambda one, right: max(0, _final(one, "score")) / 100),
            "unknown": RatioMetric(
                lambda one, right: float(_final(one, "unknown")), lambda one, right: float(len(one.calls))
            ),
        },
    )


def _check(kinds: tuple[str, ...], variations: int, held_out: str, simplifications: tuple[str, ...]) -> None:
    """Raise InputError for an argument out of range."""
    if not kinds or len(set(kinds)) < len(kinds) or set(kinds) - set(KINDS):
        raise InputError(f"kinds are some of {', '.join(sorted(KINDS))}, each once, not {', '.join(kinds) or 'none'}")
    if variations < 1 or held_out not in ("dev", "test"):
        raise InputError(f"variations is 1 or more and held_out dev or test: they are {variations} and {held_out!r}")
    if unknown := sorted(set(simplifications) - set(SIMPLIFICATIONS)):
        raise InputError(f"simplifications are some of {', '.join(SIMPLIFICATIONS)}, not {unknown}")


def _scenes(
    openings: Openings, kinds: Sequence[str], variations: int, side: str, simplifications: str
) -> list[HouseScene]:
    """Scenes of a split, in an order that does not depend on the seed."""
    scenes = []
    for kind in kinds:
        known = openings.variations(kind, side)
        rng = random.Random(derive_seed("scienceworld variations", kind, side))
        scenes += [HouseScene(kind, one, simplifications) for one in rng.sample(known, len(known))[:variations]]
    return scenes


def _task(openings: Openings, scene: HouseScene, key: str, *, brief: bool) -> Task:
    opening = openings.opening(scene)
    if brief:
        said = f"{brief_task(opening.task)}. {brief_view(opening.look)}"
    else:
        said = (
            "You are in a house and act by calling the tool, in words such as: look around, open door to kitchen, go "
            "to kitchen, pick up thermometer, move thermometer to table, focus on thermometer.\n"
            f"{opening.task}\n{opening.look}"
        )
    metadata = {
        "kind": scene.kind,
        "scene": list(scene),
        "goals": list(opening.goals),
        "path": list(opening.path),
        "length": len(opening.path),
    }
    return Task(f"scienceworld-{key}", (Message("user", said),), None, None, metadata)


def _scene(task: Task) -> HouseScene:
    return HouseScene(*task.metadata["scene"])


class Episode:
    """Running episode with a tool `do`. A snapshot is the list of actions.

    Args:
        pool: the simulators.
        scene: start of the episode.
        brief: reply in key words.
    """

    def __init__(self, pool: SimulatorPool, scene: HouseScene, *, brief: bool):
        self._pool, self._scene = pool, scene
        self._brief = brief
        self._actions = list[str]()
        self._unknown = 0
        self._score, self._over = 0, False
        self._goals = list[bool]()

    @tool(timeout=None, max_chars=4_000)
    def do(
        self, action: Annotated[str, "such as: go to kitchen, focus on apple, pick up apple, move apple to red box"]
    ) -> str:
        """Act in the house; the reply describes the result."""
        if self._over:
            raise Retry("it is over")
        said = " ".join(action.split())
        if not said:
            raise Failed("no action")
        before = self._pool.play(self._scene, self._actions)
        state = self._pool.play(self._scene, [*self._actions, said])
        if state.text == UNKNOWN:
            self._unknown += 1
            raise Failed("no such action" if self._brief else UNKNOWN)
        self._actions.append(said)
        self._score, self._over = state.score, state.over
        self._goals = list(state.goals)
        if not self._brief:
            end = "\nThe task is completed." if state.score >= 100 else "\nThe task has failed."
            return state.text + end * state.over
        # The opening and the states before were shown.
        shown = {brief_view(self._pool.play(self._scene, self._actions[:n]).look) for n in range(len(self._actions))}
        return brief_reply(state, before, said, shown)

    @property
    def is_over(self) -> bool:
        """Whether the task is completed or lost."""
        return self._over

    def facts(self) -> dict[str, Any]:
        """The state, as JSON: actions, score, and the subgoals that are met; no subgoal before the first action."""
        return {"actions": list(self._actions), "score": self._score, "goals": list(self._goals)}

    def report(self) -> dict[str, Any]:
        """Score, number of known and of unknown actions, and the end."""
        return {
            "score": self._score,
            "steps": len(self._actions),
            "unknown": self._unknown,
            "over": self._over,
        }

    def snapshot(self) -> Any:
        """The actions so far, and their results."""
        return list(self._actions), self._unknown, self._score, self._over, list(self._goals)

    def restore(self, state: Any) -> None:
        """Restore a snapshot; the simulator repeats its actions at the next action."""
        actions, self._unknown, self._score, self._over, goals = state
        self._actions, self._goals = list(actions), list(goals)


def _expert(way_back: WayBack) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        way = way_back.find(_scene(task), facts.get("actions", ()))
        if not way or "do" not in facts["tools"]:
            return Message("assistant", "I give up")
        return Message("assistant", "", (ToolCall("do", {"action": way[0]}),))

    return expert


def _criteria(task: Task) -> list[Criterion]:
    return [Criterion(f"{number} {text}", text) for number, text in enumerate(task.metadata["goals"])]


def _met(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
    """Check criteria by the package's report of subgoals after each turn; met criteria stay met."""
    numbers = [int(one.name.split()[0]) for one in criteria]

    def met(facts: Facts) -> list[bool]:
        goals = facts.get("goals", ())
        return [bool(goals and goals[number]) for number in numbers]

    return met_by_turn(trajectory, criteria, met)


def _final(one: Trajectory, name: str) -> Any:
    return one.env["state"]["Episode"][name]


class _EpisodeEnv(AsyncEnvWrapper):
    """Conversation with tools until the episode is over."""

    def __init__(self, task: Task, tools: Sequence[Any], episode: Episode):
        super().__init__(tool_chat([lambda: episode, *tools])(task))
        self._episode = episode

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        return reply._replace(done=reply.done or self._episode.is_over, facts=self._episode.facts())
