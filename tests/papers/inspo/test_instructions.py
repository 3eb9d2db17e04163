import json
from collections import Counter
from dataclasses import replace
from math import exp

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message
from handaxe.curricula.advice import rule_mutations
from handaxe.papers.inspo.instructions import Instruction, instructions
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task, make_trajectory

TASKS = [make_task(id=f"t{k}") for k in range(50)]


def known(weights, **arguments):
    """A population with these weights, none on trial."""
    made = instructions(initial=[f"do {k}" for k in range(len(weights))], **arguments)
    made.population = [Instruction(f"i{k}", f"do {k}", weight, 3) for k, weight in enumerate(weights)]
    return made


def came_of(task, outcome, step=0):
    group = make_group(trajectories=[make_trajectory(texts=["no"], task=task) for _ in outcome], task=task, step=step)
    return make_rated(group=group, scores=make_scores(outcome))


def test_weights_and_probabilities_equal_the_worked_example():
    assert known([0.5, 0.3, 0.1]).chances() == pytest.approx([0.867, 0.117, 0.016], abs=1e-3)
    assert known([0.5, 0.3, 0.1], temperature=1.0).chances() == pytest.approx([0.402, 0.329, 0.269], abs=1e-3)
    made = known([0.5, 0.3])
    (task, *_) = made.curriculum(TASKS, 0).next(0, 1)
    made.observe([came_of(task, [0.0, 0.4]), came_of(task, [0.2, 0.2])])
    weights = [one.weight for one in made.population]
    wanted = {"i0": [0.47, 0.3], "i1": [0.5, 0.29]}  # mean reward 0.2
    assert weights == pytest.approx(wanted[task.metadata["instruction"]])


def test_an_instruction_is_prepended_and_the_task_id_stays():
    made = instructions(initial=["Be short.", ""], trial=1)
    first, second = made.curriculum(TASKS, 0).next(0, 2)
    assert first.messages[0] == Message("system", "Be short.") and second.messages == TASKS[0].messages
    assert [one.metadata["instruction"] for one in (first, second)] == ["i0", "i1"]
    assert {first.id, second.id} <= {task.id for task in TASKS} and first.messages[1:] == TASKS[0].messages
    assert made.with_best(TASKS[0]).messages == first.messages


def test_instructions_on_trial_come_first_and_start_with_their_mean_reward():
    made = instructions(initial=["a", "b"], trial=2)
    tasks = made.curriculum(TASKS, 0)
    drawn = tasks.next(0, 6)
    assert [one.metadata["instruction"] for one in drawn[:4]] == ["i0", "i1", "i0", "i1"]
    tasks.observe([came_of(drawn[0], [1.0, 0.0]), came_of(drawn[1], [1.0, np.nan])])
    assert [one.weight for one in made.population] == [None, None] and made.best.name == "i0"
    assert [one.metadata["instruction"] for one in tasks.next(1, 2)] == ["i0", "i1"]
    tasks.observe([came_of(drawn[0], [0.0, 0.0]), came_of(drawn[1], [1.0])])
    assert [one.weight for one in made.population] == [0.25, 1.0] and made.best.name == "i1"


def test_sampling_follows_the_probabilities_and_the_step():
    made = known([0.2, 0.3])
    tasks = made.curriculum(TASKS, 3)
    names = [one.metadata["instruction"] for one in tasks.next(0, 4000)]
    assert Counter(names)["i1"] / 4000 == pytest.approx(exp(3) / (exp(2) + exp(3)), abs=0.03)
    assert names == [one.metadata["instruction"] for one in tasks.next(0, 4000)]
    assert names[:10] == [one.metadata["instruction"] for one in known([0.2, 0.3]).curriculum(TASKS, 3).next(0, 10)]
    assert names[:50] != [one.metadata["instruction"] for one in tasks.next(1, 50)]


def test_instructions_equal_a_slow_loop():
    rng, made = np.random.default_rng(0), known([0.5, 0.3, 0.1], rate=0.2)
    tasks, weights = made.curriculum(TASKS, 0), {"i0": 0.5, "i1": 0.3, "i2": 0.1}
    for step in range(20):
        groups = [came_of(task, rng.random(3).tolist()) for task in tasks.next(step, 5)]
        tasks.observe(groups)
        for name in weights:
            earned = [v for g in groups if g.group.task.metadata["instruction"] == name for v in g.scores.outcome]
            if earned:
                weights[name] += 0.2 * (sum(earned) / len(earned) - weights[name])
    assert {one.name: one.weight for one in made.population} == pytest.approx(weights)


def test_the_population_evolves_at_its_interval():
    asked = []

    def propose(text, failures, seed):
        asked.append((text, len(failures), seed))
        return ["do 0", "new", "newer"]

    made = known([0.5, 0.3, 0.1], propose=propose, every=4, trial=1)
    tasks = made.curriculum(TASKS, 0)
    for step in range(4):
        tasks.next(step, 1)
    assert not asked
    made.observe([came_of(made.with_best(TASKS[0]), [0.0, 0.0, 1.0])])
    tasks.next(4, 2)
    first = tasks.next(4, 1)
    assert len(asked) == 1 and asked[0][:2] == ("do 0", 2)  # asked once a step, with the failures of the best
    assert [(one.name, one.text) for one in made.population] == [("i0", "do 0"), ("i1", "do 1"), ("i3", "new")]
    assert first[0].metadata["instruction"] == "i3"
    tasks.observe([came_of(first[0], [1.0])])
    assert made.best.text == "new" and tasks.next(5, 1) and len(asked) == 1


