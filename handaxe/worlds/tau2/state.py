"""State of a rollout in tau2: databases, calls, and the final judgement."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from handaxe.core.errors import Failed, TaskError
from handaxe.core.records import ToolSchema
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.definition import Definition
from handaxe.worlds.tau2.domains import Domain, package
from handaxe.worlds.tau2.orders import is_composed, raw_orders

__all__ = [
    "BASIS",
    "CALCULATION",
    "Call",
    "HAND_OVER",
    "ServiceState",
    "Side",
    "gold_actions",
    "kit_tools",
    "raw_task",
    "same_call",
    "transfers",
]

Side = Literal["assistant", "user"]
BASIS = ("DB", "COMMUNICATE")
"""Default basis of a task's judgement."""
CALCULATION = 100
"""Character limit of the package's calculator, which evaluates its input."""
HAND_OVER = "transfer_to_human_agents"


class Call(NamedTuple):
    """Executed call of the agent ("assistant") or the user, or a reference call. `counts`: the arguments to compare,
    None for all given ones.
    """

    side: Side
    name: str
    arguments: Mapping[str, Any]
    counts: tuple[str, ...] | None = None


class ServiceState:
    """Databases of a rollout, in the first state. Methods from the toolkits are tools.

    Args:
        domain: domain of the package.
        scenario: id of a task of the package.
    """

    def __init__(self, domain: Domain, scenario: str):
        self.domain, self.scenario = domain, scenario
        self.calls: list[Call] = []
        self.env = package(domain).new()
        for one in (raw_task(domain, scenario).get("initial_state") or {}).get("initialization_actions") or ():
            self._function(one)

    def call(self, side: Side, name: str, arguments: Mapping[str, Any]) -> str:
        """Execute a tool of a side's toolkit, then synchronize carrier and phone.

        Raises:
            Failed: the tool rejected the call; the caller reads the reason.
        """
        kit = self.env.tools if side == "assistant" else self.env.user_tools
        self.calls.append(Call(side, name, copy.deepcopy(dict(arguments))))
        if name == "calculate":
            _check_expression(arguments.get("expression"))
        try:
            said = kit.use_tool(name, **arguments)
            self._name_new_bills()
            self.env.sync_tools()
            return self.env.to_json_str(said)
        except Exception as error:  # the package's tools raise any exception
            raise Failed(f"Error: {error}") from None

    def snapshot(self) -> Any:
        return copy.deepcopy((self.env, self.calls))

    def restore(self, state: Any) -> None:
        self.env, self.calls = copy.deepcopy(state)

    def digest(self) -> str:
        """Digest of all entries of both databases; equal digests mean equal states."""
        if tables := package(self.domain).tables:
            parts: Any = {name: _written(getattr(self.env.tools.db, name)) for name in tables}
        else:
            kits = (self.env.tools, self.env.user_tools)
            parts = [kit.db.model_dump(warnings=False) for kit in kits]
        return hashlib.sha256(_told(parts).encode()).hexdigest()[:16]

    def entries(self) -> dict[tuple[str, str], Any]:
        """List the entries that a call of this rollout has accessed: (table, key) -> entry. For retail and airline."""
        tables = {name: getattr(self.env.tools.db, name) for name in package(self.domain).tables}
        return {(name, key): self.entry(name, key) for name, table in tables.items() for key in table.taken()}

    def entry(self, table: str, key: str) -> Any:
        """Return an entry of a table as JSON data, or None. For retail and airline."""
        found = getattr(self.env.tools.db, table).seen(key)
        return None if found is None else found.model_dump(warnings=False)

    def judge(self, said: Sequence[str] = ()) -> dict[str, Any]:
        """Run the package's judges on the current state, for rewards.

            DB             1 if the databases equal those after the reference calls (whose errors are ignored)
            ENV_ASSERTION  1 if every assertion of the task holds
            COMMUNICATE    1 if every required text occurs in the agent's texts, in lower case and without commas
            ACTION         1 if every reference call was made, by either side

        Args:
            said: the agent's texts to the user.

        Returns:
            {"parts": {name: 0.0 or 1.0}, "basis": names that count, "digest": of the state, "gold_digest": after the
            reference calls, "outputs": required texts, "made": number of calls of each side}.
        """
        criteria = raw_task(self.domain, self.scenario)["evaluation_criteria"]
        state, wanted = self.digest(), _gold_digest(self.domain, self.scenario)
        held = all(self._holds(one) for one in criteria.get("env_assertions") or ())
        gold = gold_actions(self.domain, self.scenario)
        outputs = list(criteria.get("communicate_info") or ())
        heard = [text.lower().replace(",", "") for text in said]
        parts = {
            "DB": state == wanted,
            "ENV_ASSERTION": held,
            "COMMUNICATE": all(any(one.lower() in text for text in heard) for one in outputs),
            "ACTION": all(any(same_call(right, call) for call in self.calls) for right in gold),
        }
        sides = [one.side for one in self.calls]
        return {
            "parts": {name: float(value) for name, value in parts.items()},
            "basis": list(criteria.get("reward_basis") or BASIS),
            "digest": state,
            "gold_digest": wanted,
            "outputs": outputs,
            "made": {"assistant": sides.count("assistant"), "user": sides.count("user")},
        }

    def _holds(self, assertion: Mapping[str, Any]) -> bool:
        try:
            return self._function(assertion) == assertion.get("assert_value", True)
        except Exception:  # the state can be anything; an unreadable assertion does not hold
            return False

    def _function(self, one: Mapping[str, Any]) -> Any:
        """Run a non-tool function of a toolkit, for the setup and the assertions of a scenario."""
        kit = self.env.tools if one["env_type"] == "assistant" else self.env.user_tools
        found = getattr(kit, one["func_name"])(**one["arguments"])
        self.env.sync_tools()
        return found

    def _name_new_bills(self) -> None:
        """Number new bills: the package draws their names from the machine."""
        bills = getattr(self.env.tools.db, "bills", ())
        made = {bill.bill_id: f"B{90_000_000 + n}" for n, bill in enumerate(bills) if bill.bill_id not in _bills()}
        for bill in bills:
            bill.bill_id = made.get(bill.bill_id, bill.bill_id)
        for customer in self.env.tools.db.customers if made else ():
            customer.bill_ids = [made.get(one, one) for one in customer.bill_ids]


