from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.training.stages.context import make_site
from handaxe.training.stages.teach_solutions import teach_solutions
from handaxe.worlds.arithmetic import arithmetic


class Watched(LocalEngine):
    """Keeps what it is given to learn from."""

    def forward_backward(self, batch, loss):
        self.__dict__.setdefault("seen", []).append(batch)
        return super().forward_backward(batch, loss)


def site(world):
    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=160), seed=0)
    return make_site(engine=Watched(model), format=world.FORMAT)


def test_by_hand(world):
    """A call that ran and the answer train, each token with weight 1; question, reply and glue do not."""
    here, slipping = site(world), arithmetic(easy=0.0, mistakes=True)
    metrics = teach_solutions(world=slipping, count=2)(here)
    assert len(metrics) == here.engine.version == 1
    (batch,), found = here.engine.seen, {}
    for row in range(2):
        mask = batch.mask_BT[row].numpy()
        places = np.flatnonzero(mask)
        starts = places[np.flatnonzero(np.diff(places, prepend=-9) > 1)]
        stops = places[np.flatnonzero(np.diff(places, append=10**6) > 1)] + 1
        said = [world.FORMAT.decode(batch.ids_BT[row, a:b].tolist()) for a, b in zip(starts, stops)]
        found[said[0]] = said[1:]
        assert set(batch.adv_BT[row][batch.mask_BT[row]].tolist()) == {1.0}
        assert not batch.adv_BT[row][~batch.mask_BT[row]].any()
    expected = {
        f"<CALL>calculator {task.metadata['expression']}<CALL_END><END>": [f"{task.answer}<END>"]
        for task in slipping.tasks("train", 2, 0)
    }
    assert found == expected


def test_passes_and_batches(world):
    here = site(world)
    assert (
        len(
            teach_solutions(
                world=arithmetic(easy=0.0, mistakes=True), count=6, passes=3, batch_size=4, learning_rate=0.01
            )(here)
        )
        == 6
    )


@pytest.mark.parametrize("nothing", [{"count": 0}, {"count": 4, "passes": 0}])
def test_nothing_to_learn_changes_nothing_and_needs_no_solutions(world, nothing):
    here = site(world)
    before = world.weights(here.engine)
    assert teach_solutions(world=replace(arithmetic(easy=0.0, mistakes=True), solution=None), **nothing)(here) == []
    assert world.same(before, world.weights(here.engine)) and here.engine.version == 0


def test_teach_solutions_refuses_negative_counts_and_a_world_without_solutions(world):
    for wrong in ({"count": -1}, {"count": 1, "passes": -1}):
        with pytest.raises(InputError, match="give 0 or more of each"):
            teach_solutions(world=arithmetic(easy=0.0, mistakes=True), **wrong)
    with pytest.raises(InputError, match="has no 'solution'"):
        teach_solutions(world=replace(arithmetic(easy=0.0, mistakes=True), solution=None), count=1)(site(world))
