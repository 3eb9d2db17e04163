import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.ops.seeds import generator
from handaxe.papers.adas.agent_code import AgentDesign, AgentResult, write_agent
from handaxe.papers.adas.agent_search import (
    SEEDS,
    AgentArchive,
    ArchivedAgent,
    Fitness,
    bootstrap_fitness,
    repaired,
    search_agents,
)


def judge(code):
    """Accuracy of 20 tasks that grows with the samples of the agent; designs with 32 samples fail."""
    samples = next(n for n in (1, 2, 4, 8, 16, 32) if f"range({n})]\n            values" in code)
    if samples == 32:
        return AgentResult(np.zeros(20), "over budget")
    return AgentResult(np.arange(20) < samples, "")


def test_the_fitness_is_median_and_interval_of_the_bootstrap():
    found = bootstrap_fitness(np.array([1, 0, 1, 1]), seed=0)
    assert found.median == 0.75 and found.low <= 0.5 and found.high == 1
    assert bootstrap_fitness(np.ones(5), seed=1) == Fitness(1, 1, 1)
    with pytest.raises(InputError, match="one task or more"):
        bootstrap_fitness(np.array([]), seed=0)


def test_bootstrap_quantiles_are_those_of_a_loop():
    value_T, seed = np.array([1.0, 0, 0, 1, 1, 0, 1]), 3
    draws = generator("adas bootstrap", seed).integers(7, size=(1000, 7))
    means = sorted(sum(value_T[k] for k in row) / 7 for row in draws)
    found = bootstrap_fitness(value_T, seed=seed)
    assert found.median == pytest.approx((means[499] + means[500]) / 2, abs=1e-6)
    assert means[24] - 1e-6 <= found.low <= means[25] + 1e-6 and means[974] - 1e-6 <= found.high <= means[975] + 1e-6


def test_the_curve_of_the_best_never_falls():
    agents = [ArchivedAgent("", AgentDesign(), "", Fitness(one, 0, 1)) for one in (0.4, 0.5, 0.45)]
    assert AgentArchive(agents).curve() == [0.4, 0.5, 0.5] and AgentArchive(agents).best is agents[1]


def test_the_archive_has_seeds_and_generations_without_copies():
    found = search_agents(judge, generations=20, seed=0)
    assert [one.origin for one in found.agents[: len(SEEDS)]] == list(SEEDS)
    assert len(found.agents) + found.discarded == len(SEEDS) + 20
    assert found.best.design.samples == 16 and found.curve()[-1] == found.best.fitness.median
    assert found.agents == search_agents(judge, generations=20, seed=0).agents
    assert all(one.code == write_agent(one.design) for one in found.agents)
    assert len({one.design for one in found.agents}) > 20


def test_faulty_agents_are_repaired_up_to_three_times():
    def failing(code):
        return AgentResult(np.zeros(3), "over budget") if "forward" in code else None

    found = search_agents(failing, generations=0, seed=0)
    assert (found.debugs, found.discarded, found.agents) == (3 * len(SEEDS), len(SEEDS), [])
    repairs = search_agents(judge, generations=60, seed=1, from_archive=False)
    assert repairs.debugs > 0 == repairs.discarded and all(one.design.samples < 32 for one in repairs.agents)


def test_a_repair_halves_the_largest_number():
    assert repaired(AgentDesign(samples=4, refinements=16, restarts=2)).refinements == 8
    assert repaired(AgentDesign(samples=1, refinements=0, restarts=1)) == AgentDesign()


def test_proposals_of_the_archive_keep_most_of_a_design():
    found = search_agents(judge, generations=10, seed=2)
    known = list(SEEDS.values())
    for one in found.agents[len(SEEDS) :]:
        shared = max(sum(a == b for a, b in zip(one.design, other)) for other in known)
        assert shared >= 5
        known.append(one.design)
