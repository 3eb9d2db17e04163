"""Plays groups: attempts with derived seeds, played by the driver, groups in order of completion."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, NamedTuple

from handaxe.core.check_tasks import check_tasks
from handaxe.core.endings import treatments
from handaxe.core.errors import HandaxeError, InputError, TaskError
from handaxe.core.images import Image
from handaxe.core.protocols import ChatFormat, Curriculum, Engine, EnvFactory, Rollout, RolloutPlan
from handaxe.core.records import PlayedGroup, Sampling, Task
from handaxe.core.requests import Attempt, Work
from handaxe.ops.codec import dump_record, image_finder, load_record
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.driver import Driver, Finished
from handaxe.rollouts.driver.aux_engines import aux_chats
from handaxe.training.loop.config import AsyncConfig, RunConfig
from handaxe.training.loop.group_play import GroupPlay
from handaxe.training.loop.staleness import may_launch, rollout_ages

__all__ = ["Placed", "Player", "draw_rounds", "work_plan"]


class Placed(NamedTuple):
    """A played group, and its place among the groups of its round."""

    place: int
    group: PlayedGroup


def draw_rounds(tasks: Curriculum, step: int, *, groups: int, rounds: int) -> Iterator[list[Task]]:
    """Draw the tasks of each generation round of a step, `groups` a round.

    Round r takes the last `groups` of (r + 1) * groups tasks, drawn when it begins: a curriculum in order skips no task
    and repeats none, and an adaptive one knows the results of earlier rounds.

    Raises:
        InputError: groups or rounds is below 1.
        TaskError: there is no task, or an invalid one.
    """
    if groups < 1 or rounds < 1:
        raise InputError(f"groups is {groups} and rounds {rounds}; give 1 or more of each")
    for r in range(rounds):
        drawn = tasks.next(step, groups * (r + 1))[groups * r :]
        if not drawn and r == 0:
            raise TaskError(f"the curriculum has no task for step {step}: is its data set empty?")
        if drawn:
            check_tasks(drawn)
            yield drawn


def work_plan(work: Work) -> RolloutPlan:
    """Make a plan of one Work, for `Player.beside`."""
    yield work
    return []


class Player:
    """Plays groups; a context manager, and Stateful: on resume, groups under way are launched again from their tasks.

    Args:
        engine, format, env, rollout, sampling: the roles; `sampling` may be a function of the step.
        async_config: see `AsyncConfig`.
        run: its treatments of endings, retries and auxiliary policies.
        steps: no group is launched for later steps, except with `race`.
        groups, group_size: groups a step, rollouts a group.
        seed: of the run.
    """

    def __init__(
        self,
        engine: Engine,
        format: ChatFormat,
        env: EnvFactory,
        rollout: Rollout,
        sampling: Sampling | Callable[[int], Sampling],
        *,
        async_config: AsyncConfig,
        run: RunConfig,
        steps: int,
        groups: int,
        group_size: int,
        seed: int,
    ):
        if groups < 1 or group_size < 1:
            raise InputError(f"groups is {groups} and group_size {group_size}; give 1 or more of each")
        self.engine = engine
        self.config = async_config
        self.start_versions = list[int]()
        """The engine's version at the start of each step so far."""
        self.steps = steps
        self.groups = groups
        self.group_size = group_size
        self._rollout = rollout
        self._seed = seed
        self._sampling = sampling
        self._roles: dict[str, Any] = {"env": env, "format": format, "aux_policies": aux_chats(run.aux_policies)}
        self._aux_engines = {name: one.engine for name, one in run.aux_policies.items()}
        self._treatment, self._retries = treatments(run.on_ending), run.retries
        self._playing: list[GroupPlay] = []
        self._group_of: dict[str, GroupPlay] = {}
        self._beside, self._plans = set[str](), 0
        self._launched = 0  # number of steps whose groups were launched
        self._again: list[dict[str, Any]] = []

    def __enter__(self) -> "Player":
        self._driver = Driver(
            self.engine,
            workers=self.config.workers,
            lockstep=self.config.lockstep,
            aux_engines=self._aux_engines,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._driver.close()

    @property
    def held(self) -> int:
        """Number of groups launched and not yet returned."""
        return len(self._playing)

    def rounds(
        self, tasks: Curriculum, step: int, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Iterator[Iterator[Placed]]:
        """Iterate over the generation rounds of a step; each yields its groups in order of completion.

        Launches the groups that the step lacks and, with staleness, groups of later steps as far as the gate allows.
        With segments, the one round yields the groups that ended in this segment, of any step. With `race` it yields
        the first `groups` groups that end, of any step.
        """
        del self.start_versions[step:]
        self.start_versions.append(self.engine.version)
        for one in self._again:
            self._launch(one["step"], [one["task"]], Counter({one["task"].id: one["nth"]}))
        self._again = []
        if self.config.segments:
            self._driver.segment(tokens=self.config.segment_tokens, calls=self.config.segment_calls)
            room = self.groups - len(self._playing)
            for drawn in draw_rounds(tasks, step, groups=room, rounds=1) if room > 0 else ():
                self._launch(step, drawn, Counter())
            self._launched = step + 1
            yield self._finishing(step, progress)
        elif self.config.staleness:
            while (self.config.race or self._launched < self.steps) and self._may_launch(step):
                for drawn in draw_rounds(tasks, self._launched, groups=self.groups, rounds=1):
                    self._launch(self._launched, drawn, Counter())
                self._launched += 1
            yield self._finishing(step, progress)
        else:
            self._launched, seen = step + 1, Counter[str]()
            for drawn in draw_rounds(tasks, step, groups=self.groups, rounds=self.config.rounds):
                self._launch(step, drawn, seen)
                yield self._finishing(step, progress)

    def beside(self, plan: RolloutPlan) -> None:
        """Add a plan that plays no rollout, such as the reward of a group. It runs whenever rollouts are played.

        Call `wait` to reach its end.
        """
        attempt = self._attempt(-1, Task("beside", ()), self._plans)
        self._plans += 1
        self._beside.add(attempt.id)
        self._driver.add(attempt, lambda attempt: plan)

    def wait(self) -> None:
        """Play on, under the current weights, until every plan of `beside` has ended."""
        while self._beside:
            self._take(self._driver.advance())

    def state_dict(self) -> dict[str, Any]:
        images: dict[str, Image] = {}
        flying = [{"step": g.step, "task": g.task, "nth": g.nth} for g in self._playing] + self._again
        saved = [
            {"step": one["step"], "id": one["task"].id, "nth": one["nth"], "task": dump_record(one["task"], images)}
            for one in flying
        ]
        state = {"flying": saved, "launched": self._launched, "begun": list(self.start_versions)}
        return state | {"images": list(images.values())} if images else state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        source = image_finder(state.get("images", ()))
        self._again = [one | {"task": load_record(Task, one["task"], source)} for one in state["flying"]]
        self._launched = state["launched"]
        self.start_versions = list(state["begun"])

    def _may_launch(self, done: int) -> bool:
        groups = self.groups
        return may_launch(self._launched * groups + 1, groups=groups, done=done, staleness=self.config.staleness)

    def _launch(self, step: int, tasks: list[Task], seen: Counter[str]) -> None:
        """Start one group per task. `seen` counts a step's groups of a task: a second group takes further samples
        instead of repeating the first ones."""
        each = self.group_size + self.config.spare
        for task in tasks:
            nth = seen[task.id]
            seen[task.id] += 1
            attempts = [self._attempt(step, task, nth * each + k, sibling=k, siblings=each) for k in range(each)]
            group = GroupPlay(
                task,
                step,
                nth,
                attempts,
                size=self.group_size,
                treatment=self._treatment,
                retries=self._retries,
                again=self._retry,
                stop_when=self.config.stop_when,
            )
            self._playing.append(group)
            self._start(group, attempts)

    def _start(self, group: GroupPlay, attempts: list[Attempt]) -> None:
        for attempt in attempts:
            self._group_of[attempt.id] = group
            self._driver.add(attempt, self._rollout)

    def _finishing(self, step: int, progress: Callable[[int, int], None]) -> Iterator[Placed]:
        waiting = dict(enumerate(g for g in self._playing if self.config.race or g.step <= step))
        total = sum(len(one.under_way) for one in waiting.values())
        left = max(0, len(waiting) - self.groups) if self.config.race else 0
        while len(waiting) > left:
            over = [place for place, one in waiting.items() if one.over]
            for place in over[: len(waiting) - left]:
                one = waiting.pop(place)
                self._playing.remove(one)
                yield Placed(place, self._aged(one.played(step)))
            if len(waiting) > left:
                ended = self._driver.advance()
                self._take(ended)
                progress(total - min(total, sum(len(one.under_way) for one in waiting.values())), total)
                if not ended and self.config.segments:
                    return
                if not ended and any(not one.over for one in waiting.values()):
                    raise HandaxeError(f"step {step}: the driver is idle, but {len(waiting)} groups are not over")

    def _aged(self, group: PlayedGroup) -> PlayedGroup:
        return replace(group, ages=rollout_ages(group.group, self.start_versions))

    def _take(self, ended: Sequence[Finished]) -> None:
        """Pass ended rollouts to their groups, and start and stop rollouts as these decide."""
        left = {attempt.id for attempt, _ in ended}
        for attempt, trajectories in ended:
            left.discard(attempt.id)
            if attempt.id in self._beside:
                self._beside.remove(attempt.id)
                continue
            group = self._group_of.pop(attempt.id)
            start, stop = group.ended(attempt, trajectories)
            self._start(group, start)
            if stop:
                self._take(self._driver.stop([name for name in stop if name not in left]))

    def _attempt(self, step: int, task: Task, sample: int, *, sibling: int = 0, siblings: int = 1) -> Attempt:
        parts = (self._seed, step, task.id, sample)
        return Attempt(
            task=task,
            id=f"{step}/{task.id}/{sample}",
            sample=sample,
            step=step,
            sibling=sibling,
            siblings=siblings,
            seed=derive_seed(*parts),
            context=self.engine.max_length,
            sampling=self._sampling(max(step, 0)) if callable(self._sampling) else self._sampling,
            **self._roles,
        )

    def _retry(self, attempt: Attempt, n: int) -> Attempt:
        name = f"{attempt.id.removesuffix(f'/retry-{n - 1}')}/retry-{n}"
        seed = derive_seed(self._seed, attempt.step, attempt.task.id, attempt.sample, "retry", n)
        return replace(attempt, id=name, seed=seed)
