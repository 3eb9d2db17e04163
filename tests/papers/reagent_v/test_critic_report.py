import numpy as np
import pytest

from handaxe.core.images import Image
from handaxe.core.records import Group
from handaxe.papers.reagent_v.critic_report import critic_report, share_of_colour
from handaxe.testing.make_records import make_trajectory

LAB = "scores by the metadata of the task, or passes another reward on; see the methods"

RED = (230, 60, 50)


def half_red(share):
    """An image of 10 by 10 pixels with this share of red ones, the others white."""
    pixels = np.full((100, 3), 255, np.uint8)
    pixels[: round(100 * share)] = RED
    return Image.of(pixels.reshape(10, 10, 3))


@pytest.mark.parametrize("share", [0.0, 0.03, 0.3, 1.0])
def test_share_of_colour_equals_a_slow_loop(share):
    image = half_red(share)
    near = [
        all(abs(int(value) - want) <= 60 for value, want in zip(pixel, RED)) for pixel in image.pixels.reshape(-1, 3)
    ]
    assert share_of_colour(image, RED) == pytest.approx(sum(near) / 100) == pytest.approx(share)


def test_the_report_of_rollouts_in_clips():
    """Form times evidence times 10: 10 after a crop of the card, 0 without a look, 0 if malformed."""
    pytest.importorskip("av")
    from helpers.clips_rollouts import attempt, gold, method_of, task_of

    critic, method = critic_report(), method_of("reagent_v")
    task = task_of(method)
    start = task.metadata["gold"][0]
    away = f"{start - 6} {start - 4}" if start > 6 else "60 64"
    rollouts = [attempt(method, task, gold(task), says="no"), attempt(method, task)]
    rollouts += [attempt(method, task, gold(task), broken=True), attempt(method, task, gold(task), away)]
    assert [critic.importance(one) for one in rollouts] == pytest.approx([10, 0, 0, 0], abs=0.4)
    assert critic.score(Group(task, tuple(rollouts))) == pytest.approx([1, 0, 0, 0], abs=0.04)
    place = task_of(method, "at")
    assert critic.importance(attempt(method, place)) == 10, "the overview shows the card"


def test_a_rollout_without_images_or_turns_has_no_evidence():
    critic = critic_report()
    assert critic.importance(make_trajectory(texts=["7"])) == 0
    assert critic.report(make_trajectory(texts=["7"])) == {"form": 1.0, "evidence": 0.0}
    assert critic.report(make_trajectory(texts=[]))["form"] == 0
