"""Driver state per rollout: plans, pending requests, and usage of the segment."""

from __future__ import annotations

from dataclasses import replace

from handaxe.core.protocols import RolloutPlan
from handaxe.core.records import Trajectory
from handaxe.core.requests import Act, Attempt, Completion, Measure, Partial, Sample, Spawn, Work

__all__ = ["LiveAttempt", "LivePlan", "Segment"]


class Segment:
    """Limits per rollout until it is held; None is unlimited."""

    __slots__ = ("calls", "tokens")

    def __init__(self, tokens: int | None = None, calls: int | None = None):
        self.tokens, self.calls = tokens, calls


class LiveAttempt:
    """Unfinished rollout. `tokens` counts all sampled tokens; `added` and `called` count since the segment began."""

    __slots__ = ("added", "attempt", "called", "order", "plans", "stopping", "tokens")

    def __init__(self, attempt: Attempt, order: int):
        self.attempt, self.order = attempt, order
        self.plans: dict[tuple[int, ...], LivePlan] = {}
        self.tokens = self.added = self.called = 0
        self.stopping = False

    def used_up(self, segment: Segment) -> bool:
        """True if this segment allows no further token or call."""
        spent = segment.tokens is not None and self.added >= segment.tokens
        return spent or (segment.calls is not None and self.called >= segment.calls)

    def would_exceed(self, calls: int, segment: Segment) -> bool:
        """True if these calls must wait for the next segment. Calls beyond the limit are admitted at its start."""
        over = segment.calls is not None and self.called + calls > segment.calls
        return self.used_up(segment) or (over and self.called > 0)

    def count(self, tokens: int) -> None:
        """Count sampled tokens."""
        self.tokens += tokens
        self.added += tokens


class LivePlan:
    """Plan of a rollout: the main plan or a spawned one. `key` orders the plans of all rollouts.

    request      pending request; None before the start
    ticket       of this request, in the stream or with the executor
    prefix       sampled tokens of the pending turn, from earlier segments
    allowed      token limit of this turn at the end of the segment
    answers      return values of spawned plans; `unanswered` of them are missing
    stop_raised  Stopped was raised in the plan
    """

    __slots__ = (
        "allowed",
        "answers",
        "cost",
        "generator",
        "key",
        "live",
        "parent",
        "prefix",
        "request",
        "seconds",
        "stop_raised",
        "ticket",
        "unanswered",
    )

    def __init__(self, live: LiveAttempt, generator: RolloutPlan, key: tuple[int, ...], parent: LivePlan | None = None):
        self.live, self.generator = live, generator
        self.key, self.parent = key, parent
        self.request: Sample | Measure | Act | Work | Spawn | None = None
        self.ticket = -1
        self.prefix: Partial | None = None
        self.allowed = 0
        self.seconds = self.cost = 0.0
        self.answers: list[list[Trajectory]] = []
        self.unanswered = 0
        self.stop_raised = False
        live.plans[key] = self

    def next_request(self, request: Sample, segment: Segment) -> Sample:
        """Return the request for the stream: limited to the rest of the segment, continuing the prefix."""
        most = self.allowed = request.sampling.max_tokens
        if segment.tokens is not None and not request.by:
            self.allowed = min(most, self.written() + segment.tokens - self.live.added)
        sampling = request.sampling if self.allowed == most else replace(request.sampling, max_tokens=self.allowed)
        if sampling is request.sampling and self.prefix is request.prefix:
            return request
        return request._replace(sampling=sampling, prefix=self.prefix)

    def written(self) -> int:
        """Number of tokens in `prefix`."""
        return 0 if self.prefix is None else len(self.prefix.ids)

    def interrupted(self, partial: Partial) -> None:
        """Store the sampled tokens of an unfinished turn."""
        if not (isinstance(self.request, Sample) and self.request.by):
            self.live.count(len(partial.ids) - self.written())
        if partial.ids:
            self.prefix = partial

    def completed(self, completion: Completion, request: Sample) -> Completion | None:
        """Return the whole turn; None if only the segment ended, with the tokens stored as the prefix."""
        if not request.by:
            self.live.count(len(completion.ids) - self.written())
        if self.seconds or self.cost:
            seconds, cost = self.seconds + completion.seconds, self.cost + completion.cost
            completion = completion._replace(seconds=seconds, cost=cost)
        cut = completion.finish == "length" and len(completion.ids) < request.sampling.max_tokens
        if cut and self.allowed < request.sampling.max_tokens:
            self.prefix = Partial(completion.ids, completion.logp, completion.behaviour_logp, completion.version)
            self.seconds, self.cost = completion.seconds, completion.cost
            return None
        self.prefix = None
        self.seconds = self.cost = 0.0
        return completion
