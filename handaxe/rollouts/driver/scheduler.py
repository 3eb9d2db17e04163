"""Scheduling of plans: takes requests, delivers answers, and ends plans."""

from collections.abc import Callable, Sequence

from handaxe.core.errors import InfrastructureError
from handaxe.core.protocols import Bounded, Stream
from handaxe.core.records import Trajectory
from handaxe.core.requests import Act, Completion, EnvReply, Measure, Partial, Sample, Spawn, Stopped, Work
from handaxe.rollouts.driver.executor import Answer, Executor
from handaxe.rollouts.driver.live_plans import LiveAttempt, LivePlan, Segment
from handaxe.rollouts.driver.replies import make_reply

__all__ = ["Scheduler"]

NOTHING = Partial([], [], [], [])


class Scheduler:
    """Tables of plans by kind of pending request, and the transitions between tables.

        new        not begun                          sampling   its Sample is in the stream, by the stream's ticket
        queued     a Sample, not submitted yet        executing  its Act or Work is with the executor, by ticket
        held       the segment is used up, by key     finished   trajectories of finished rollouts, by order
        waiting    a Work that opens an environment beyond the limit on open environments
        measuring  a Measure, to be answered by the driver in one batch

    A plan with a pending Spawn is in no table.

    Args:
        stream: executes Sample.
        executor: executes Act and Work.
        queue: a Sample waits in `queued` until the driver submits it.
    """

    def __init__(self, stream: Stream, executor: Executor, *, queue: bool):
        self.stream, self.executor = stream, executor
        self._queue = queue
        self.live: dict[str, LiveAttempt] = {}
        self.new: list[LivePlan] = []
        self.queued: list[LivePlan] = []
        self.sampling: dict[int, LivePlan] = {}
        self.executing: dict[int, LivePlan] = {}
        self.held: dict[tuple[int, ...], LivePlan] = {}
        self.waiting: list[LivePlan] = []
        self.measuring: list[LivePlan] = []
        self._open: dict[tuple[int, ...], object] = {}  # plans with an environment of a bounded factory
        self.finished: dict[int, tuple[LiveAttempt, list[Trajectory]]] = {}
        self.segment = Segment()
        self._tickets = 0

    @property
    def busy(self) -> bool:
        """True if any plan gets an answer without a new segment."""
        return bool(self.sampling or self.executing or self.queued or self.measuring or self.new)

    def is_held(self, live: LiveAttempt) -> bool:
        """True if all plans of a rollout are held."""
        return all(key in self.held or isinstance(plan.request, Spawn) for key, plan in live.plans.items())

    def clear(self) -> list[LivePlan]:
        """Drop everything; returns the plans, each before its spawned plans."""
        plans = [plan for live in self.live.values() for plan in live.plans.values()]
        for table in (self.live, self.new, self.queued, self.sampling, self.executing, self.held, self.finished):
            table.clear()  # type: ignore[attr-defined]
        self.waiting.clear()
        self.measuring.clear()
        self._open.clear()
        return plans

    def resume(
        self, plan: LivePlan, answer: Completion | EnvReply | object = None, error: BaseException | None = None
    ) -> None:
        """Send an answer to a plan, or raise an error in the plan, and dispatch the next request."""
        live, generator = plan.live, plan.generator
        while True:
            fresh = plan.request is None
            try:
                request = generator.send(answer) if error is None else generator.throw(error)
            except StopIteration as over:
                self._finish(plan, over.value)
                return
            except Stopped:
                if not plan.stop_raised:
                    raise
                self._finish(plan, [])
                return
            plan.request, plan.prefix = request, None
            if isinstance(request, Sample):
                plan.prefix = request.prefix
            if not live.stopping or (isinstance(request, Work) and not fresh):
                self.dispatch(plan)
                return
            if plan.stop_raised:
                raise RuntimeError(f"attempt {live.attempt.id} was stopped and yields {request!r}; it may yield Work")
            plan.stop_raised, error = True, _stopped(plan)

    def dispatch(self, plan: LivePlan) -> None:
        """Start a plan's request, or hold the plan."""
        request = plan.request
        if isinstance(request, Sample):
            if plan.live.used_up(self.segment):
                self.held[plan.key] = plan
            elif self._queue:
                self.queued.append(plan)
            else:
                self.submit(plan)
        elif isinstance(request, Act):
            calls = 0 if request.by else len(request.turn.calls)
            if calls and plan.live.would_exceed(calls, self.segment):
                self.held[plan.key] = plan
            else:
                plan.live.called += calls
                self._execute(plan, request)
        elif isinstance(request, Measure):
            self.measuring.append(plan)
        elif isinstance(request, Work):
            if self._has_room(plan, request):
                self._execute(plan, request)
            else:
                self.waiting.append(plan)
        elif isinstance(request, Spawn):
            self._spawn(plan, request)
        else:
            raise TypeError(f"attempt {plan.live.attempt.id} yields a {type(request).__name__}, which is no request")

    def submit(self, plan: LivePlan) -> None:
        """Submit a plan's Sample to the stream."""
        request = plan.request
        assert isinstance(request, Sample)
        plan.ticket = self.stream.submit(plan.next_request(request, self.segment))
        self.sampling[plan.ticket] = plan

    def sampled(self, ticket: int, completion: Completion | InfrastructureError) -> None:
        """Resume a plan with its completion, or with a server's failure; a turn cut by the segment continues later."""
        plan = self.sampling.pop(ticket)
        if isinstance(completion, InfrastructureError):
            self.resume(plan, None, completion)
            return
        request = plan.request
        assert isinstance(request, Sample)
        whole = plan.completed(completion, request)
        if whole is None:
            self.dispatch(plan)
        else:
            self.resume(plan, whole)

    def measured(self, answer: Callable[[Sequence[Measure]], list[dict[str, list[float]]]]) -> None:
        """Answer all pending Measures in one batch, in the order of their plans."""
        plans, self.measuring = sorted(self.measuring, key=lambda plan: plan.key), []
        for plan, found in zip(plans, answer([plan.request for plan in plans]), strict=True):  # type: ignore[misc]
            self.resume(plan, found)

    def executed(self, ticket: int, answer: Answer) -> None:
        """Resume a plan with the result of its Act or Work."""
        plan, error = self.executing.pop(ticket), answer.error
        if isinstance(error, KeyboardInterrupt):
            raise error
        if isinstance(plan.request, Act):
            self.resume(plan, make_reply(answer))
        elif error is None or isinstance(error, Exception):
            self.resume(plan, answer.value, error)
        else:  # a SystemExit in a thread does not end the run
            died = InfrastructureError(f"{type(error).__name__}: {error}")
            died.__cause__ = error
            self.resume(plan, None, died)

    def interrupt(self, plan: LivePlan) -> None:
        """Raise Stopped in a plan of a stopping rollout; a plan that waits for Work or other plans is stopped later."""
        request = plan.request
        if plan in self.waiting:
            self.waiting.remove(plan)
            plan.stop_raised = True
            self.resume(plan, error=_stopped(plan))
            return
        if isinstance(request, Work | Spawn) or plan.stop_raised:
            return
        if plan.ticket in self.sampling and self.sampling[plan.ticket] is plan:
            self.take_out(plan)
        elif plan.ticket in self.executing and self.executing[plan.ticket] is plan:
            del self.executing[plan.ticket]
            self.executor.forget(plan.ticket)
        elif plan in self.measuring:
            self.measuring.remove(plan)
        elif self.held.pop(plan.key, None) is None:
            (self.new if request is None else self.queued).remove(plan)
        if request is None:
            self.resume(plan)
        else:
            plan.stop_raised = True
            self.resume(plan, error=_stopped(plan))

    def take_out(self, plan: LivePlan) -> None:
        """Remove a plan's Sample from the stream, and store its sampled tokens."""
        plan.interrupted(self.stream.interrupt(plan.ticket))
        del self.sampling[plan.ticket]

    def _has_room(self, plan: LivePlan, request: Work) -> bool:
        """Check the limit on open environments, and reserve a place for the plan until its end."""
        if not isinstance(request.opens, Bounded):
            return True
        if sum(other is request.opens for other in self._open.values()) >= request.opens.most:
            return False
        self._open[plan.key] = request.opens
        return True

    def _let_in(self) -> None:
        """Start the Works that now fit the limit, in order of arrival."""
        waiting, self.waiting = self.waiting, []
        for plan in waiting:
            self.dispatch(plan)

    def _execute(self, plan: LivePlan, request: Act | Work) -> None:
        plan.ticket = self._tickets
        self._tickets += 1
        self.executing[plan.ticket] = plan
        self.executor.submit(plan.ticket, request)

    def _spawn(self, plan: LivePlan, request: Spawn) -> None:
        plan.answers = [[] for _ in request.plans]
        plan.unanswered = len(request.plans)
        for place, generator in enumerate(request.plans):
            self.new.append(LivePlan(plan.live, generator, (*plan.key, place), plan))
        if not plan.unanswered:
            self.resume(plan, [])

    def _finish(self, plan: LivePlan, result: list[Trajectory]) -> None:
        live, parent = plan.live, plan.parent
        del live.plans[plan.key]
        if self._open.pop(plan.key, None) is not None:
            self._let_in()
        if parent is None:
            del self.live[live.attempt.id]
            self.finished[live.order] = (live, result)
            return
        parent.answers[plan.key[-1]] = result
        parent.unanswered -= 1
        if not parent.unanswered:
            if live.stopping and not parent.stop_raised:
                parent.stop_raised = True
                self.resume(parent, error=Stopped(None, parent.answers))
            else:
                self.resume(parent, parent.answers)


def _stopped(plan: LivePlan) -> Stopped:
    if isinstance(plan.request, Sample):
        return Stopped(plan.prefix or NOTHING)
    if isinstance(plan.request, Spawn):
        return Stopped(None, [[] for _ in plan.request.plans])
    return Stopped()
