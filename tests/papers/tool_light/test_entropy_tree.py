import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.core.requests import Stopped
from handaxe.core.validation import check_group
from handaxe.papers.tool_light.entropy_tree import NOTE, chain_entropy, entropy_tree
from handaxe.papers.tool_light.step_entropy import step_entropy
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.testing.make_records import make_trajectory

SIZES = (1, 2, 3)


def entropies(ids, start):
    return [(37 * id % 100) / 25 for id in ids[start:]]


def weigh(name, request):
    return {"entropy": entropies(request.ids, request.start)}


def play(dice, seed, **options):
    rollout = entropy_tree(**{"sizes": SIZES, **options})
    return run_plan(rollout(dice.attempt(seed, env=dice.Counter)), sample=dice.roll, measure=weigh)


def slow_steps(one):
    """Entropies of each turn's first three tokens, read from the ids."""
    ids = one.sequences[0].ids.tolist()
    return [step_entropy(entropies(ids[: min(t.stop, t.start + 3)], t.start), sizes=SIZES) for t in one.turns]


def test_main_chain_is_the_linear_rollout_and_branches_start_at_the_most_uncertain_steps(dice):
    seen = 0
    for seed in range(12):
        main, *branches = play(dice, seed)
        (alone,) = run_plan(linear()(dice.attempt(seed)), sample=dice.roll)
        assert main.sequences[0].ids.tolist() == alone.sequences[0].ids.tolist()
        steps = slow_steps(main)
        able = [k for k, turn in enumerate(main.turns) if steps[k].tokens < turn.stop - turn.start]
        order = sorted(able, key=lambda k: (-steps[k].entropy, k))[:3]
        wanted = [main.turns[k].start + steps[k].tokens for k in order for _ in range(3)]
        assert [one.branch_of.token for one in branches] == wanted
        assert [one.id for one in branches[:2]] == ["t/0/branch-0-0", "t/0/branch-0-1"][: len(branches)]
        seen += len(branches)
    assert seen > 36


def test_branches_share_tokens_and_entropies_up_to_the_fork(dice):
    for seed in range(8):
        main, *branches = play(dice, seed)
        check_group(Group(main.task, (main, *branches)))
        for one in branches:
            token = one.branch_of.token
            assert one.sequences[0].ids[:token].tolist() == main.sequences[0].ids[:token].tolist()
        for one in (main, *branches):
            np.testing.assert_allclose(one.notes[NOTE], slow_steps(one))
            assert chain_entropy(one) == pytest.approx(np.mean([step.entropy for step in slow_steps(one)]))


def test_options_bound_the_number_of_chains(dice):
    for seed in range(6):
        assert len(play(dice, seed, points=1, branches=2)) <= 3
    assert chain_entropy(make_trajectory(texts=["a"])) == float("inf")


def test_a_stopped_tree_returns_its_chains(dice):
    calls = []

    def sample(name, request):
        calls.append(name)
        if len(calls) > 3:
            raise Stopped(None)
        return dice.roll(name, request)

    found = run_plan(entropy_tree(sizes=SIZES)(dice.attempt(3, env=dice.Counter)), sample=sample, measure=weigh)
    assert found and found[-1].ending.reason == "stopped"


@pytest.mark.parametrize("options", [{"points": 0}, {"branches": 0}, {"sizes": ()}, {"sizes": (0,)}])
def test_bad_numbers_are_an_input_error(options):
    with pytest.raises(InputError, match="1 or more of each"):
        entropy_tree(**options)
