import json
import threading

import pytest

pytest.importorskip("bfcl_eval")

from handaxe.core.errors import Failed, TaskError
from handaxe.worlds.bfcl.package import new_simulator, read_descriptions
from handaxe.worlds.bfcl.simulators import Simulators


def test_results_are_texts_in_bfcls_format():
    made = Simulators({}, ["MathAPI"])
    assert made.call("add", {"a": 1, "b": 2}) == '{"result": 3}'
    assert made.call("square_root", {"number": 2, "precision": 5}) == "{'result': Decimal('1.4142')}"
    with pytest.raises(Failed, match="Cannot divide by zero"):
        made.call("divide", {"a": 1, "b": 0})
    assert made.results == [
        '{"result": 3}',
        "{'result': Decimal('1.4142')}",
        '{"error": "Cannot divide by zero"}',
    ]


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("power", {"base": 10, "exponent": 10**9}),
        ("power", {"base": 10**30, "exponent": 9}),
        ("square_root", {"number": 2, "precision": 10**9}),
        ("logarithm", {"value": "1e999999999", "base": 10, "precision": 5}),
        ("round_number", {"number": 5, "decimal_places": -(10**9)}),
        ("sum_values", {"numbers": [1, [10**40]]}),
    ],
)
def test_expensive_numbers_are_rejected(name, arguments):
    with pytest.raises(Failed, match="too large a number|must be a number"):
        Simulators({}, ["MathAPI"]).call(name, arguments)


@pytest.mark.parametrize("name", ["_load_scenario", "__init__", "__class__", "no_such", "_made", "_api_description"])
def test_only_described_functions_are_reachable(name):
    with pytest.raises(Failed, match="is not defined"):
        Simulators({}, ["GorillaFileSystem"]).call(name, {})


def test_random_draws_repeat_after_restore():
    made = Simulators({}, ["VehicleControlAPI"])
    made.call("displayCarStatus", {"option": "fuel"})
    kept = made.snapshot()
    drawn = [made.call("get_outside_temperature_from_google", {}) for _ in range(3)]
    other = Simulators({}, ["VehicleControlAPI"])
    for one in (made, other):
        one.restore(kept)
        assert [one.call("get_outside_temperature_from_google", {}) for _ in range(3)] == drawn
    assert len(set(drawn)) == 3


def test_a_folder_copied_into_itself_can_be_compared():
    made, gold = Simulators({}, ["GorillaFileSystem"]), Simulators({}, ["GorillaFileSystem"])
    for one in (made, gold):
        one.call("mkdir", {"dir_name": "d"})
    assert made.like(gold)
    for one in (made, gold):
        one.call("cp", {"source": "d", "destination": "d"})
    made.restore(made.snapshot())
    assert made.like(gold) in (True, False)
    assert not made.like(Simulators({}, ["GorillaFileSystem"]))


def test_concurrent_simulators_reply_like_single_ones():
    """Some simulators change constants of their modules during a call."""

    def play():
        made = Simulators({}, ["VehicleControlAPI", "MathAPI"], long_context=True)
        for precision in range(3, 23):
            made.call("get_outside_temperature_from_google", {})
            made.call("logarithm", {"value": 10.0, "base": 3.0, "precision": precision})
        return made.results

    alone, together = play(), []
    threads = [threading.Thread(target=lambda: together.append(play())) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert together == [alone] * 6


def test_unknown_simulators_and_states_raise():
    with pytest.raises(TaskError, match="there is no simulator 'Nothing'"):
        new_simulator("Nothing", {}, long_context=False)
    with pytest.raises(TaskError, match="refuses its first state"):
        new_simulator("GorillaFileSystem", {"root": 3}, long_context=False)


def test_every_described_function_exists():
    for name in ("GorillaFileSystem", "MathAPI", "MessageAPI", "TicketAPI", "TradingBot", "TravelAPI", "TwitterAPI"):
        made = new_simulator(name, {}, long_context=False)
        assert all(callable(getattr(made, one["name"])) for one in read_descriptions(name))
    assert json.dumps(read_descriptions("VehicleControlAPI"))
