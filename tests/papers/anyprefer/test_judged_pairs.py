"""The loop with scripted scores and truths; no model plays."""

from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Advantages, Group, RatedGroup, Scores
from handaxe.papers.anyprefer.judged_pairs import gather_pairs, judged_pairs, label_accuracy
from handaxe.papers.anyprefer.knowledge_judge import KnowledgeJudge
from handaxe.papers.anyprefer.role_prompts import RolePrompts, name_next_tool
from handaxe.testing.make_records import make_task, make_trajectory

TOOLS = ["calculator", "search"]
PROMPTS = RolePrompts("Use calculator.", "Use calculator.")
SCORES = {("a", 1): [0.2, 0.9, 0.6], ("b", 1): [0.5, 0.6, 0.55], ("b", 2): [0.9, 0.1, 0.3], ("c", 1): [0.1, 0.1, 0.1]}
"""(task, number of the judge's tools) -> scores; c is never accepted."""
TRUTH = {"a": [0.0, 1.0, 0.0], "b": [0.0, 0.0, 1.0], "c": [1.0, 0.0, 0.0]}


def rated(task):
    one = make_trajectory(texts=["1"])
    group = [replace(one, task=task, sample=k, id=f"{task.id}/{k}") for k in range(3)]
    tokens = tuple(tuple(sequence.mask.astype(np.float64) for sequence in one.sequences) for one in group)
    return RatedGroup.of(Group(task, tuple(group)), Scores(np.array(TRUTH[task.id])), Advantages(tokens))


def gather(*, judge_tools=TOOLS, rounds=3, threshold=0.5):
    played = []

    def play(given, number):
        played.append((number, [(task.id, task.tools) for task in given]))
        return [rated(task) for task in given]

    def score(group, own):
        return np.array(SCORES.get((group.task.id, len(own)), SCORES[("c", 1)]))

    found = gather_pairs(
        [make_task(id=name) for name in "abc"],
        play=play,
        score=score,
        reflect=name_next_tool(tools=TOOLS),
        tools=TOOLS,
        judge_tools=judge_tools,
        prompts=PROMPTS,
        rounds=rounds,
        threshold=threshold,
    )
    return found, played


def told(groups):
    return [(one.group.task.id, [own.sample for own in one.group], one.scores.outcome.tolist()) for one in groups]


def test_rejected_tasks_return_with_updated_prompts():
    found, played = gather()
    one = ("calculator",)
    both = ("calculator", "search")
    assert played == [(0, [("a", one), ("b", one), ("c", one)]), (1, [("b", both), ("c", both)]), (2, [("c", both)])]
    assert told(found.groups) == [("a", [1, 0], [0.9, 0.2]), ("b", [0, 1], [0.9, 0.1])]
    assert found.prompts == ("Use calculator. Use search.", "Use calculator. Use search.")
    wanted = {"accepted": 2, "accepted/later": 0.5, "rejected": 1, "label_accuracy": 0.75, "updates": 1}
    assert found.figures == pytest.approx(wanted, abs=1e-6)


def test_one_round_leaves_rejected_pairs_out():
    found, played = gather(rounds=1)
    assert told(found.groups) == [("a", [1, 0], [0.9, 0.2])] and len(played) == 1
    assert found.figures["accepted/later"] == 0 and found.figures["rejected"] == 2


def test_a_judge_without_tools_gets_none():
    found, _ = gather(judge_tools=[])
    assert found.groups == [] and found.figures["label_accuracy"] == 0.5


def test_closed_tasks_end_the_loop():
    found, played = gather(threshold=0.05)
    assert [one.group.task.id for one in found.groups] == ["a", "b"] and len(played) == 3


def test_label_accuracy_matches_its_example_and_a_slow_loop():
    rng = np.random.default_rng(0)
    for truths in ([(1, 0), (0, 0), (0, 1)], rng.integers(0, 2, (30, 2)).tolist()):
        groups = [rated(make_task(id="a")) for _ in truths]
        for one, pair in zip(groups, truths, strict=True):
            one.scores.channels["truth"] = np.array(pair, np.float64)
        slow = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in truths) / len(truths)
        assert label_accuracy(groups) == pytest.approx(slow, abs=1e-6)
    assert label_accuracy([]) == 0.5


def test_bad_input_says_what_to_do():
    with pytest.raises(InputError, match="1 round and 2 answers"):
        judged_pairs(
            judge=KnowledgeJudge(),
            tasks=lambda seed: [],
            tune=lambda source: None,
            reflect=name_next_tool(tools=TOOLS),
            tools=TOOLS,
            judge_tools=TOOLS,
            prompts=PROMPTS,
            answers=1,
        )
