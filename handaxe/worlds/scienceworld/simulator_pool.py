"""Pool of simulator processes that reach any state of any scene by its list of actions."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.scienceworld.simulator_process import HouseScene, SceneState, Simulator

__all__ = ["SceneStart", "SimulatorPool"]

SEATS = 96
"""Environments of a process, below half a megabyte each."""
REMEMBERED = 20_000
"""States kept in memory, about a kilobyte each."""
Actions = tuple[str, ...]


class SceneStart(NamedTuple):
    """First state of a scene, texts of its subgoals, and the package's gold actions."""

    state: SceneState
    goals: list[str]
    gold: list[str]


class _Seat(NamedTuple):
    """Environment of a process in a known state, and the next object number of that state."""

    env: Any
    next_id: int


class SimulatorPool:
    """Simulator processes, started on demand. Threads may call at once; calls of one process take turns.

    HouseScene and actions determine a state. Known states are read from memory. For a new state, an environment at an
    earlier state of the same actions continues, or the scene is loaded and the actions are repeated. No rollout holds a
    process, and the number of rollouts is unlimited. If a process dies or hangs, its call fails, and the next call
    starts another process. Processes end with the pool and with the program, also with a killed program.

    Args:
        processes: number of processes, >= 1; a scene belongs to one of them.
        memory: limit of each Java heap in MiB, >= 128.
        deadline: seconds for a reply, > 0.

    Raises:
        InputError: an argument out of range.
    """

    def __init__(self, *, processes: int = 1, memory: int = 384, deadline: float = 60.0):
        if processes < 1 or memory < 128 or not deadline > 0:
            raise InputError(
                "simulators is 1 or more, memory 128 MiB or more and deadline above 0: they are "
                f"{processes}, {memory} and {deadline}"
            )
        self._settings: dict[str, Any] = {"memory": memory, "deadline": deadline}
        self._known: OrderedDict[tuple[HouseScene, Actions], SceneState] = OrderedDict()
        self._lock = threading.Lock()
        self._desks = [_Desk() for _ in range(processes)]
        self._process = os.getpid()
        self._finalizer = weakref.finalize(self, _close, self._desks, self._process)

    def play(self, scene: HouseScene, actions: Sequence[str]) -> SceneState:
        """Return the state of a scene after actions.

        Raises:
            InfrastructureError: the process does not start, dies, hangs or fails. This holds for all methods.
        """
        done = tuple(actions)
        known = self._remembered((scene, done))
        if known is not None:
            return known
        with self._running(scene) as (desk, simulator):
            return self._advance(desk, simulator, scene, done)

    def start(self, scene: HouseScene, *, gold: bool) -> SceneStart:
        """Load a scene; the gold actions are computed on request, which takes seconds for some kinds."""
        with self._running(scene) as (desk, simulator):
            env = desk.spare = simulator.new() if desk.spare is None else desk.spare
            simulator.load(env, scene, gold=gold)
            path = simulator.gold(env) if gold else []
            simulator.load(env, scene)
            return SceneStart(simulator.state(env), simulator.goals(env), path)

    def variations(self, kind: str) -> dict[str, list[int]]:
        """Return the package's variations of a kind by split: train, dev and test."""
        scene = HouseScene(kind, 0, "")
        with self._running(scene) as (desk, simulator):
            env = desk.spare = simulator.new() if desk.spare is None else desk.spare
            simulator.load(env, scene)
            return simulator.variations(env)

    def remember(self, scene: HouseScene, actions: Sequence[str], state: SceneState) -> None:
        """Store a known state, as from a file."""
        self._remember((scene, tuple(actions)), state)

    def close(self) -> None:
        """End the processes; the next call starts others."""
        _close(self._desks, self._process)

    def processes(self) -> list[int]:
        """Return the ids of the running processes."""
        return [one.simulator.process.pid for one in self._desks if one.simulator is not None]

    @contextlib.contextmanager
    def _running(self, scene: HouseScene) -> Iterator[tuple[_Desk, Simulator]]:
        """The process of a scene, held; after an error it is ended and the next call starts another."""
        if self._process != os.getpid():  # after a fork the processes belong to the parent
            self._process = os.getpid()
            self._desks[:] = [_Desk() for _ in self._desks]
        desk = self._desks[derive_seed("scienceworld", *scene) % len(self._desks)]
        with desk.lock:
            if desk.simulator is None or desk.simulator.process.poll() is not None:
                desk.stop()
                desk.simulator = Simulator(**self._settings)
            try:
                yield desk, desk.simulator
            except BaseException:
                desk.stop()
                raise

    def _advance(self, desk: _Desk, simulator: Simulator, scene: HouseScene, done: Actions) -> SceneState:
        """Bring an environment of the process to the state."""
        for length in range(len(done), -1, -1):
            seat = desk.seats.pop((scene, done[:length]), None)
            if seat is not None:
                break
        else:
            length, seat = 0, self._loaded(desk, simulator, scene)
        state = self._remembered((scene, done[:length]))
        if state is None:
            state = simulator.state(seat.env)
            self._remember((scene, done[:length]), state)
        for number in range(length, len(done)):
            state, next_id = simulator.step(seat.env, number + 1, done[number], seat.next_id)
            seat = _Seat(seat.env, next_id)
            self._remember((scene, done[: number + 1]), state)
        desk.seats[scene, done] = seat
        return state

    def _loaded(self, desk: _Desk, simulator: Simulator, scene: HouseScene) -> _Seat:
        """A new environment, or the one of the longest unused state."""
        env = simulator.new() if len(desk.seats) < SEATS else desk.seats.popitem(last=False)[1].env
        return _Seat(env, simulator.load(env, scene))

    def _remembered(self, key: tuple[HouseScene, Actions]) -> SceneState | None:
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
            return known

    def _remember(self, key: tuple[HouseScene, Actions], state: SceneState) -> None:
        with self._lock:
            self._known[key] = state
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)


class _Desk:
    """Place of a process, with its environments by state."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.simulator: Simulator | None = None
        self.seats: OrderedDict[tuple[HouseScene, Actions], _Seat] = OrderedDict()
        self.spare: Any = None

    def stop(self) -> None:
        """Kill the process and forget its environments."""
        if self.simulator is not None:
            self.simulator.stop()
        self.simulator, self.spare = None, None
        self.seats.clear()


def _close(desks: list[_Desk], owner: int) -> None:
    if os.getpid() == owner:
        for one in desks:
            one.stop()
