import pytest

from handaxe.core.errors import InputError
from handaxe.training.stages.repeat import repeat


def test_each_round_has_a_folder_and_a_seed_of_its_own(world, tmp_path):
    seen = []

    def first(site):
        seen.append((site.seed, site.out and site.out.name))
        return [{"step": 0.0, "a": 1.0}, {"step": 1.0, "a": 2.0}]

    def second(site):
        seen.append((site.seed, site.out and site.out.name))
        return []

    metrics = repeat(stages=[first, second], times=2)(world.site(out=tmp_path))
    assert len({seed for seed, _ in seen}) == 4
    assert [name.split("-")[0] for _, name in seen] == ["00", "01", "02", "03"]
    assert [(row["step"], row["round"], row["a"]) for row in metrics] == [(0, 0, 1), (1, 0, 2), (2, 1, 1), (3, 1, 2)]
    assert repeat(stages=[first], times=0)(world.site()) == []


def test_it_cannot_be_done_less_than_never():
    with pytest.raises(InputError, match="times is -1"):
        repeat(stages=[], times=-1)
