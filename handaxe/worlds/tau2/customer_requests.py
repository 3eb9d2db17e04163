"""Customer who makes one request after another: a rule for retail and airline, without a language model.

A request is a state-changing reference call in words, or a question about an order. If the package requires texts, the
last request asks for them in the scenario's own words. The customer makes the next request after any text of the agent,
whether the last one is fulfilled or not.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import Failed
from handaxe.core.records import Criterion, Message, Task, Trajectory
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.parts.met_by_turn import met_by_turn
from handaxe.worlds.tau2.domains import Domain, package
from handaxe.worlds.tau2.orders import is_composed, order_requests
from handaxe.worlds.tau2.phone import TRANSFER_NOTICE
from handaxe.worlds.tau2.state import HAND_OVER, Call, ServiceState, gold_actions, raw_task
from handaxe.worlds.tau2.user import STOP, TRANSFER, WORRIES, Manner, first_person
from handaxe.worlds.tau2.wording import request_words
from handaxe.worlds.world import Facts, Split

__all__ = [
    "Change",
    "Request",
    "RequestProgress",
    "check_requests",
    "customer_side",
    "customer_text",
    "is_fulfilled",
    "request_criteria",
    "requests",
    "unusable",
]

OPENINGS = ("Okay. ", "Thanks. ", "Next: ")
DONE = "It is done."
TEST_SHARE = 3
"""Number of groups of customers per group in test."""
LAST = "Last, my question was this, and I want the figures only: "


class Change(NamedTuple):
    """New values of an entry of a table: path in the entry -> value."""

    table: str
    key: str
    values: Mapping[str, Any]


class Request(NamedTuple):
    """Request of the customer.

    said     words of the customer
    calls    reference calls up to the state-changing call
    answer   the expert's text to the customer
    outputs  required texts
    changes  of the databases by the calls
    """

    said: str
    calls: tuple[Call, ...]
    answer: str
    outputs: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


@functools.lru_cache(maxsize=8192)
def requests(domain: Domain, scenario: str) -> tuple[Request, ...]:
    """List the requests of a task, with the changes of the databases that fulfil them; () for an unusable task.

    Example:
        retail task 0  ->  one request: find the user, read the order and two products, exchange two items
    """
    made = _order_requests(scenario) if is_composed(scenario) else _scenario_requests(domain, scenario)
    state, first = ServiceState(domain, scenario), ServiceState(domain, scenario)
    found = list[Request]()
    before: Mapping[tuple[str, str], Any] = {}
    for one in made:
        for call in one.calls:
            _quietly(state, call)
        after = state.entries()
        old = {(table, key): first.entry(table, key) for table, key in after}
        found.append(one._replace(changes=_changes({**old, **before}, after)))
        before = after
    return tuple(found)


def unusable(domain: Domain) -> dict[str, str]:
    """List the package's tasks without a request: id -> reason."""
    found = {}
    for scenario in package(domain).raw:
        if not requests(domain, scenario):
            gold = gold_actions(domain, scenario)
            found[scenario] = "its state-changing calls are rejected" if _writes(domain, gold) else "it changes nothing"
    return found


def is_fulfilled(request: Request, state: ServiceState, said: Sequence[str]) -> bool:
    """Check whether the changes of a request are in the databases, and its required texts in the agent's texts."""
    heard = [text.lower().replace(",", "") for text in said]
    held = (_paths(state.entry(one.table, one.key)).items() >= one.values.items() for one in request.changes)
    return all(any(one.lower() in text for text in heard) for one in request.outputs) and all(held)


class RequestProgress:
    """Progress of a rollout through the requests `asked`: the current one, and the fulfilled ones.

    share    fulfilled requests / all requests; a request that was fulfilled once stays so
    """

    def __init__(self, asked: Sequence[Request]):
        self.asked = tuple(asked)
        self._met = [False] * len(asked)
        self._current, self._before = 0, 0

    @property
    def share(self) -> float:
        return sum(self._met) / max(1, len(self._met))

    def turn_to_next(self, calls: int) -> None:
        """Begin the next request after a number of calls of the rollout."""
        self._current, self._before = self._current + 1, calls

    def facts(self, state: ServiceState, said: Sequence[str]) -> dict[str, Any]:
        """Return facts: the current request, calls since its beginning, fulfilled requests and their share."""
        self._met = [old or is_fulfilled(one, state, said) for old, one in zip(self._met, self.asked)]
        count = {"request": self._current, "calls": len(state.calls) - self._before}
        return {**count, "met": list(self._met), "progress": self.share}

    def snapshot(self) -> Any:
        return tuple(self._met), self._current, self._before

    def restore(self, state: Any) -> None:
        met, self._current, self._before = state
        self._met = list(met)


