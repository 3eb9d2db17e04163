import pytest

from handaxe.ops.stats import column_figures
from handaxe.papers.ixc_reward.ixc_reward_uses import GAINS, ixc_reward_uses

pytest.importorskip("PIL")
NAMES = (
    "extra/balanced", "extra/plain", "equal/balanced", "equal/plain", "best", "random", "oracle", "wrong/all",
    "wrong/kept", "sft/all", "sft/kept",
)  # fmt: skip


def test_gains_are_differences_of_equal_seeds():
    columns = {name: [0.5, 0.5] for name in NAMES} | {"extra/balanced": [0.75, 1.0], "wrong/kept": [0.25, 0.25]}
    found = column_figures(columns, GAINS)
    assert found["gain/extra"] == pytest.approx(0.375, abs=1e-9)
    assert found["gain/noise"] == pytest.approx(0.25, abs=1e-9)
    assert found["gain/best"] == found["gain/sft"] == 0


@pytest.mark.slow
def test_every_use_has_a_figure():
    found = ixc_reward_uses(seeds=1, labels=24, held_out=8, tasks=2, samples=2, lessons=8, skill=1)(0)
    assert set(NAMES) <= found.keys()
    assert found["random"] <= found["oracle"] and found["wrong/all"] > 0
