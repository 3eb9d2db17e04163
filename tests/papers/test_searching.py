"""What the rewards of Tool-Star, IKEA, PRS and MARAG-R1 come to: their papers' examples, and the order of attempts."""

import numpy as np
import pytest

pytest.importorskip("bm25s")

from handaxe.commands.configure import parse_train
from handaxe.core.records import Ending, ToolCall, ToolReply
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.methods.build import make_method, make_world
from handaxe.ops.returns import standardise
from handaxe.testing.make_records import make_group, make_task, make_trajectory


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


def method(name, *words):
    chosen, _ = parse_train(name, [*words], prog="handaxe train", also={})
    return make_method(chosen, make_world(chosen))


def attempt(text, *tools, task, broken=False, env=None):
    """An attempt that used these tools with success, one a turn, and then said a text."""
    calls = [[ToolCall(name, {"query": "x"})] for name in tools]
    replies = [[ToolReply(f"{k}-0", name, "y")] for k, name in enumerate(tools)]
    errors = [[] for _ in tools] + [["not JSON"] if broken else []]
    texts = ["" for _ in tools] + [text]
    calls = [*calls, []]
    replies = [*replies, []]
    return make_trajectory(texts=texts, calls=calls, replies=replies, errors=errors, task=task, env=env)


def outcomes(reward, *attempts):
    return reward(make_group(trajectories=attempts, task=attempts[0].task)).outcome.tolist()


def test_tool_star_rewards_equal_the_paper_and_exclude_the_critic():
    task = make_task(answer="paris")
    both, one = ("search", "calculator"), ("search",)
    found = outcomes(
        method("tool_star").reward,
        attempt("paris france", *both, task=task),
        attempt("paris france", *one, task=task),
        attempt("rome", *both, task=task),
        attempt("paris", *both, task=task, broken=True),
    )
    assert found == pytest.approx([0.7667, 0.6667, 0, -1], abs=5e-5)
    assert np.mean(found) == pytest.approx(0.1083, abs=5e-5) and np.std(found, ddof=1) == pytest.approx(
        0.8135, abs=5e-5
    )
    assert standardise(found) == pytest.approx([0.809, 0.686, -0.133, -1.362], abs=1e-3)
    alone = outcomes(method("tool_star", "--bonus", "0").reward, attempt("paris", *both, task=task))
    assert alone == [1.0]


def test_ikea_rewards_equal_the_paper():
    task, reward = make_task(answer="paris"), method("ikea").reward
    right = [attempt("paris", *["search"] * calls, task=task) for calls in (0, 1, 2, 5)]
    wrong = [attempt("rome", *["search"] * calls, task=task) for calls in (2, 0)]
    broken = [attempt("paris", "search", task=task, broken=True)]
    assert outcomes(reward, *right, *wrong, *broken) == pytest.approx([1.6, 1.4, 1.2, 1.0, 0.05, 0, -1])
    assert np.mean(outcomes(reward, right[0], right[1], *wrong)) == pytest.approx(0.7625)


def test_ikea_ranks_every_correct_rollout_above_every_incorrect_one():
    rng = np.random.default_rng(0)
    task = make_task(answer="paris")
    reward = method("ikea").reward
    for _ in range(20):
        said = rng.choice(["paris", "rome"], 8)
        calls = rng.integers(0, 7, 8)
        group = [attempt(text, *["search"] * n, task=task) for text, n in zip(said, calls)]
        found = np.array(outcomes(reward, *group))
        right = said == "paris"
        if right.any() and (~right).any():
            assert found[right].min() > found[~right].max()
        # an incorrect rollout has equal rewards for one search and for many
        assert set(found[~right].tolist()) <= {0.0, 0.05}


def test_prs_rewards_rise_in_steps_up_to_the_best_of_refill():
    task, made = make_task(answer="4071"), method("prs_vspo")
    ladder = [
        attempt("4071", "search", task=task, broken=True),
        attempt("4071", task=task),  # read, and nothing carried out: the answer does not count
        attempt("5526", "search", task=task),
        attempt("4071", "search", task=task),
    ]
    assert outcomes(made.reward, *ladder) == pytest.approx([-1, 0.1, 0.2, 1.0])
    cut = make_trajectory(texts=["4071"], task=task, ending=Ending("truncated", "turns"))
    assert outcomes(made.reward, cut) == [-1]


def test_marag_adds_overlap_of_documents_and_calls():
    task = make_task(
        answer="7",
        metadata={"gold_documents": ["1", "2", "3", "4"], "gold_calls": [{"name": "count", "arguments": {}}] * 2},
    )
    env = {"state": {"DocumentSets": {"found": ["2", "3", "9"], "asked": ["2", "3", "9"], "sets": 1}}}
    made = method("marag")
    two = attempt("7", "filter_by", "count", task=task, env=env)
    group = make_group(trajectories=[two, attempt("7", task=task)], task=task)
    scores = made.reward(group)
    assert scores.channels["documents"].tolist() == pytest.approx([0.5714, 0], abs=5e-5)
    assert scores.channels["calls"].tolist() == [1, 0] and scores.channels["answer"].tolist() == [1, 1]
    assert scores.outcome.tolist() == pytest.approx([1 + 0.5 * 4 / 7 + 0.25, 1])
    advantages = leave_one_out()(group, scores).tokens
    assert type(made.credit) is type(leave_one_out()) and advantages[0][0].max() == pytest.approx(0.5 * 4 / 7 + 0.25)


STAGED = ["tool_star", "ikea", "bleuberi", "marag", "smart", "grpo_tcr", "small_lm_tiny", "chartmaster"]
STAGED += ["deepeyes", "deepeyes_v2", "longvt", "ophiuchus"]


@pytest.mark.parametrize("name", STAGED)
def test_held_out_questions_differ_from_training_questions(name):
    """Stages play training tasks, and no question of a training task is held out."""
    chosen, _ = parse_train(name, [], prog="handaxe train", also={})
    world = make_world(chosen)
    made = make_method(chosen, world)
    assert made.stages or made.closing or made.shared
    questions = [
        {(task.messages[-1].content.lower(), task.messages[-1].images) for task in world.tasks(split, 150, 0)}
        for split in ("train", "test")
    ]
    assert not questions[0] & questions[1]
