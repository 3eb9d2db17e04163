import pytest

from handaxe.core.errors import InputError
from handaxe.papers.lhf.compare_filters import compare_filters, data_figures, draw_split, filtered
from handaxe.papers.lhf.dark_room import DarkRoom

ROOM = DarkRoom(size=3, horizon=4)


@pytest.fixture(scope="module")
def split():
    return draw_split(ROOM, seed=0, held_out=2, repeats=8, episodes=30)


def test_held_out_goals_have_no_histories(split):
    assert not set(split.held_out) & set(split.pool.goal_N) and len(split.pool.goal_N) == 6 * 8
    assert data_figures(split.pool)["noisy"] == 0.5


def test_the_filter_keeps_the_size_and_drops_noisy_histories(split):
    found = {weight: filtered(ROOM, split.pool, stability=weight, seed=1) for weight in (0.0, 1.0)}
    before = data_figures(split.pool)
    for own in found.values():
        assert len(own.goal_N) == len(split.pool.goal_N)
        assert data_figures(own)["noisy"] < before["noisy"] and data_figures(own)["late"] > before["late"]


def test_both_models_play_every_episode(split):
    found = compare_filters(ROOM, split, steps=3, seed=0, repeats=2, episodes=4)
    assert found.keys() == {"all", "filtered"}
    for own in found.values():
        assert own.shape == (4,) and ((own >= 0) & (own <= ROOM.horizon)).all()


@pytest.mark.parametrize("options", [{"noisy": 1.2}, {"held_out": 0}, {"held_out": 8}])
def test_bad_splits_are_input_errors(options):
    with pytest.raises(InputError, match="draw_split"):
        draw_split(ROOM, seed=0, **{"held_out": 2, **options})
