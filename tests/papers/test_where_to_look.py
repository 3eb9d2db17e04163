"""What recipes about screens, geometry and mixtures reward, by the numbers of their papers, and that every part of it
can matter."""

from dataclasses import replace

import numpy as np
import pytest

from handaxe.commands.configure import parse_train
from handaxe.core.records import Group, Message, ToolCall
from handaxe.methods.build import make_method, make_world
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.ops.ragged import group_rewards
from handaxe.rewards.box_overlap import box_overlap
from handaxe.rewards.weighted import weighted
from handaxe.testing.make_records import make_group, make_scores, make_task, make_trajectory
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.demonstration_noise import noisy_expert
from handaxe.worlds.screen.widgets import difficulty, gold_box, predicted_box
from handaxe.worlds.world import DemonstrationNoise

FORMAT = Compact(TinyImageProcessor(8))


def made(name, *words):
    chosen = parse_train(name, list(words), prog="handaxe train", also={})[0]
    world = make_world(chosen)
    return make_method(chosen, world), world


def spoken(world, task, *said):
    """An attempt in which these turns are said, whatever comes back."""
    turns = [one if isinstance(one, Message) else Message("assistant", one) for one in said]
    offered = world.env(world.tools)
    return demonstrate(offered, task, lambda task, facts: turns[min(facts["turn"], len(turns) - 1)], format=FORMAT)


def calling(name, **arguments):
    return Message("assistant", "", (ToolCall(name, arguments),))


def varied(scores):
    """Channels that differ among siblings."""
    return {name for name, values in scores.channels.items() if len(set(np.round(values, 9))) > 1}


def test_gui_g1_adds_hit_overlap_and_sides():
    method, _ = made("gui_g1")
    task = make_task(metadata={"box": [1, 1, 5, 5]})
    attempts = [make_trajectory(texts=[text], task=task) for text in ("1 1 4 5", "1 1 5 5", "6 6 8 8", "?")]
    scores = method.reward(make_group(task=task, trajectories=attempts))
    # One side of four is 1 of 8 off: overlap 12 / 16, sides 1, 1, 7/8, 1; then 3/8, 3/8, 5/8, 5/8.
    assert scores.outcome[:2] == pytest.approx([1 + 0.25 * 0.75 + 0.125 * 4 / (3 + 8 / 7), 1.375])
    assert scores.outcome[2] == pytest.approx(0.125 * 4 / (16 / 3 + 16 / 5)) and scores.outcome[3] == 0
    assert varied(scores) == {"centre", "iou", "edges"}


def test_gui_g1_equals_the_example_of_the_paper():
    """b (100, 100, 200, 200), g (110, 110, 210, 210), 1000 by 500: 1 + .1702 + .1231."""
    task = make_task(metadata={"box": [110, 110, 210, 210]})
    parts = {"centre": 1.0, "iou": 0.25, "edges": 0.125}
    measures = {
        name: (weight, box_overlap(found=predicted_box, gold=gold_box, measure=name, sides=(1000, 500)))
        for name, weight in parts.items()
    }
    group = make_group(task=task, trajectories=[make_trajectory(texts=["100 100 200 200"], task=task)])
    assert weighted(measures)(group).outcome[0] == pytest.approx(1.2933, abs=1e-4)


def test_gui_g1_centres_and_weighs_by_the_size_of_the_target():
    method, _ = made("gui_g1")
    for box, weight in (([1, 1, 3, 2], 1.5), ([1, 1, 5, 4], 0.5)):
        task = make_task(metadata={"box": box})
        group = make_group(task=task, trajectories=[make_trajectory(texts=["a"], task=task) for _ in range(2)])
        found = method.credit(group, make_scores([1.0, 0.0]))
        assert [one[0].max() + one[0].min() for one in found.tokens] == pytest.approx([weight / 2, -weight / 2])
        assert difficulty(task) == pytest.approx(weight)
    assert method.terms == () and method.annotate == ()


def test_gui_r1_rewards_correct_actions_and_valid_calls():
    method, world = made("gui_r1")
    task = next(one for one in world.tasks("train", 20, 0) if one.metadata["kind"] == "button")
    left, top, _, _ = task.metadata["box"]
    attempts = [
        spoken(world, task, calling("click", point=f"{left} {top}")),
        spoken(world, task, calling("click", point=f"{(left + 4) % 8} {top}")),
        spoken(world, task, calling("press", point=f"{left} {top}")),
        spoken(world, task, calling("scroll", direction="north")),
        spoken(world, task, calling("scroll", direction="up")),
        spoken(world, task, "12 30"),
    ]
    scores = method.reward(Group(task, tuple(attempts)))
    assert scores.outcome == pytest.approx([1.0, 0.2, 0.0, 0.0, 0.2, 0.0])
    assert {"action", "format"} <= varied(scores)


