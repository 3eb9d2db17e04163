"""What THOR learns before its loop and how it corrects itself in evaluations, and what ROME's failed restarts learn."""

from dataclasses import replace
from math import log

import pytest

pytest.importorskip("bm25s")

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.records import Branch, Sampling, ToolCall
from handaxe.core.requests import Attempt
from handaxe.methods.build import make_method, make_world
from handaxe.methods.run import run
from handaxe.models.compact import Compact
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.testing.batches import small_batch
from handaxe.testing.records import make_group, make_rated, make_scores, make_task
from handaxe.testing.scripted import ScriptedEngine
from handaxe.tools.calculator import calculator
from handaxe.training.loop.config import RunConfig
from handaxe.training.record.run_record import RunRecord

SMALL = ["--steps", "1", "--groups", "2", "--group-size", "2", "--held-out", "2", "--seed", "1", "--model", "tiny"]


def parsed(name, *words):
    return parse_train(name, [*words], prog="handaxe train", also={"run": RunOptions})[0]


def method(name, *words):
    chosen = parsed(name, *words)
    return make_method(chosen, make_world(chosen))


def evaluated(made):
    """An attempt as it is evaluated, of a policy that fails at first: a scripted engine says every line once."""
    world, lines = made.world, ["12*", "2"]
    (task,) = world.tasks("test", 1, 0)

    def script(text, turn):
        return ToolCall("calculator", {"expression": lines.pop(0)}) if lines else "2"

    engine = ScriptedEngine(Compact(), script, tools=(calculator.schema,))
    one = Attempt(task, world.env(world.tools), Compact(), Sampling(max_tokens=48), "t/0", 0, 5, 800)
    (played,) = run_plan(made.evaluate_rollout(one), sample=lambda name, request: engine.sample([request])[0])
    return [reply.status for reply in played.replies], played.notes


def test_thor_draws_a_failed_call_anew_only_where_it_is_told():
    assert evaluated(method("thor")) == (["retry", "ok"], {})
    statuses, notes = evaluated(method("thor", "--redrawn", "2"))
    assert statuses == ["ok"] and notes["redrawn"] == [{"turn": 0, "tries": 1, "kept": 0}]


def test_thor_begins_with_solutions_only_where_it_is_told(tmp_path):
    steps = {}
    for count in ("0", "3"):
        words = [*SMALL, "--imitated", count, "--redrawn", "1"]
        made = parsed("thor", *words)
        run(
            made,
            RunConfig(out=tmp_path / count, progress=False, recipe={"name": "thor", "arguments": made.arguments()}),
        )
        kept = [one.parent for one in (tmp_path / count / "stages").rglob("record.sqlite")]
        steps[count] = [RunRecord.open(one).steps() for one in kept]
    assert steps == {"0": [], "3": [[0]]}


@pytest.mark.parametrize(("words", "imitates"), [((), True), (("--no-imitate",), False)])
def test_rome_imitates_unless_it_is_told_not_to(words, imitates):
    made = method("ipa", *words)
    (store,) = made.learners
    task = make_task(id="a")
    group = make_group(layouts=["UUt pp tTt ppp"] * 2, task=task)
    store.learn([make_rated(group=group, scores=make_scores([0, 1]))], step=0)
    begun = [replace(one, id=f"b/{i}", branch_of=Branch(group[1].id, 0, 8)) for i, one in enumerate(group)]
    failed = make_rated(group=make_group(trajectories=begun, task=task), scores=make_scores([0, 0]))
    (one,) = made.select([failed])
    assert ("/replay/" in one.group[0].id) == imitates
    if imitates:
        assert one.advantages.tokens[0][0].tolist() == [0.0] * 8 + [1.0] * 3


def test_romes_units_keep_different_tokens_of_what_its_sampler_can_draw():
    """A cut of 0.7 keeps 0.7 to 1 of what is probable. A turn with 0.75 and 0.95 has a mean of 0.844, in the window."""
    made = {unit: method("ipa", "--unit", unit) for unit in ("turn", "token")}
    assert made["turn"].sampling.top_p == 0.7
    drawn = [-1.0 - log(0.75), -1.0 - log(0.95)]
    batch = small_batch([[1.0, 1.0]], old=[[-1.0, -1.0]], behaviour=[drawn], turn=[[0, 0]])
    kept = {unit: one.correction(batch).weight_BT[batch.mask_BT].tolist() for unit, one in made.items()}
    assert kept == {"turn": [1.0, 1.0], "token": [0.0, 1.0]}


def test_romes_discount_is_left_by_its_bound_and_its_baseline():
    group = make_group(layouts=["Up tp tp tp tp tp"], task=make_task(id="a"))
    (adv,) = method("ipa").credit(group, make_scores([1])).tokens[0]
    assert adv[group[0].sequences[0].mask].tolist() == pytest.approx([0.09049, 0.1561, 0.2, 0.2, 0.2, 0.2])
