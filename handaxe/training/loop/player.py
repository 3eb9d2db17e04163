"""From tasks to groups: attempts with derived seeds, played by the driver, groups handed over as they finish."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, NamedTuple

from handaxe.core.check_tasks import check_tasks
from handaxe.core.endings import Treatment
from handaxe.core.errors import HandaxeError, InputError, TaskError
from handaxe.core.protocols import AuxPolicy, ChatFormat, Curriculum, Engine, EnvFactory, Rollout, RolloutPlan
from handaxe.core.records import EndingKind, Sampling, Task
from handaxe.core.requests import Attempt, Work
from handaxe.ops.codec import dump_record, load_record
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.driver import Driver, Finished
from handaxe.rollouts.driver.executor import Executor
from handaxe.rollouts.driver.others import NO_OTHERS, voices
from handaxe.training.loop.config import AsyncConfig
from handaxe.training.loop.group_play import GroupPlay, Tried
from handaxe.training.loop.staleness import may_launch

__all__ = ["Placed", "Player", "carried_out", "draws"]


class Placed(NamedTuple):
    """A group that is finished, and its place among those of its round."""

    place: int
    tried: Tried


def draws(tasks: Curriculum, step: int, *, groups: int, rounds: int) -> Iterator[list[Task]]:
    """The tasks of each generation round of a step, `groups` a round.

    Round r takes the last `groups` of (r + 1) * groups tasks, drawn when it begins: a curriculum that hands out tasks
    in order skips none and repeats none, one that adapts knows what came of the rounds before.

    Raises:
        InputError: when no group or round is asked for.
        TaskError: when there is no task at all, or an invalid one.
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


def carried_out(work: Work) -> RolloutPlan:
    """A plan of nothing but this work, for `Player.beside`."""
    yield work
    return []