def test_tiger_adds_its_parts_and_gives_0_without_format():
    pytest.importorskip("skimage")
    method, world = made("tiger", "--world.kinds", "x")
    (task,) = world.tasks("train", 1, 0)
    depth, camera, solve = (
        Message("assistant", "", (ToolCall(one["name"], one["arguments"]),)) for one in task.metadata["gold_calls"]
    )
    expression = task.metadata["gold_calls"][2]["arguments"]["expression"]
    other = calling("calculator", expression=f"{expression}+0")
    attempts = [
        spoken(world, task, depth, camera, solve, task.answer),
        spoken(world, task, depth, camera, solve, "no"),
        spoken(world, task, depth, camera, other, "no"),  # another expression of the same value
        spoken(world, task, solve, task.answer),
        spoken(world, task, task.answer),
        spoken(world, task, "no"),
        make_trajectory(texts=[task.answer], errors=[["not JSON"]], task=task),
    ]
    scores = method.reward(Group(task, tuple(attempts)))
    # Parameters: the point and the expression; the camera has none.
    expected = [1.0, 0.7, 0.1 + 0.2 + 0.1 + 0.2, 0.1 + 0.2 / 3 + 0.1 + 0.2 + 0.3, 0.4, 0.1, 0.0]
    assert scores.outcome == pytest.approx(expected)
    assert {"format", "parts/names", "parts/values", "parts/code", "parts/answer"} <= varied(scores)
    # As weights stand, the four other parts are worth more than the answer: 0.7 for a wrong one, 0.4 for a bare one.
    assert scores.outcome[1] > scores.outcome[4]


def test_tiger_equals_the_example_of_the_paper():
    """Format 1, tools 1, two of three parameters, code 1, answer 0: .1 + .2 + .1333 + .2."""
    pytest.importorskip("skimage")
    method, world = made("tiger", "--world.kinds", "x")
    (task,) = world.tasks("train", 1, 0)
    gold = {"name": "calculator", "arguments": {"f": 60, "x": 6, "z": 3}}
    task = replace(task, metadata={**task.metadata, "gold_calls": [gold]})
    call = ToolCall("calculator", {"f": 60, "x": 6, "z": 4})
    attempt = make_trajectory(texts=["", "no"], calls=[[call], []], replies=[[task.answer], []], task=task)
    assert method.reward(make_group(task=task, trajectories=[attempt])).outcome[0] == pytest.approx(0.6333, abs=1e-4)


def test_mixed_r1_scores_each_part_by_its_measure():
    method, world = made("mixed_r1")
    tasks = {task.metadata["part"]: task for task in world.tasks("train", 5, 0)}

    def outcome(part, *texts):
        group = Group(tasks[part], tuple(spoken(world, tasks[part], text) for text in texts))
        return group_rewards(group, method.reward(group)).tolist()

    assert outcome("sums", tasks["sums"].answer, "no") == pytest.approx([1.1, 0.1])
    left, top, right, bottom = tasks["box"].metadata["gold"]
    half = (left, top, (left + right) // 2, bottom)
    assert outcome("box", tasks["box"].answer, " ".join(map(str, half)), "no") == pytest.approx([1.1, 0.6, 0.1])
    exact, near, far = outcome("words", tasks["words"].answer, "a bar", "zzz")
    assert exact == pytest.approx(1.1) and exact > near > far
    value = int(tasks["number"].answer)
    assert outcome("number", str(value), str(value * 1.04), str(value * 1.06)) == pytest.approx([1.1, 1.1, 0.1])
    assert outcome("choice", tasks["choice"].answer, "z") == pytest.approx([1.1, 0.1])


def test_mixed_r1_trains_on_a_single_part():
    for words, parts in (((), 5), (("--parts", "sums"), 1)):
        method, world = made("mixed_r1", *words)
        order = method.tasks(world.tasks("train", 40, 0), 0)
        assert len({task.metadata["part"] for task in order.next(0, 10)}) == parts


@pytest.mark.parametrize(
    ("name", "without"),
    [
        ("gui_g1", ("--centre", "--iou", "--edges")),
        ("gui_r1", ("--action", "--format")),
        ("tiger", ("--format", "--part", "--answer")),
    ],
)
def test_every_part_changes_some_advantage(name, without):
    """On rollouts of a noisy expert, on the tasks of the method."""
    method, world = made(name)
    tasks = world.tasks("train", 9, 0)
    groups = [Group(one, tuple(_with_habits(world, one, other))) for one, other in zip(tasks, tasks[1:])]
    whole = [method.credit(group, method.reward(group)) for group in groups]
    for option in without:
        other, _ = made(name, option, "0")
        differ = [
            not np.allclose(a[0], b[0], atol=1e-6)
            for group, said in zip(groups, whole)
            for a, b in zip(said.tokens, other.credit(group, other.reward(group)).tokens)
        ]
        assert any(differ), f"{name} learns the same without {option}"


def _with_habits(world, task, other):
    """Rollouts of noisy experts; the last but two solves another task."""
    speakers = [
        noisy_expert(
            world.expert,
            DemonstrationNoise(call_rate=0.7, corrupt_rate=0.4),
            guesses=["10 20 30 40", "17"],
            seed=number,
        )
        for number in range(6)
    ]
    for number, speaker in enumerate([*speakers, lambda _, facts: world.expert(other, facts)]):
        yield demonstrate(world.env(world.tools), task, speaker, format=FORMAT, id=f"{task.id}-{number}", max_turns=4)
    yield spoken(world, task, "12 30 40 46")
    yield spoken(world, task, " ".join(str(side + 1) for side in task.metadata.get("box", (1, 2, 3, 4))))
