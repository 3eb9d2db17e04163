import pytest

from handaxe.errors import InputError
from handaxe.recipes.paper import Claim, Paper


def test_a_claim_goes_up_or_down():
    assert Claim(statement="s", metric="calls", direction="down").baseline == "grpo"
    with pytest.raises(InputError, match="sideways"):
        Claim(statement="s", metric="calls", direction="sideways")


@pytest.mark.parametrize(("metric", "baseline"), [("pass@1", "grpo"), ("calls", "start")])
def test_what_stays_is_another_metric_beside_another_run(metric, baseline):
    with pytest.raises(InputError, match=f"'pass@1' stays.*metric '{metric}'.*baseline '{baseline}'"):
        Claim(statement="s", metric=metric, direction="up", baseline=baseline, same="pass@1")
    assert Claim(statement="s", metric="calls", direction="up", same="pass@1").same == "pass@1"


def test_a_paper_is_a_value():
    assert Paper(title="t", short="s") == Paper("t", "s", "", None)
