"""Simulated time: tools and decoding steps that take seconds on a simulated clock and no real time.

    clock = SimulatedClock()
    engine = SimulatedEngine(engine, clock, decode=lambda rows: 0.02)
    workers = SimulatedWorkers(clock, lambda request: 5.0)
    train(engine=engine, workers=workers, ...);  clock.now

All work is carried out for real, in one thread; only its duration is simulated. So a run is deterministic, hours of
waiting take only the time of their arithmetic, and two schedules of the same work can be compared exactly.
"""

import heapq
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from handaxe.core.batch import Batch, LossOut
from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, HiddenMeasure, Loss, Stream, Streams
from handaxe.core.requests import Act, Completion, Partial, Sample, Work
from handaxe.rollouts.driver.executor import Answer

__all__ = ["SimulatedClock", "SimulatedEngine", "SimulatedWorkers"]

_SEED = 0x9E3779B97F4A7C15


class SimulatedClock:
    """Clock in seconds since its creation; `advance` moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def advance(self, seconds: float) -> None:
        """Move the clock.

        Raises:
            InputError: a negative number, or NaN.
        """
        if not seconds >= 0:
            raise InputError(f"seconds is {seconds}; time cannot pass by less than 0")
        self.now += seconds


class _Pause:
    """Call without effect; the executor knows its duration."""

    def __init__(self, seconds: float):
        self.seconds = seconds

    def __call__(self) -> None:
        pass


class SimulatedWorkers:
    """Executor with real work and simulated durations: answers arrive at their simulated time.

    All requests start at submission, in parallel. Answers are ordered by time, then by submission.

    Args:
        clock: shared with the engine.
        seconds: duration of a request; called once each, in the order of submission.
    """

    def __init__(self, clock: SimulatedClock, seconds: Callable[[Act | Work], float]):
        self._clock, self._seconds = clock, seconds
        self._due: list[tuple[float, int, int, Answer]] = []
        self._count = 0

    def takes(self, seconds: float) -> Work:
        """Make work without effect of the given duration, such as training elsewhere: `train(overlap=lambda _:
        w.takes(30))`."""
        return Work(_Pause(seconds))

    def submit(self, ticket: int, request: Act | Work) -> None:
        """Run a request now; its answer is due later."""
        call = request.call if isinstance(request, Work) else None
        seconds = call.seconds if isinstance(call, _Pause) else self._seconds(request)
        heapq.heappush(self._due, (self._clock.now + seconds, self._count, ticket, _carry_out(request)))
        self._count += 1

    def ready(self, wait: float | None) -> list[tuple[int, Answer]]:
        """Return the due answers; without any, advance the clock to the next one, by `wait` seconds at most."""
        if self._due and self._due[0][0] > self._clock.now:
            until = self._due[0][0] - self._clock.now
            self._clock.advance(until if wait is None else min(wait, until))
            if wait is None or wait >= until:
                self._clock.now = self._due[0][0]  # exactly, despite the rounding of the difference
        out = []
        while self._due and self._due[0][0] <= self._clock.now:
            _, _, ticket, answer = heapq.heappop(self._due)
            out.append((ticket, answer))
        return out

    def forget(self, ticket: int) -> None:
        """Drop an answer. The effects of the request remain."""
        self._due = [entry for entry in self._due if entry[2] != ticket]
        heapq.heapify(self._due)

    def __len__(self) -> int:
        """Count the undelivered answers."""
        return len(self._due)

    def close(self) -> None:
        """Drop all answers."""
        self._due = []


def _carry_out(request: Act | Work) -> Answer:
    try:
        if isinstance(request, Work):
            return Answer(request.call(), None)
        return Answer(request.env.step(request.turn, seed=request.seed), None)
    except Exception as error:  # the driver decides about the fault
        return Answer(None, error)


class SimulatedEngine:
    """Engine with simulated durations around a real engine.

    Args:
        inner: a real or a scripted engine. An engine without `stream` samples whole turns, handed over a token at each
            decoding step.
        clock: shared with the workers.
        decode: seconds of a decoding step, by the number of its rows.
        read: seconds for each prompt token, except for cached prefixes of earlier requests (until the weights change).
        train: seconds of an optimiser step, during which no token is sampled, as on a single device. For training
            elsewhere leave it 0 and use `SimulatedWorkers.takes`.
    """

    def __init__(
        self,
        inner: Engine,
        clock: SimulatedClock,
        *,
        decode: Callable[[int], float],
        read: float = 0.0,
        train: float = 0.0,
    ):
        self.inner, self.clock = inner, clock
        self._decode = decode
        self._read = read
        self._train = train
        self._rounds = self.stream()

    @property
    def version(self) -> int:
        """Return the version of the engine inside."""
        return self.inner.version

    @property
    def max_length(self) -> int:
        """Return the context length of the engine inside."""
        return self.inner.max_length

    @property
    def pad_id(self) -> int:
        """Return the padding id of the engine inside."""
        return self.inner.pad_id

    def stream(self) -> Stream:
        """Open a stream whose polls are decoding steps."""
        inner = self.inner.stream() if isinstance(self.inner, Streams) else _Turns(self.inner)
        return _Stream(inner, self, self._decode, self._read)

    def sample(self, requests: Sequence[Sample]) -> list[Completion]:
        """Sample all requests in one batch, until the last one ends."""
        tickets = [self._rounds.submit(request) for request in requests]
        found: dict[int, Completion] = {}
        while len(self._rounds):
            found.update(self._rounds.poll())
        return [found[ticket] for ticket in tickets]

    def forward(
        self, batch: Batch, *, reference: bool = False, names: Sequence[str | HiddenMeasure] = ("logp",)
    ) -> dict[str, torch.Tensor]:
        """Measure with the engine inside; takes no time."""
        return self.inner.forward(batch, reference=reference, names=names)

    def forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        """Accumulate the gradient in the engine inside; `optim_step` takes the time."""
        return self.inner.forward_backward(batch, loss)

    def optim_step(self, *, learning_rate: float, critic_rate: float | None = None) -> dict[str, float]:
        """Step the engine inside, after `train` seconds."""
        self.clock.advance(self._train)
        return self.inner.optim_step(learning_rate=learning_rate, critic_rate=critic_rate)

    def save(self, folder: Path) -> None:
        """Save the engine inside."""
        self.inner.save(folder)

    def load(self, folder: Path) -> None:
        """Load the engine inside."""
        self.inner.load(folder)


class _Stream:
    """Stream with simulated durations."""

    def __init__(self, inner: Stream, engine: SimulatedEngine, decode: Callable[[int], float], read: float):
        self._inner = inner
        self._engine = engine
        self._decode = decode
        self._read = read
        self._cached: set[int] = set()
        self._ids: dict[int, list[int]] = {}
        self._unread: list[list[int]] = []
        self._version = engine.version

    def submit(self, request: Sample) -> int:
        ticket = self._inner.submit(request)
        self._ids[ticket] = [*request.ids, *(request.prefix.ids if request.prefix else ())]
        self._unread.append(self._ids[ticket])
        return ticket

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        del wait  # a decode step ends by itself
        if not len(self._inner):
            return []
        if self._engine.version != self._version:
            self._version, self._cached = self._engine.version, set()
            self._unread = list(self._ids.values())
        new = sum(self._learn(ids) for ids in self._unread) if self._read else 0
        self._unread = []
        self._engine.clock.advance(new * self._read + self._decode(len(self._inner)))
        ended = self._inner.poll()
        for ticket, completion in ended:
            ids = self._ids.pop(ticket)
            if self._read:
                self._learn(ids + completion.ids)
        return ended

    def interrupt(self, ticket: int) -> Partial:
        self._ids.pop(ticket)
        return self._inner.interrupt(ticket)

    def __len__(self) -> int:
        return len(self._inner)

    def close(self) -> None:
        self._inner.close()
        self._ids = {}
        self._unread = []
        self._cached = set()

    def _learn(self, ids: list[int]) -> int:
        """Add every prefix of the ids to the cache, and count the new ones."""
        path, new = _SEED, 0
        for token in ids:
            path = hash((path, token))
            new += path not in self._cached
            self._cached.add(path)
        return new


class _Turns:
    """Stream over an engine of whole turns: each poll hands every request one token."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._turns: dict[int, tuple[Completion, list[int]]] = {}
        self._count = 0

    def submit(self, request: Sample) -> int:
        (whole,) = self._engine.sample([request._replace(prefix=None)])
        self._turns[self._count] = (whole, list(request.prefix.version) if request.prefix else [])
        self._count += 1
        return self._count - 1

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        del wait
        for _, version in self._turns.values():
            version.append(self._engine.version)
        ended = [ticket for ticket, (whole, version) in self._turns.items() if len(version) >= len(whole.ids)]
        return [
            (ticket, whole._replace(version=version))
            for ticket in ended
            for whole, version in [self._turns.pop(ticket)]
        ]

    def interrupt(self, ticket: int) -> Partial:
        whole, version = self._turns.pop(ticket)
        n = len(version)
        return Partial(whole.ids[:n], whole.logp[:n], whole.behaviour_logp[:n], version)

    def __len__(self) -> int:
        return len(self._turns)

    def close(self) -> None:
        self._turns = {}