def customer_text(view: Sequence[Message], asked: Sequence[Request], manner: Manner, rng: random.Random) -> str:
    """Compute the customer's reply to a text of the agent: the next request, or the ending word after the last.

    A customer who balks asks the agent to repeat the text, once; a customer who chats puts a word before the request.
    A transferred customer ends the conversation.

    Args:
        view: the customer's messages; see `user.Customer`.
        asked: requests of the task.
        manner: probabilities of balking and chatting.
        rng: source of random numbers.
    """
    if TRANSFER_NOTICE.search(view[-1].content):
        return TRANSFER
    mine = [one.content for one in view if one.role == "assistant"]
    if mine[-1] not in WORRIES and rng.random() < manner.balks:
        return rng.choice(WORRIES)
    made = sum(one not in WORRIES for one in mine)
    if made >= len(asked):
        return STOP
    opening = rng.choice(OPENINGS) if rng.random() < manner.chats else ""
    return opening + asked[made].said


@functools.lru_cache(maxsize=2)
def customer_side(domain: Domain) -> Mapping[str, Split]:
    """Split of the package's usable tasks by customer; tasks with a common customer are on one side.

    The package's own split has tasks of 20 customers of retail on both sides.
    """
    owners = {one: _owners(domain, one) for one in package(domain).raw if requests(domain, one)}
    sides: dict[str, Split] = {}
    for one in owners:
        group, more = set[str](), owners[one]
        while more:
            group |= more
            more = {owner for mine in owners.values() if mine & group for owner in mine} - group
        sides[one] = content_split("tau2 customers", *sorted(group), one_in=TEST_SHARE)
    return sides


def request_criteria(task: Task) -> list[Criterion]:
    """List a criterion for each request of a task."""
    asked = requests(task.metadata["domain"], task.metadata["scenario"])
    return [Criterion(f"request {n}", f"The request is fulfilled: {one.said[:400]}") for n, one in enumerate(asked)]


def check_requests(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
    """Check criteria by the databases after each turn; met criteria stay met.

    Returns:
        [C, N] bool: criterion c is met after turn n of the policy.
    """
    numbers = [int(one.name.split()[1]) for one in criteria]

    def met(facts: Facts) -> list[bool]:
        found = facts.get("met")
        return [bool(found and found[number]) for number in numbers]

    return met_by_turn(trajectory, criteria, met)


def _order_requests(scenario: str) -> Iterator[Request]:
    for one in order_requests(scenario):
        calls = tuple(Call("assistant", each["name"], each["arguments"]) for each in one.actions)
        yield Request(one.said, calls, one.output or "done", (one.output,) if one.output else ())


def _scenario_requests(domain: Domain, scenario: str) -> list[Request]:
    """A request for each state-changing reference call, and one for the required texts."""
    raw, state = raw_task(domain, scenario), ServiceState(domain, scenario)
    made, waiting = list[Request](), list[Call]()
    for one in gold_actions(domain, scenario):
        words = request_words(one.name, one.arguments, state.env.tools.db) if _writes(domain, (one,)) else ""
        before = state.digest()
        rejected = not _quietly(state, one)
        if one.name == HAND_OVER or (words and rejected):
            continue
        waiting.append(one)
        if state.digest() != before:
            made.append(Request(words, tuple(waiting), DONE))
            waiting = []
    if not made:
        return []
    told = raw["user_scenario"]["instructions"]
    made[0] = made[0]._replace(said=f"{first_person(str(told['known_info'] or ''))} {made[0].said}".strip())
    if outputs := tuple(raw["evaluation_criteria"].get("communicate_info") or ()):
        said = LAST + first_person(str(told["reason_for_call"]))
        return [*made, Request(said, tuple(waiting), f"It is: {'; '.join(outputs)}.", outputs)]
    return made


def _writes(domain: Domain, calls: Sequence[Call]) -> bool:
    """Whether a tool of the calls writes."""
    kit = package(domain).new().tools
    return any(kit.tool_type(one.name).value == "write" for one in calls)


def _quietly(state: ServiceState, call: Call) -> bool:
    """Execute a call; False for a rejected call."""
    try:
        state.call(call.side, call.name, call.arguments)
    except Failed:
        return False
    return True


def _owners(domain: Domain, scenario: str) -> set[str]:
    """Customers whose entries the requests of a task change, and customers whom its calls name."""
    db, found = package(domain).new().tools.db, set()
    for request in requests(domain, scenario):
        found |= {call.arguments["user_id"] for call in request.calls if "user_id" in call.arguments}
        for one in request.changes:
            entry = getattr(db, one.table).seen(one.key)
            found.add(one.values.get(".user_id") or getattr(entry, "user_id", None))  # a flight has no customer
    return found - {None}


def _changes(before: Mapping[tuple[str, str], Any], after: Mapping[tuple[str, str], Any]) -> tuple[Change, ...]:
    found = []
    for (table, key), entry in after.items():
        old = _paths(before.get((table, key)))
        values = {path: value for path, value in _paths(entry).items() if path not in old or old[path] != value}
        if values:
            found.append(Change(table, key, values))
    return tuple(found)


def _paths(entry: Any, path: str = "") -> dict[str, Any]:
    """Values of an entry by path; lists are values."""
    if not isinstance(entry, Mapping):
        return {} if entry is None and not path else {path: entry}
    return {key: value for name, one in entry.items() for key, value in _paths(one, f"{path}.{name}").items()}
