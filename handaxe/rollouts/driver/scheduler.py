"""Where plans stand while they wait: takes their requests, hands them their answers, and ends them."""

from handaxe.errors import InfrastructureError
from handaxe.exchange import Act, Completion, EnvReply, Partial, Sample, Spawn, Stopped, Work
from handaxe.records import Trajectory
from handaxe.rollouts.driver.executor import Answer, Executor
from handaxe.rollouts.driver.live_plans import Live, Segment, Strand
from handaxe.rollouts.driver.replies import reply_of
from handaxe.slots import Stream

__all__ = ["Floor"]

NOTHING = Partial([], [], [], [])


class Floor:
    """The tables of a driver, one for each thing that a plan may wait for, and how it moves from one to the next.

    Args:
        stream: for those who speak.
        hands: for those who act.
        queue: who speaks waits in `queued` until the driver submits it.
    """

    def __init__(self, stream: Stream, hands: Executor, *, queue: bool):
        self.stream, self.hands, self._queue = stream, hands, queue
        self.live: dict[str, Live] = {}
        self.new: list[Strand] = []
        self.queued: list[Strand] = []
        self.speaking: dict[int, Strand] = {}
        self.acting: dict[int, Strand] = {}
        self.held: dict[tuple[int, ...], Strand] = {}
        self.over: dict[int, tuple[Live, list[Trajectory]]] = {}
        self.segment = Segment()
        self._tickets = 0

    @property
    def moving(self) -> bool:
        """Whether anybody is on the way to an answer."""
        return bool(self.speaking or self.acting or self.queued or self.new)

    def stuck(self, live: Live) -> bool:
        """Whether all of an attempt is held."""
        return all(key in self.held or isinstance(part.request, Spawn) for key, part in live.parts.items())

    def clear(self) -> list[Strand]:
        """Forget everything; the parts there were, who spawned before who was."""
        parts = [part for live in self.live.values() for part in live.parts.values()]
        for table in (self.live, self.new, self.queued, self.speaking, self.acting, self.held, self.over):
            table.clear()  # type: ignore[attr-defined]
        return parts

    def go(
        self, part: Strand, answer: Completion | EnvReply | object = None, error: BaseException | None = None
    ) -> None:
        """Hand a plan its answer, and do what it wants next."""
        live, plan = part.live, part.plan
        while True:
            fresh = part.request is None
            try:
                request = plan.send(answer) if error is None else plan.throw(error)
            except StopIteration as over:
                self._end(part, over.value)
                return
            except Stopped:
                if not part.told:
                    raise
                self._end(part, [])
                return
            part.request, part.begun = request, None
            if isinstance(request, Sample):
                part.begun = request.begun
            if not live.stopping or (isinstance(request, Work) and not fresh):
                self.dispatch(part)
                return
            if part.told:
                raise RuntimeError(f"attempt {live.attempt.id} was stopped and yields {request!r}; it may yield Work")
            part.told, error = True, _stopped(part)

    def dispatch(self, part: Strand) -> None:
        """Have a plan's request carried out, or hold it."""
        request = part.request
        if isinstance(request, Sample):
            if part.live.used_up(self.segment):
                self.held[part.key] = part
            elif self._queue:
                self.queued.append(part)
            else:
                self.submit(part)
        elif isinstance(request, Act):
            calls = len(request.turn.calls)
            if calls and part.live.would_exceed(calls, self.segment):
                self.held[part.key] = part
            else:
                part.live.called += calls
                self._hand(part, request)
        elif isinstance(request, Work):
            self._hand(part, request)
        elif isinstance(request, Spawn):
            self._spawn(part, request)
        else:
            raise TypeError(f"attempt {part.live.attempt.id} yields a {type(request).__name__}, which is no request")

    def submit(self, part: Strand) -> None:
        """Put one who speaks into the stream."""
        request = part.request
        assert isinstance(request, Sample)
        part.ticket = self.stream.submit(part.wanted(request, self.segment))
        self.speaking[part.ticket] = part

    def say(self, ticket: int, completion: Completion | InfrastructureError) -> None:
        """Hand over what was sampled, unless the segment cut it; or why a server far away could not."""
        part = self.speaking.pop(ticket)
        if isinstance(completion, InfrastructureError):
            self.go(part, None, completion)
            return
        request = part.request
        assert isinstance(request, Sample)
        whole = part.spoken(completion, request)
        if whole is None:
            self.dispatch(part)
        else:
            self.go(part, whole)

    def hear(self, ticket: int, answer: Answer) -> None:
        """Hand over what came of an Act or of Work."""
        part, error = self.acting.pop(ticket), answer.error
        if isinstance(error, KeyboardInterrupt):
            raise error
        if isinstance(part.request, Act):
            self.go(part, reply_of(answer))
        elif error is None or isinstance(error, Exception):
            self.go(part, answer.value, error)
        else:  # a SystemExit in a thread is no reason to end the run
            died = InfrastructureError(f"{type(error).__name__}: {error}")
            died.__cause__ = error
            self.go(part, None, died)

    def interrupt(self, part: Strand) -> None:
        """Tell a plan of an attempt that is stopping; one that waits for Work or other plans is told afterwards."""
        request = part.request
        if isinstance(request, Work | Spawn) or part.told:
            return
        if part.ticket in self.speaking and self.speaking[part.ticket] is part:
            self.silence(part)
        elif part.ticket in self.acting and self.acting[part.ticket] is part:
            del self.acting[part.ticket]
            self.hands.forget(part.ticket)
        elif self.held.pop(part.key, None) is None:
            (self.new if request is None else self.queued).remove(part)
        if request is None:
            self.go(part)
        else:
            part.told = True
            self.go(part, error=_stopped(part))

    def silence(self, part: Strand) -> None:
        """Take one who speaks out of the stream, and keep what it has said."""
        part.interrupted(self.stream.interrupt(part.ticket))
        del self.speaking[part.ticket]

    def _hand(self, part: Strand, request: Act | Work) -> None:
        part.ticket = self._tickets
        self._tickets += 1
        self.acting[part.ticket] = part
        self.hands.submit(part.ticket, request)

    def _spawn(self, part: Strand, request: Spawn) -> None:
        part.answers = [[] for _ in request.plans]
        part.missing = len(request.plans)
        for place, plan in enumerate(request.plans):
            self.new.append(Strand(part.live, plan, (*part.key, place), part))
        if not part.missing:
            self.go(part, [])

    def _end(self, part: Strand, result: list[Trajectory]) -> None:
        live, parent = part.live, part.parent
        del live.parts[part.key]
        if parent is None:
            del self.live[live.attempt.id]
            self.over[live.order] = (live, result)
            return
        parent.answers[part.key[-1]] = result
        parent.missing -= 1
        if not parent.missing:
            if live.stopping and not parent.told:
                parent.told = True
                self.go(parent, error=Stopped(None, parent.answers))
            else:
                self.go(parent, parent.answers)


def _stopped(part: Strand) -> Stopped:
    if isinstance(part.request, Sample):
        return Stopped(part.begun or NOTHING)
    if isinstance(part.request, Spawn):
        return Stopped(None, [[] for _ in part.request.plans])
    return Stopped()
