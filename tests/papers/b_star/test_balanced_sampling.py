import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.curricula.in_order import in_order
from handaxe.papers.b_star.balance_monitor import BalanceMonitor
from handaxe.papers.b_star.balanced_sampling import balance_score, balanced_sampling
from handaxe.rewards.outcome import outcome
from handaxe.rollouts.linear import linear
from handaxe.testing.make_records import make_group, make_rated, make_scores
from handaxe.training.record.run_record import RunRecord

SIZE = 8


def chosen(right, of, **more):
    """A group of which `of` attempts are selected, `right` of them right."""
    outcome = [1.0] * right + [0.0] * (of - right) + [1.0] * 3
    trained = [True] * of + [False] * 3
    return make_rated(group=make_group(size=of + 3), scores=make_scores(outcome, **more), trained=trained)


@pytest.mark.parametrize(("right", "of", "score"), [(4, 8, 0.25), (8, 10, 0.8), (16, 16, 1.0), (0, 5, 0.0)])
def test_balance_score_matches_its_examples(right, of, score):
    assert balance_score(chosen(right, of)) == pytest.approx(score)


def test_balance_score_is_0_without_a_selected_rollout():
    assert balance_score(None) == balance_score(chosen(0, 0)) == 0.0
    assert balance_score(chosen(2, 2), target=4) == 0.5
    judged = chosen(0, 2, channels={"correct": [1.0, 0.0, 1.0, 1.0, 1.0]})
    assert balance_score(judged, target=1, correct="correct") == 0.5


def says(request):
    """Always the same below 0.6, something else each time above, and mostly wrong above 1."""
    heat, number = request.sampling.temperature, request.seed % 1000
    if heat < 0.6:
        return "y"
    return f"{'n' if heat > 1 and number % 4 else 'y'}{number}"


@outcome
def begins_with_y(trajectory):
    return 1.0 if trajectory.final_text.startswith("y") else 0.2


def place(world, **options):
    return world.site(engine=world.Talking(says), reward=begins_with_y, rollout=linear(max_turns=1), **options)


def made(world, **options):
    grid = {"temperatures": (0.5, 0.8, 1.3), "target": 4, "probes": 2}
    arguments = {**world.PLAY, "rollout": linear(max_turns=1)}
    return balanced_sampling(**{**grid, "groups": 3, "group_size": SIZE, "arguments": arguments, **options})


def test_the_pair_with_the_best_balance_plays_and_selects(world, tmp_path):
    monitor = BalanceMonitor()
    found = made(world, thresholds=(0.1, 0.5), monitor=monitor)(place(world, out=tmp_path))
    assert monitor.learn([], step=0)["temperature"] == 0.8 and monitor.learn([], step=0)["rounds"] == 1
    assert len(found) == 3
    for one in found:
        assert {turn.sampling.temperature for t in one.group for turn in t.turns} == {0.8}
        said = [t.final_text for t, kept in zip(one.group, one.trained) if kept]
        assert len(set(said)) == len(said) > SIZE / 2
    for heat in ("0.5", "0.8", "1.3"):
        with RunRecord.open(tmp_path / f"probe-{heat}") as record:
            assert [len(one.group) for one in record.groups()] == [SIZE] * 2


def test_balanced_sampling_matches_a_slow_grid(world, tmp_path):
    """The scores again, from what was recorded of the probes, at a target that only diversity can meet."""
    thresholds = (0.1, 0.5)
    source = made(world, thresholds=thresholds, temperatures=(1.3, 0.5), target=6)
    found = source(place(world, out=tmp_path))
    scores = {}
    for heat in (1.3, 0.5):
        with RunRecord.open(tmp_path / f"probe-{heat:g}") as record:
            groups = record.groups()
        for threshold in thresholds:
            each = []
            for one in groups:
                said = {t.final_text: r for t, r in zip(one.group, one.scores.outcome) if r > threshold}
                right = sum(r > 0.5 for r in said.values())
                each.append(min(right / 6, 1) * right / len(said) if said else 0.0)
            scores[heat, threshold] = np.mean(each)
    best = max(scores, key=scores.get)
    assert {turn.sampling.temperature for one in found for t in one.group for turn in t.turns} == {best[0]}
    assert scores[0.5, 0.5] == pytest.approx(1 / 6)  # one answer, said eight times


@pytest.mark.slow
def test_each_round_plays_further_tasks_and_none_of_the_probed(world, tmp_path):
    """Also where the second of three rounds was the last before a kill."""

    def rounds(count, resume):
        tasks, asked = in_order([world.task(f"t{i}") for i in range(20)]), []
        for number in range(count):
            out = tmp_path / str(number)
            found = made(world)(place(world, out=out, seed=100 * number, tasks=tasks, resume=resume))
            with RunRecord.open(out / "probe-0.8") as record:
                asked += [one.group.task.id for one in record.groups()]
            asked += [one.group.task.id for one in found]
        return asked

    two = rounds(2, resume=False)
    three = rounds(3, resume=True)
    assert three[:10] == two and len(set(three)) == len(three) == 15


def test_balanced_sampling_rejects_invalid_arguments(world):
    for wrong in ({"temperatures": ()}, {"temperatures": (0.0,)}, {"thresholds": ()}, {"target": 0}, {"probes": 0}):
        with pytest.raises(InputError, match="the grid"):
            made(world, **wrong)
    with pytest.raises(InputError, match="sets sampling itself"):
        balanced_sampling(arguments={"sampling": None})
    with pytest.raises(InputError, match="no argument heat"):
        balanced_sampling(arguments={"heat": 1})
