"""Databases of tau2: reference calls reach the reference state, and rollouts are isolated."""

import os

import pytest

pytest.importorskip("tau2")

from handaxe.core.errors import Failed, TaskError
from handaxe.worlds.tau2.domains import package
from handaxe.worlds.tau2.state import ServiceState, gold_actions, kit_tools, transfers

COUNTS = {"telecom": (2285, 32, 0), "retail": (114, 4, 7), "airline": (50, 1, 19)}
"""How many tasks there are, in how many the user can only be handed over, and how many are right untouched."""
SOLVES = "[service_issue]airplane_mode_on[PERSONA:None]"


def worth(state, said=()):
    found = state.judge(said)
    return all(found["parts"][name] for name in found["basis"])


def told(domain, scenario):
    return package(domain).raw[scenario]["evaluation_criteria"].get("communicate_info") or ()


def replayed(domain, scenario):
    state = ServiceState(domain, scenario)
    for one in gold_actions(domain, scenario):
        try:
            state.call(one.side, one.name, one.arguments)
        except Failed:
            assert domain == "retail", "the right calls of the others never fail"
    return state


@pytest.mark.slow
@pytest.mark.parametrize("domain", COUNTS)
def test_reference_calls_of_every_task_score_1(domain):
    """All 2,285 of telecom, 114 of retail, 50 of airline; without the calls telecom tasks fail."""
    raw = package(domain).raw
    assert (len(raw), sum(transfers(domain, one) for one in raw)) == COUNTS[domain][:2]
    assert [one for one in raw if not worth(replayed(domain, one), told(domain, one))] == []
    some = list(raw)[:: 10 if domain == "telecom" else 1]
    assert sum(worth(ServiceState(domain, one)) for one in some) == COUNTS[domain][2]


def test_a_missing_part_scores_0():
    state = ServiceState("retail", "3")
    for one in gold_actions("retail", "3"):
        if one.name != "get_product_details":
            state.call(one.side, one.name, one.arguments)
    assert worth(state, ["There are 1,0 of them"]) and not worth(state, ["There are nine"])
    assert state.judge(["10"])["parts"]["ACTION"] == 0
    place = dict.fromkeys(("address1", "address2", "city", "state", "country", "zip"), "x")
    state.call("assistant", "modify_user_address", {"user_id": "yusuf_rossi_9620", **place})
    assert not worth(state, ["10"])


def test_reads_change_nothing_and_writes_stay_in_one_rollout():
    first, other = ServiceState("retail", "0"), ServiceState("retail", "0")
    before = first.digest()
    first.call("assistant", "get_order_details", {"order_id": "#W2378156"})
    first.call("assistant", "find_user_id_by_name_zip", {"first_name": "Yusuf", "last_name": "Rossi", "zip": "19122"})
    assert first.digest() == before
    for one in gold_actions("retail", "0"):
        first.call(one.side, one.name, one.arguments)
    assert first.digest() != before == other.digest() == ServiceState("retail", "0").digest()


def test_a_broken_vpn_affects_one_phone():
    """The package shares one VPN among all phones and writes into it."""
    ServiceState("telecom", "[mobile_data_issue]bad_vpn[PERSONA:None]")
    other = ServiceState("telecom", SOLVES)
    other.call("user", "toggle_airplane_mode", {})
    other.call("user", "connect_vpn", {})
    assert "(Excellent)" in other.call("user", "run_speed_test", {})


def test_names_of_new_bills_are_deterministic():
    line = {"customer_id": "C1003", "line_id": "L1009", "gb_amount": 2.0}
    texts = []
    for _ in range(2):
        state = ServiceState("telecom", SOLVES)
        state.call("assistant", "refuel_data", line)
        texts.append(state.call("assistant", "get_bills_for_customer", {"customer_id": "C1003"}))
    assert texts[0] == texts[1] and "B900000" in texts[0]


def test_a_snapshot_is_independent_of_later_calls():
    for domain, scenario in (("telecom", SOLVES), ("retail", "0"), ("airline", "12")):
        state = ServiceState(domain, scenario)
        before, kept = state.digest(), state.snapshot()
        for one in gold_actions(domain, scenario):
            state.call(one.side, one.name, one.arguments)
        after = state.digest()
        other = ServiceState(domain, scenario)
        other.restore(kept)
        assert other.digest() == before != after and other.calls == []
        state.restore(kept)
        for one in gold_actions(domain, scenario):
            state.call(one.side, one.name, one.arguments)
        assert state.digest() == after


@pytest.mark.parametrize("expression", ["9**9**9**9", "9* *9", 5, "1+" * 60 + "1", "import os", "1/0"])
def test_the_calculator_rejects_expensive_expressions(expression):
    with pytest.raises(Failed):
        ServiceState("retail", "0").call("assistant", "calculate", {"expression": expression})
    assert ServiceState("retail", "0").call("assistant", "calculate", {"expression": "2 * 3"}) == "6.0"


@pytest.mark.parametrize("arguments", [{}, {"mode": 5}, {"mode": "4g", "x": 1}, {"apn_settings": {}}, {"mode": []}])
def test_any_call_sequence_can_be_judged(arguments):
    state = ServiceState("telecom", SOLVES)
    for name in ("set_network_mode_preference", "set_apn_settings", "no_such_tool", "set_user_info"):
        try:
            state.call("user", name, arguments)
        except Failed as refused:
            assert str(refused).startswith("Error: ")
    assert not worth(state)


def test_tools_validate_their_arguments():
    tools = {one.schema.name: one for one in kit_tools("telecom")["user"]}
    assert set(tools["grant_app_permission"].schema.parameters["properties"]) == {"app_name", "permission"}
    assert len(tools) == 30 and len(kit_tools("telecom")["assistant"]) == 13 and kit_tools("retail")["user"] == ()


def test_importing_has_no_side_effects():
    before = dict(os.environ)
    package("airline")
    assert dict(os.environ) == before


def test_an_unknown_task_raises():
    with pytest.raises(TaskError, match="no task '7'"):
        ServiceState("telecom", "7")
