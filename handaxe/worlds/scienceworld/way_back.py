"""Expert of ScienceWorld: the winning path, and a way back to it after other actions."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.worlds.scienceworld.openings import Openings
from handaxe.worlds.scienceworld.simulator_pool import SimulatorPool
from handaxe.worlds.scienceworld.simulator_process import HouseScene

__all__ = ["WayBack"]


class WayBack:
    """Winning actions from any state of a scene.

    On the winning path: the rest of the path. After other actions: the first winning part of the path, tried in the
    simulator from the current state, also after a teleport to the room of its first action (if the simplifications
    allow teleports). The part after the actions already taken is tried first.

    Example:
        path (go to kitchen, focus on soap, move soap to red box) and actions (go to kitchen, look around) -> (focus on
        soap, move soap to red box)
    """

    def __init__(self, pool: SimulatorPool, openings: Openings):
        self._pool, self._openings = pool, openings
        self._known: dict[tuple[HouseScene, tuple[str, ...]], tuple[str, ...]] = {}

    def find(self, scene: HouseScene, actions: Sequence[str]) -> tuple[str, ...]:
        """Return winning actions after the given ones; () if there are none.

        Raises:
            InfrastructureError: the simulator failed.
        """
        done, path = tuple(actions), self._openings.opening(scene).path
        if path[: len(done)] == done:
            return path[len(done) :]
        key = scene, done
        if key not in self._known:
            way = self._search(scene, done, path)
            for count in range(len(way) + 1):
                self._known[scene, done + way[:count]] = way[count:]
        return self._known[key]

    def _search(self, scene: HouseScene, done: tuple[str, ...], path: tuple[str, ...]) -> tuple[str, ...]:
        if not path or self._pool.play(scene, done).over:
            return ()
        teleports = "teleportAction" in scene.simplifications or "easy" in scene.simplifications
        room = self._pool.play(scene, done).room
        reached = _taken(done, path)
        for count in sorted(range(len(path)), key=lambda count: (abs(count - reached), -count)):
            there = self._pool.play(scene, path[:count]).room
            first = (f"teleport to {there}",) if there != room and teleports else ()
            for way in dict.fromkeys(((*first, *path[count:]), path[count:])):
                if self._wins(scene, done, way):
                    return way
        return ()

    def _wins(self, scene: HouseScene, done: tuple[str, ...], way: tuple[str, ...]) -> bool:
        for count in range(1, len(way) + 1):
            state = self._pool.play(scene, done + way[:count])
            if state.over:
                return count == len(way) and state.score >= 100
        return False


def _taken(done: Sequence[str], path: Sequence[str]) -> int:
    """Actions of the path that were taken, in their order."""
    count = 0
    for action in done:
        count += count < len(path) and path[count] == action
    return count
