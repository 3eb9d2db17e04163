from handaxe.papers.reward_design.compare_agents import compare_agents
from handaxe.papers.reward_design.explors import SelfDesign
from handaxe.papers.reward_design.navigation import chain


def test_all_parts_of_the_reward_are_compared():
    found = compare_agents(chain(right=2, left=8), 900, runs=2, design=SelfDesign(episodes=40))
    for reward in ("true", "intrinsic", "bonus", "explors"):
        assert 0 < found[reward] <= 1 and 0 < found[f"{reward}/episodes"] <= 40
    assert {"gain/true", "gain/intrinsic", "gain/bonus"} <= found.keys()