def test_further_parents_are_asked_until_there_are_enough_proposals():
    asked = []

    def propose(text, failures, seed):
        asked.append((text, seed))
        return ["do 1", f"{text}!", f"{text}!"] if text != "do 0" else ["do 1"]

    made = known([0.5, 0.3, 0.2, 0.1], propose=propose, every=1, trial=1, prune=2, parents=3)
    made.curriculum(TASKS, 0).next(1, 1)
    assert [text for text, _ in asked] == ["do 0", "do 1", "do 2"] and len({seed for _, seed in asked}) == 1
    assert [one.text for one in made.population] == ["do 0", "do 1", "do 1!", "do 2!"] and made.made == 2
    asked.clear()
    made = known([0.5, 0.3, 0.2, 0.1], propose=propose, every=1, trial=1, prune=1, parents=3)
    made.curriculum(TASKS, 0).next(1, 1)
    assert [text for text, _ in asked] == ["do 0", "do 1"]


def test_without_a_proposal_no_instruction_leaves():
    made = known([0.5, 0.3, 0.1], propose=lambda text, failures, seed: [], every=1, prune=2)
    made.curriculum(TASKS, 0).next(1, 1)
    assert [one.text for one in made.population] == ["do 0", "do 1", "do 2"]


def test_an_instruction_replaces_the_system_prompt_of_a_task():
    task = replace(make_task(), messages=(Message("system", "Be long."), Message("user", "2*7?")))
    opened = instructions(initial=["Be short."]).with_best(task)
    assert opened.messages == (Message("system", "Be short."), Message("user", "2*7?"))
    assert instructions(initial=[""]).with_best(task).messages == (Message("user", "2*7?"),)


def test_the_population_is_a_bandit_without_proposals():
    made = known([0.5, 0.1], every=1)
    for step in range(5):
        made.curriculum(TASKS, 0).next(step, 2)
    assert [one.name for one in made.population] == ["i0", "i1"]


def test_the_best_instruction_stays_and_the_population_is_bounded():
    made = known([0.5], propose=lambda text, failures, seed: [f"{text}!", f"{text}?"], every=1, prune=5)
    tasks = made.curriculum(TASKS, 0)
    for step in range(1, 9):
        tasks.observe([came_of(task, [0.0] * 40) for task in tasks.next(step, 3)])
    assert [one.text for one in made.population] == ["do 0"] and len(made.failures) == 64


def test_the_store_keeps_the_worst_and_latest_failures():
    made = known([0.5], failures=2, conversation=lambda one: f"said {one.final_text}")
    task = made.with_best(TASKS[0])
    made.observe([came_of(task, [0.4, 0.0, 0.9])])
    made.observe([came_of(made.with_best(TASKS[1]), [0.0, 0.1])])
    assert [(one.task, one.reward) for one in made.failures] == [("t1", 0.0), ("t0", 0.0)]
    assert made.failures[0].tags == ("no call",) and made.failures[0].said == "no"
    assert made.failures[0].conversation == "said no"
    copy = known([0.5])
    copy.load_state_dict(json.loads(json.dumps(made.state_dict())))
    assert copy.failures == made.failures


def test_instructions_resume_from_their_state():
    def run(tasks, steps):
        for step in steps:
            groups = [came_of(t, [float(len(t.messages[0].content) % 3 == 0), 0.0], step) for t in tasks.next(step, 4)]
            tasks.observe(groups)

    def fresh():
        return instructions(initial=["a", "b", "c"], propose=rule_mutations(), every=2, trial=1).curriculum(TASKS, 1)

    whole, before, after = fresh(), fresh(), fresh()
    run(whole, range(9))
    run(before, range(4))
    after.load_state_dict(json.loads(json.dumps(before.state_dict())))
    run(after, range(4, 9))
    assert after.state_dict() == whole.state_dict() and whole.state_dict()["population"]["made"] > 3


def test_instructions_refuses_numbers_out_of_range_and_equal_texts():
    for wrong in ({"initial": []}, {"initial": ["a", "a"]}):
        with pytest.raises(InputError, match="initial"):
            instructions(**wrong)
    for wrong in ({"every": 0}, {"rate": 0.0}, {"temperature": 0.0}, {"trial": 0}, {"parents": 0}, {"failures": -1}):
        with pytest.raises(InputError, match="temperature"):
            instructions(initial=["a"], **wrong)


def test_proposed_instructions_are_those_after_the_initial_ones():
    made = known([0.5, 0.3])
    tasks = [make_task(metadata={"instruction": name}) for name in ("i0", "i1", "i2", "i11")]
    assert [made.is_proposed(make_trajectory(task=task)) for task in tasks] == [False, False, True, True]
    assert not made.is_proposed(make_trajectory())
