"""What recipes about screens, geometry and mixtures reward, by the numbers of their papers, and that every part of it
can matter."""

import numpy as np
import pytest

from handaxe.commands.configure import parse_train
from handaxe.core.records import Group, Message, ToolCall
from handaxe.methods.build import make_method, make_world
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.ragged import group_rewards
from handaxe.rewards.box_overlap import box_overlap
from handaxe.rewards.weighted import weighted
from handaxe.testing.make_records import make_group, make_scores, make_task, make_trajectory
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.demonstration_noise import noisy_expert
from handaxe.worlds.screen.layout import difficulty, gold_box, predicted_box
from handaxe.worlds.world import DemonstrationNoise


def made(name, *words):
    chosen = parse_train(name, list(words), prog="handaxe train", also={})[0]
    world = make_world(chosen)
    return make_method(chosen, world), world


def spoken(world, task, *said):
    """An attempt in which these turns are said, whatever comes back."""
    turns = [one if isinstance(one, Message) else Message("assistant", one) for one in said]
    offered = world.env(world.tools)
    return demonstrate(offered, task, lambda task, facts: turns[min(facts["turn"], len(turns) - 1)], format=Compact())


def calling(name, **arguments):
    return Message("assistant", "", (ToolCall(name, arguments),))


def varied(scores):
    """Channels that differ among siblings."""
    return {name for name, values in scores.channels.items() if len(set(np.round(values, 9))) > 1}


def test_gui_g1_adds_hit_overlap_and_sides():
    method, _ = made("gui_g1")
    task = make_task(metadata={"box": [11, 11, 21, 21]})
    attempts = [make_trajectory(texts=[text], task=task) for text in ("10 10 20 20", "11 11 21 21", "50 50 60 60", "?")]
    scores = method.reward(make_group(task=task, trajectories=attempts))
    # 1 apart in each corner of 10 by 10 on 100 by 100: overlap 81 / 119, each side 0.99.
    assert scores.outcome[:2] == pytest.approx([1 + 0.25 * 81 / 119 + 0.125 * 0.99, 1.375])
    assert scores.outcome[2] == pytest.approx(0.125 * 0.61) and scores.outcome[3] == 0
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
    for box, weight in (([10, 10, 18, 18], 1.5), ([10, 10, 50, 34], 0.5)):
        task = make_task(metadata={"box": box})
        group = make_group(task=task, trajectories=[make_trajectory(texts=["a"], task=task) for _ in range(2)])
        found = method.credit(group, make_scores([1.0, 0.0]))
        assert [one[0].max() + one[0].min() for one in found.tokens] == pytest.approx([weight / 2, -weight / 2])
        assert difficulty(task) == pytest.approx(weight)
    assert method.terms == () and method.annotate == ()


def test_gui_r1_rewards_correct_actions_and_valid_calls():
    method, world = made("gui_r1")
    task = next(one for one in world.tasks("train", 20, 0) if one.metadata["kind"] == "click")
    left, low, right, high = task.metadata["box"]
    far = 5 if left > 50 else 95
    attempts = [
        spoken(world, task, calling("click", x=left + 1, y=low + 1)),
        spoken(world, task, calling("click", x=far, y=low + 1)),
        spoken(world, task, calling("click", x=f"{left + 1}!", y=low + 1)),
        spoken(world, task, calling("scroll", direction="north")),
        spoken(world, task, calling("scroll", direction="up")),
        spoken(world, task, "12 30"),
    ]
    scores = method.reward(Group(task, tuple(attempts)))
    assert scores.outcome == pytest.approx([1.0, 0.2, 0.0, 0.0, 0.2, 0.0])
    assert {"action", "format"} <= varied(scores)


def test_tiger_adds_its_parts_and_gives_0_without_format():
    method, world = made("tiger", "--world.kinds", "project")
    (task,) = world.tasks("train", 1, 0)
    look, solve = (ToolCall(one["name"], one["arguments"]) for one in task.metadata["gold_calls"])
    looked, solved = (Message("assistant", "", (one,)) for one in (look, solve))
    expression = solve.arguments["expression"]
    other = calling("calculator", expression=f"{expression}+0")
    attempts = [
        spoken(world, task, looked, solved, task.answer),
        spoken(world, task, looked, solved, "no"),
        spoken(world, task, looked, other, "no"),  # another expression of the same value
        spoken(world, task, solved, task.answer),
        spoken(world, task, task.answer),
        spoken(world, task, "no"),
        make_trajectory(texts=[task.answer], errors=[["not JSON"]], task=task),
    ]
    scores = method.reward(Group(task, tuple(attempts)))
    expected = [1.0, 0.7, 0.1 + 0.2 + 0.1 + 0.2, 0.1 + 0.1 + 0.1 + 0.2 + 0.3, 0.4, 0.1, 0.0]
    assert scores.outcome == pytest.approx(expected)
    assert {"format", "parts/names", "parts/values", "parts/code", "parts/answer"} <= varied(scores)
    # As weights stand, the four other parts are worth more than the answer: 0.7 for a wrong one, 0.4 for a bare one.
    assert scores.outcome[1] > scores.outcome[4]


def test_tiger_equals_the_example_of_the_paper():
    """Format 1, tools 1, two of three parameters, code 1, answer 0: .1 + .2 + .1333 + .2."""
    method, _ = made("tiger")
    gold = {"name": "calculator", "arguments": {"f": 60, "x": 6, "z": 3}}
    task = make_task(answer="182", metadata={"gold_calls": [gold]})
    call = ToolCall("calculator", {"f": 60, "x": 6, "z": 4})
    attempt = make_trajectory(texts=["", "181"], calls=[[call], []], replies=[["182"], []], task=task)
    assert method.reward(make_group(task=task, trajectories=[attempt])).outcome[0] == pytest.approx(0.6333, abs=1e-4)


def test_mixed_r1_scores_each_part_by_its_measure():
    method, world = made("mixed_r1")
    tasks = {task.metadata["part"]: task for task in world.tasks("train", 4, 0)}

    def outcome(part, *texts):
        group = Group(tasks[part], tuple(spoken(world, tasks[part], text) for text in texts))
        return group_rewards(group, method.reward(group)).tolist()

    assert outcome("sums", tasks["sums"].answer, "no") == pytest.approx([1.1, 0.1])
    left, low, right, high = tasks["box"].metadata["box"]
    half = (left, low, (left + right) / 2, high)
    assert outcome("box", tasks["box"].answer, " ".join(map(str, half)), "no") == pytest.approx([1.1, 0.6, 0.1])
    exact, near, far = outcome("words", tasks["words"].answer, "a small box", "zzz")
    assert exact == pytest.approx(1.1) and exact > near > far
    width = int(tasks["number"].answer)
    assert outcome("number", str(width), str(width * 1.04), str(width * 1.06)) == pytest.approx([1.1, 1.1, 0.1])


def test_mixed_r1_trains_on_a_single_part():
    for words, parts in (((), 4), (("--parts", "sums"), 1)):
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
        yield demonstrate(
            world.env(world.tools), task, speaker, format=Compact(), id=f"{task.id}-{number}", max_turns=4
        )
    yield spoken(world, task, "12 30 40 46")
    yield spoken(world, task, " ".join(str(side + 1) for side in task.metadata.get("box", (1, 2, 3, 4))))
