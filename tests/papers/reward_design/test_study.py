import pytest

from handaxe.papers.reward_design import reward_design

SMALL = {"states": 0, "runs": 2, "steps": 400, "learners": 2, "updates": 6, "episodes": 40}


@pytest.fixture(scope="module")
def found():
    return reward_design(**SMALL)(900)


def test_the_study_compares_all_rewards(found):
    for part, tasks, own, others in (
        ("exprd", ("line_key", "rooms"), "sparse", ("true", "potential", "random", "dense")),
        ("expadard", ("line_key", "rooms"), "adaptive", ("true", "invariant", "fixed", "adaptive_4", "unconstrained")),
        ("explors", ("chain", "distracted_chain"), "explors", ("true", "intrinsic", "bonus")),
    ):
        for task in tasks:
            for other in others:
                gain = found[f"{part}/{task}/{own}"] - found[f"{part}/{task}/{other}"]
                assert found[f"{part}/{task}/gain/{other}"] == pytest.approx(gain, abs=1e-9)
                assert found[f"{part}/{task}/gain/{other}/low"] <= gain