def raw_task(domain: Domain, scenario: str) -> Mapping[str, Any]:
    """Return a task as in the package's file, or a composed task of retail in its format.

    Raises:
        TaskError: an unknown id.
    """
    if domain == "retail" and is_composed(scenario):
        return raw_orders(scenario)
    found = package(domain).raw.get(scenario)
    if found is None:
        raise TaskError(f"tau2 has no task {scenario[:80]!r} in {domain}: take tasks from the world")
    return found


def gold_actions(domain: Domain, scenario: str) -> tuple[Call, ...]:
    """List the solution of a task: calls in order."""
    return tuple(_gold(one) for one in raw_task(domain, scenario)["evaluation_criteria"].get("actions") or ())


def _gold(one: Mapping[str, Any]) -> Call:
    counts = one.get("compare_args")
    side = one.get("requestor", "assistant")
    return Call(side, one["name"], one["arguments"], None if counts is None else tuple(counts))


def transfers(domain: Domain, scenario: str) -> bool:
    """Check whether a transfer of the user is the only solution."""
    return any(one.name == HAND_OVER for one in gold_actions(domain, scenario))


@functools.lru_cache(maxsize=3)
def kit_tools(domain: Domain) -> Mapping[Side, tuple[Tool, ...]]:
    """List the tools of both sides, unbound: `one.__get__(state, ServiceState)` binds them."""
    env = package(domain).new()
    kits: dict[Side, Any] = {"assistant": env.tools, "user": env.user_tools}
    return {side: tuple(_tool(side, one) for one in (kit.get_tools() if kit else {}).values())
            for side, kit in kits.items()}  # fmt: skip


def _tool(side: Side, told: Any) -> Tool:
    """Tool of the package. Arguments must fit the signature, and are passed on unchanged."""
    name, params = told.name, told.params

    def carry(self, arguments: dict) -> str:
        """Execute a call."""
        return self.call(side, name, arguments)

    class Arguments(BaseModel):
        """Unvalidated arguments."""

        arguments: dict[str, Any]

        @classmethod
        def model_validate(cls, obj: Any) -> Any:  # type: ignore[override]
            params.model_validate(obj)
            return cls.model_construct(arguments=dict(obj))

    function = told.openai_schema["function"]
    made = tool(timeout=None)(carry)
    made.definition = Definition(
        ToolSchema(name, function["description"], function["parameters"]), Arguments, ("arguments",), None
    )
    return made


@functools.lru_cache(maxsize=4096)
def _gold_digest(domain: Domain, scenario: str) -> str:
    state = ServiceState(domain, scenario)
    for one in gold_actions(domain, scenario):
        try:
            state.call(one.side, one.name, one.arguments)
        except Failed:
            continue
    return state.digest()


@functools.lru_cache(maxsize=1)
def _bills() -> frozenset[str]:
    """Names of the bills in scenarios."""
    own = {bill.bill_id for bill in package("telecom").new().tools.db.bills}
    made = [one for raw in package("telecom").raw.values() for one in raw["initial_state"]["initialization_actions"]]
    return frozenset(own | {one["arguments"]["new_bill_id"] for one in made if "new_bill_id" in one["arguments"]})


def _check_expression(expression: Any) -> None:
    """Reject expressions with a risk of blocking the package's calculator, an evaluator of Python."""
    if not isinstance(expression, str) or len(expression) > CALCULATION or "**" in expression.replace(" ", ""):
        raise Failed(f"Error: give an expression of at most {CALCULATION} characters, without powers")


def same_call(reference: Call, call: Call) -> bool:
    """Compare by the package's rule: equal names and equal relevant arguments (by default the given arguments)."""
    counts = set(call.arguments if reference.counts is None else reference.counts)
    names, wanted = ({k: v for k, v in one.arguments.items() if k in counts} for one in (call, reference))
    return reference.name == call.name and names == wanted


def _written(table: Any) -> dict[str, str]:
    """Changed entries of a shared table."""
    told = {key: (_entry(table.seen(key)), _entry(table.shared.get(key))) for key in table.taken()}
    return {key: now for key, (now, before) in told.items() if now != before}


def _entry(value: Any) -> str:
    return _told(value.model_dump(warnings=False) if isinstance(value, BaseModel) else value)


def _told(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
