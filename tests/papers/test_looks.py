"""Rewards of methods in the world of glimpses: the numbers of the papers, and no dead part."""

import numpy as np
import pytest

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.records import Group, Message, ToolCall
from handaxe.credit.group_norm import group_norm
from handaxe.methods.build import make_method, make_world
from handaxe.models.chat_formats.compact import CALL_END, Compact
from handaxe.worlds.parts.demonstrate import demonstrate

TOOLS = {"row": "view", "grid": "zoom", "table": "read_cell"}


def method_of(name, *words):
    made = parse_train(name, list(words), prog="handaxe train", also={"run": RunOptions})[0]
    return make_method(made, make_world(made))


def task_of(method, needs="yes", where=lambda task: True):
    tasks = method.world.tasks("train", 200, 0)
    return next(one for one in tasks if one.metadata["needs_tool"] == needs and where(one))


def attempt(method, task, *looks, says=None, broken=False):
    """A rollout that looks at regions, one a turn, and then answers; broken: with a malformed call."""
    name = TOOLS[task.id.split("-")[1]]
    argument = {"view": "span", "zoom": "box", "read_cell": "cell"}[name]
    lines = [Message("assistant", "", (ToolCall(name, {argument: look}),)) for look in looks]
    lines.append(Message("assistant", str(task.answer) if says is None else says))
    form = _Broken() if broken else Compact()
    env = method.world.env(method.world.tools)
    return demonstrate(env, task, lambda task, facts: lines[min(facts["turn"], len(looks))], format=form, max_turns=4)


class _Broken(Compact):
    """Leaves the first call open."""

    def encode_turn(self, message, tools):
        ids = super().encode_turn(message, tools)
        return [one for one in ids if one != CALL_END]


def outcomes(method, *attempts):
    return method.reward(Group(attempts[0].task, attempts)).outcome.tolist()


def region(task):
    return " ".join(map(str, task.metadata["gold"]))


def test_deepeyes_rewards_a_correct_answer_with_a_look_by_2():
    """The paper's numbers are 2, 0.8, 0 and -0.2; a format of 1 and 0 instead of 0 and -1 adds 0.2 to each."""
    method = method_of("deepeyes")
    task = task_of(method)
    look = region(task)
    attempts = [attempt(method, task, look), attempt(method, task), attempt(method, task, look, says="no")]
    attempts.append(attempt(method, task, look, says="no", broken=True))
    assert outcomes(method, *attempts) == pytest.approx([2.2, 1.0, 0.2, 0.0])
    assert outcomes(method, attempt(method, task, says="1" * 1000)) == [0]
    easy = task_of(method, needs="no")
    assert outcomes(method, attempt(method, easy), attempt(method, easy, look, says="no")) == pytest.approx([1.6, 0.4])
    never, always = (
        method_of("deepeyes", "--bonus", "0"),
        method_of("deepeyes", "--bonus", "0", "--unconditional-bonus", "1.2"),
    )
    assert outcomes(never, *attempts) == pytest.approx([1.0, 1.0, 0.2, 0.0])
    assert outcomes(always, *attempts[:3]) == pytest.approx([2.2, 1.0, 1.4])


def test_deepeyes_v2_subtracts_a_tenth_for_a_needless_search():
    method = method_of("deepeyes_v2")
    easy, hard = task_of(method, needs="no"), task_of(method)
    found = [attempt(method, easy, region(easy)), attempt(method, easy), attempt(method, easy, says="no")]
    assert outcomes(method, *found) == pytest.approx([0.92, 1.0, 0.2])
    assert outcomes(method, attempt(method, hard, region(hard))) == pytest.approx([1.0])
    assert outcomes(method, attempt(method, easy, says="1" * 300)) == [0]


