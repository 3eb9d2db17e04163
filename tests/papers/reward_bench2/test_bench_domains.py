import pytest

from handaxe.papers.reward_bench2.bench_domains import DOMAINS, best_of_four, tied_prompts
from handaxe.worlds.fact_chains import fact_chains, step_verdicts

WORLD = fact_chains()
TASKS = WORLD.tasks("test", 10, 0)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_first_of_four_alone_is_correct(domain):
    found = best_of_four(WORLD, TASKS, domain=domain, seed=0)
    assert len(found) >= 8
    for one in found:
        assert WORLD.correct(one).outcome.tolist() == [1.0, 0.0, 0.0, 0.0]
        assert len({tuple(turn.parsed.raw for turn in rollout.turns) for rollout in one}) == 4


@pytest.mark.parametrize("domain, place", [("facts", "lookup"), ("math", "calculator"), ("evidence", "")])
def test_the_first_incorrect_step_is_that_of_the_domain(domain, place):
    for one in best_of_four(WORLD, TASKS, domain=domain, seed=0):
        for rollout in one.trajectories[1:]:
            turn = rollout.turns[step_verdicts(rollout).tolist().index(-1.0)]
            assert (turn.parsed.calls[0].name if turn.parsed.calls else "") == place


@pytest.mark.parametrize("domain", ["facts", "math"])
def test_later_steps_follow_the_incorrect_one(domain):
    """The last two numbers agree: the result of the calculation is the answer."""
    for one in best_of_four(WORLD, TASKS, domain=domain, seed=0):
        for rollout in one:
            assert rollout.turns[-2].replies[0].content == rollout.final_text


def test_tied_prompts_have_two_correct_rollouts_and_the_reference_one():
    found = tied_prompts(WORLD, TASKS, seed=0)
    assert found
    for one in found:
        assert WORLD.correct(one.tied).outcome.tolist() == [1.0, 1.0, 0.0, 0.0] and one.correct == 2
        assert WORLD.correct(one.reference).outcome.tolist() == [1.0, 0.0, 0.0, 0.0]
        assert {len(rollout.turns) for rollout in (*one.tied, *one.reference)} == {4}
        assert (step_verdicts(one.tied[1]) > 0).all()


def test_rollouts_follow_the_seed():
    texts = [
        [rollout.final_text for one in best_of_four(WORLD, TASKS, domain="evidence", seed=seed) for rollout in one]
        for seed in (0, 0, 1)
    ]
    assert texts[0] == texts[1] != texts[2]
