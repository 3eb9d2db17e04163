import pytest

from handaxe.models.load import load
from handaxe.papers.ixc_reward.noisy_drawings import noisy_drawings
from handaxe.worlds.canvas.canvas import canvas, final_fidelity

pytest.importorskip("PIL")


@pytest.mark.parametrize("wrong, least, most", [(0.0, 0, 0), (1.0, 12, 12), (0.5, 2, 10)])
def test_demonstrations_in_error_are_those_whose_drawing_does_not_fit(wrong, least, most):
    world = canvas(changes=0.0)
    tasks = world.tasks("train", 12, 0)
    made = noisy_drawings(world, tasks, format=load("tiny_vision").format, wrong=wrong)
    assert [one.task for one in made] == tasks
    assert all(one.images for one in made)
    assert least <= sum(final_fidelity(one) < 1 for one in made) <= most