class Player:
    """Plays groups; a context manager, and Stateful: on resume, what was in flight is launched again from its tasks.

    Args:
        engine, format, env, rollout, sampling: the roles; `sampling` may be a function of the step played for.
        treatment: by ending; "retry" tries an attempt again, `retries` times at most.
        pace: see `AsyncConfig`.
        steps: nothing is launched for a step beyond them, unless it is first come, first trained.
        groups, group_size: groups a step, attempts a group.
        workers: how many environments act at the same time, or who carries out their requests.
        seed: of the run.
        others: further engines that rollouts and environments may ask, by name.
    """

    def __init__(
        self,
        engine: Engine,
        format: ChatFormat,
        env: EnvFactory,
        rollout: Rollout,
        sampling: Sampling | Callable[[int], Sampling],
        *,
        treatment: Mapping[EndingKind, Treatment],
        pace: AsyncConfig,
        steps: int,
        groups: int,
        group_size: int,
        retries: int,
        workers: int | Executor,
        seed: int,
        others: Mapping[str, AuxPolicy] = NO_OTHERS,
    ):
        if groups < 1 or group_size < 1:
            raise InputError(f"groups is {groups} and group_size {group_size}; give 1 or more of each")
        self.engine = engine
        self.pace = pace
        self.begun = list[int]()
        self.steps = steps
        self.groups = groups
        self.group_size = group_size
        self._rollout = rollout
        self._workers = workers
        self._seed = seed
        self._sampling = sampling
        self._roles: dict[str, Any] = {"env": env, "format": format, "others": voices(others)}
        self._others = {name: one.engine for name, one in others.items()}
        self._treatment, self._retries = treatment, retries
        self._playing: list[GroupPlay] = []
        self._group_of: dict[str, GroupPlay] = {}
        self._beside, self._plans = set[str](), 0
        self._launched = 0  # steps whose groups were launched
        self._again: list[dict[str, Any]] = []

    def __enter__(self) -> "Player":
        self._driver = Driver(self.engine, workers=self._workers, lockstep=self.pace.lockstep, others=self._others)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._driver.close()

    @property
    def held(self) -> int:
        """Groups launched and not handed over yet."""
        return len(self._playing)

    def rounds(
        self, tasks: Curriculum, step: int, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Iterator[Iterator[Placed]]:
        """The generation rounds of a step; each gives its groups as they finish.

        Launches what the step still lacks and, with staleness, the groups of the steps after it that the gate lets
        through. With segments the one round gives whatever finished within this segment, of whatever step; first come,
        first trained, the first `groups` groups that are over, of whatever step.
        """
        del self.begun[step:]
        self.begun.append(self.engine.version)
        for one in self._again:
            self._launch(one["step"], [load_record(Task, one["task"])], Counter({one["id"]: one["nth"]}))
        self._again = []
        if self.pace.segments:
            self._driver.segment(tokens=self.pace.segment_tokens, calls=self.pace.segment_calls)
            room = self.groups - len(self._playing)
            for drawn in draws(tasks, step, groups=room, rounds=1) if room > 0 else ():
                self._launch(step, drawn, Counter())
            self._launched = step + 1
            yield self._finishing(step, progress)
        elif self.pace.staleness:
            while (self.pace.first_come or self._launched < self.steps) and self._may_launch(step):
                for drawn in draws(tasks, self._launched, groups=self.groups, rounds=1):
                    self._launch(self._launched, drawn, Counter())
                self._launched += 1
            yield self._finishing(step, progress)
        else:
            self._launched, seen = step + 1, Counter[str]()
            for drawn in draws(tasks, step, groups=self.groups, rounds=self.pace.rounds):
                self._launch(step, drawn, seen)
                yield self._finishing(step, progress)

    def beside(self, plan: RolloutPlan) -> None:
        """Take up a plan that plays no attempt, such as rewarding a group: it goes on whenever attempts are played.

        Its end is not told; `wait` for it.
        """
        attempt = self._attempt(-1, Task("beside", ()), self._plans)
        self._plans += 1
        self._beside.add(attempt.id)
        self._driver.add(attempt, lambda attempt: plan)

    def wait(self) -> None:
        """Play on, under the weights of now, until every plan of `beside` is over."""
        while self._beside:
            self._take(self._driver.advance())

    def state_dict(self) -> dict[str, Any]:
        flying = [{"step": g.step, "id": g.task.id, "nth": g.nth, "task": dump_record(g.task)} for g in self._playing]
        return {"flying": flying + self._again, "launched": self._launched, "begun": list(self.begun)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._again = list(state["flying"])
        self._launched = state["launched"]
        self.begun = list(state["begun"])

    def _may_launch(self, done: int) -> bool:
        groups = self.groups
        return may_launch(self._launched * groups + 1, groups=groups, done=done, staleness=self.pace.staleness)

    def _launch(self, step: int, tasks: list[Task], seen: Counter[str]) -> None:
        """Start a group a task. `seen` counts a step's groups of a task: its second group goes on with further samples
        instead of repeating the same ones."""
        each = self.group_size + self.pace.spare
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
                stop_when=self.pace.stop_when,
            )
            self._playing.append(group)
            self._start(group, attempts)

    def _start(self, group: GroupPlay, attempts: list[Attempt]) -> None:
        for attempt in attempts:
            self._group_of[attempt.id] = group
            self._driver.add(attempt, self._rollout)

    def _finishing(self, step: int, progress: Callable[[int, int], None]) -> Iterator[Placed]:
        waiting = dict(enumerate(g for g in self._playing if self.pace.first_come or g.step <= step))
        total = sum(len(one.under_way) for one in waiting.values())
        left = max(0, len(waiting) - self.groups) if self.pace.first_come else 0
        while len(waiting) > left:
            over = [place for place, one in waiting.items() if one.over]
            for place in over[: len(waiting) - left]:
                one = waiting.pop(place)
                self._playing.remove(one)
                yield Placed(place, one.tried(step))
            if len(waiting) > left:
                ended = self._driver.advance()
                self._take(ended)
                progress(total - min(total, sum(len(one.under_way) for one in waiting.values())), total)
                if not ended and self.pace.segments:
                    return
                if not ended and any(not one.over for one in waiting.values()):
                    raise HandaxeError(f"step {step}: the driver is idle, but {len(waiting)} groups are not over")

    def _take(self, ended: Sequence[Finished]) -> None:
        """Tell the groups what came of their attempts, and do what follows."""
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
