import pytest

from handaxe.errors import InputError
from handaxe.recipes.paper import Claim, Paper


def test_a_claim_goes_up_or_down():
    assert Claim(statement="s", metric="calls", direction="down").baseline == "grpo"
    with pytest.raises(InputError, match="sideways"):
        Claim(statement="s", metric="calls", direction="sideways")


def test_a_paper_is_a_value():
    assert Paper(title="t", short="s") == Paper("t", "s", "", None)
