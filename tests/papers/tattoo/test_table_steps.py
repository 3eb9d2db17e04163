import random

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tattoo.table_steps import CELLS, TableStep, draw_cells, draw_chain, shown_step, table_steps
from handaxe.papers.tattoo.verdicts import read_verdicts
from handaxe.rewards.parts.scoring import score_group
from handaxe.testing.make_records import make_group
from handaxe.worlds.parts.demonstrate import demonstrate


def play(world, task):
    return demonstrate(world.env(world.tools), task, world.expert, format=Compact())


def gauge(world, name, rollouts):
    ratio = world.gauges[name]
    return sum(ratio.top(one, 0.0) for one in rollouts) / sum(ratio.bottom(one, 0.0) for one in rollouts)


@pytest.mark.parametrize("offer", ["tools", "none"])
def test_the_expert_is_correct_and_supported_where_it_calls(offer):
    world = table_steps(offer=offer)
    rollouts = [play(world, task) for task in world.tasks("train", 24, 0)]
    for one in rollouts:
        assert score_group(world.correct, make_group(trajectories=[one], task=one.task))[1].outcome.tolist() == [1]
        assert one.tools == () or len(one.calls) == (0 if one.task.metadata["terse"] else 3)
    called = sum(bool(one.calls) for one in rollouts) / len(rollouts)
    assert gauge(world, "supported", rollouts) == called
    assert (0.2 < called < 0.8) == (offer == "tools")
    assert {gauge(world, name, rollouts) for name in ("right_labels", "table_steps", "reasoning_steps", "formed")} == {
        1.0
    }


def test_steps_are_judged_alone_and_claims_equal_a_slow_check():
    rng = random.Random(0)
    seen = np.zeros((3, 2))
    for _ in range(300):
        cells = draw_cells(rng, "train")
        asked = rng.sample(CELLS, 3)
        for k, step in enumerate(draw_chain(rng, cells, asked, faults=0.4)):
            left = [cells.get(one, one) for one in step.left.split("+")]
            slow = sum(int(one) for one in left)
            assert (int(step.claim) == slow) == (step.label == 1)
            assert eval(step.check, {}, dict(cells)) == int(step.value) == slow
            seen[k, int(step.label == 1)] += 1
    assert np.all(np.abs(seen[:, 1] / 300 - 0.6) < 0.1)


def test_the_claim_alone_does_not_tell_the_label():
    """Correct and incorrect claims of sums have as many digits, and about equal means."""
    world = table_steps()
    claims = {1: [], -1: []}
    for task in world.tasks("train", 400, 0):
        for step in task.metadata["steps"]:
            one = TableStep(**step)
            if one.kind == "reasoning":
                assert len(one.claim) == len(one.value)
                claims[one.label].append(int(one.claim))
    assert abs(np.mean(claims[1]) - np.mean(claims[-1])) < 15


def test_the_prefix_is_the_sub_table_of_a_schema_step_alone():
    schema = TableStep("schema", "45+50", "b1+c2", "93", "95")
    assert shown_step(schema, prefix=True) == "[45 50]b1+c2=93"
    assert shown_step(schema, prefix=False) == "b1+c2=93"
    assert shown_step(schema._replace(kind="reasoning"), prefix=True) == "b1+c2=93"
    on, off = (table_steps(prefix=one).tasks("test", 1, 0)[0].messages[-1].content for one in ("on", "off"))
    assert "[" in on and "[" not in off and len(on) > len(off)


def test_the_prefix_does_not_hold_the_cell_of_the_first_step():
    for task in table_steps().tasks("train", 50, 0):
        first, second, _ = task.metadata["steps"]
        assert first["left"] not in second["left"].split("+")


def test_tables_are_in_one_split():
    world = table_steps()
    tables = {
        split: {tuple(t.metadata["cells"].values()) for t in world.tasks(split, 100, 0)} for split in ("train", "test")
    }
    assert not tables["train"] & tables["test"]


def test_lookup_reads_cells_and_refuses_others():
    world = table_steps(terse=0.0)
    (task,) = world.tasks("train", 1, 0)
    one = play(world, task)
    assert one.replies[0].content == str(task.metadata["cells"][one.calls[0].arguments["cell"]])
    assert [verdict.label for verdict in read_verdicts(one)] == task.metadata["labels"]


@pytest.mark.parametrize("options", [{"terse": 1.1}, {"faults": -0.1}])
def test_bad_shares_are_refused(options):
    with pytest.raises(InputError, match="shares from 0 to 1"):
        table_steps(**options)