def test_longvt_rewards_the_overlap_of_the_last_look():
    """The paper: a correct answer after the crop (10, 30) instead of (20, 40) earns 2.333, by recall 2.5."""
    method, recall = method_of("longvt"), method_of("longvt", "--measure", "recall")
    task = task_of(method, where=lambda one: one.metadata["gold"][0] > 4)
    low, high = task.metadata["gold"]
    half, size = f"{low - 4} {low + 4}", high - low
    one, whole = attempt(method, task, "0 64", half), attempt(method, task, half, "0 64")
    assert outcomes(method, one, whole) == pytest.approx([2 + 4 / (size + 4), 2 + size / 64])
    assert outcomes(recall, one, whole) == pytest.approx([2 + 4 / size, 3.0])
    assert outcomes(method, attempt(method, task, says=half)) == [1.0], "words are no look"


def test_deepsport_adds_half_to_a_correct_answer_with_a_look():
    method = method_of("deepsport")
    task = task_of(method)
    look = region(task)
    attempts = [attempt(method, task, look), attempt(method, task), attempt(method, task, look, says="no")]
    attempts += [attempt(method, task, look, look), attempt(method, task, look, broken=True)]
    assert outcomes(method, *attempts) == pytest.approx([1.5, 1.0, 0.03, -0.05, -0.05])


def test_v_toolrl_adds_the_share_of_well_formed_turns():
    """The paper: a correct answer and three turns, one of them malformed: 1 + 2/3, which is 5/3 - 1 here."""
    method = method_of("v_toolrl")
    task = task_of(method, where=lambda one: len(one.metadata["cells"]) == 1)
    cell = task.metadata["cells"][0]
    spoken = [ToolCall("read_cell", {"cell": cell}), ToolCall("read_cell", {"cell": cell})]
    spoken.append(ToolCall("answer", {"text": task.answer}))
    env, form = method.world.env(method.world.tools), _BrokenOnce()

    def speaker(task, facts):
        return Message("assistant", "", (spoken[facts["turn"]],))

    broken = demonstrate(env, task, speaker, format=form)
    whole = demonstrate(env, task, speaker, format=Compact())
    assert len(broken.turns) == len(whole.turns) == 3 and whole.ending.kind == "completed"
    assert outcomes(method, broken, whole) == pytest.approx([1 + 2 / 3 - 1, 1.0])


class _BrokenOnce(Compact):
    """Leaves the first call that is written open."""

    def __init__(self):
        self.written = 0

    def encode_turn(self, message, tools):
        self.written += 1
        ids = super().encode_turn(message, tools)
        return [one for one in ids if one != CALL_END] if self.written == 1 else ids


def test_ophiuchus_rewards_overlap_format_answer_and_looks():
    method = method_of("ophiuchus")
    task = task_of(method)
    one, blind = attempt(method, task, region(task)), attempt(method, task)
    assert outcomes(method, one, blind) == pytest.approx([1 + 1 + 0.5 + 1.2, 2.0])
    wrong, broken = attempt(method, task, region(task), says="no"), attempt(method, task, region(task), broken=True)
    assert outcomes(method, wrong, broken) == pytest.approx([1.5, 0.0])


@pytest.mark.parametrize("name", ["deepeyes", "deepeyes_v2", "longvt", "deepsport", "ophiuchus"])
@pytest.mark.parametrize("needs", ["yes", "no"])
def test_every_part_of_a_reward_varies_between_siblings(name, needs):
    method = method_of(name)
    task = task_of(method, needs=needs)
    whole = "0 0 8 8" if "grid" in task.id else "0 64"
    attempts = [attempt(method, task, region(task)), attempt(method, task), attempt(method, task, whole, says="no")]
    attempts += [attempt(method, task, region(task), broken=True), attempt(method, task, whole, whole, says="no")]
    group = Group(task, tuple(attempts))
    scores = method.reward(group)
    idle = {name for name, values in scores.channels.items() if np.ptp(values) == 0}
    assert not idle
    advantages = group_norm(std="sample")(group, scores)
    assert len({round(float(one[0].max() + one[0].min()), 9) for one in advantages.tokens}) >= 3
