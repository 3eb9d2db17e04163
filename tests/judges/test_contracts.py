"""Every judge keeps its contract. A file in handaxe/judges is found here without being named anywhere; its own test may
say with which arguments (see tests/contract.py)."""

import importlib.util
from pathlib import Path

import pytest

import handaxe.judges
from handaxe.records import ToolReply
from handaxe.testing.judges import check_judge
from handaxe.testing.records import make_group, make_trajectory

_spec = importlib.util.spec_from_file_location("contract", Path(__file__).parents[1] / "contract.py")
contract = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(contract)

FAILED = ToolReply("0-0", "f", "no", "failed")


def siblings():
    """Attempts that differ in tokens, in turns, in sequences and in what came of their calls."""
    told = [
        {"texts": ["", "4"], "calls": [["f"], []], "replies": [["4"], []]},
        {"texts": ["", "", "4"], "calls": [["f"], ["g"], []], "replies": [[FAILED], ["1"], []]},
        {"layouts": ["UUtpppp", "Utpp"]},
        {"texts": ["5"], "errors": [["not JSON"]], "finish": ["length"]},
    ]
    logp = {"logp": -4.0, "features": {"old_logp": -4.5}, "off_mask": 7.0}
    return make_group(trajectories=[make_trajectory(id=f"attempt-{i}", **one, **logp) for i, one in enumerate(told)])


@pytest.mark.parametrize(
    "name, arguments", contract.cases("judges", contract.names_in(handaxe.judges)), ids=contract.told
)
def test_judge(name, arguments):
    check_judge(contract.factory("judges", name)(**arguments), siblings())
