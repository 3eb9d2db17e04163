"""The judge of a method: the rule by default, a model by name, and what runs with it record and resume."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.answerers import Says
from helpers.methods import made

from handaxe.asking.ask import Ask
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import probability
from handaxe.asking.store import AnswerStore
from handaxe.cli import main
from handaxe.core.errors import InputError
from handaxe.core.records import Criterion
from handaxe.judges.noisy import noisy
from handaxe.judges.step_status import step_status
from handaxe.methods.judge_role import JudgeRole, compare_verdicts
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.training.record.run_record import RunRecord

pytest.importorskip("reasoning_gym")
SMALL = [
    "--model",
    "tiny",
    "--steps",
    "2",
    "--groups",
    "2",
    "--group-size",
    "4",
    "--held-out",
    "2",
    "--eval-every",
    "0",
]
GOALS = [Criterion("sum", "It has the sum.")]


def criteria(task):
    del task
    return GOALS


def rule(trajectory, listed):
    return np.array([["b" in turn.parsed.raw for turn in trajectory.turns] for _ in listed], bool)


def test_by_default_the_rule_itself_answers():
    role, steps = JudgeRole(), step_status()
    assert role.check(rule=rule, criteria=criteria) is rule and role.steps(rule=steps) is steps
    assert role.stages == role.learners == () and role.asked


def test_without_a_rule_a_model_is_named():
    for ask in (lambda role: role.check(rule=None, criteria=criteria), lambda role: role.steps(rule=None)):
        with pytest.raises(InputError, match="has no rule for the judge of the method: give --judge MODEL"):
            ask(JudgeRole())
        ask(JudgeRole("self"))


def test_grades_come_from_the_rule_or_a_model():
    reward = outcome(lambda one: 0.5)
    assert JudgeRole().grades(rule=reward) is reward
    role = JudgeRole("self")
    role.grades(rule=reward)
    one = make_trajectory(texts=["a"])
    role._answerer.recall(Says({}))
    ((question, label),) = role.labelled(one)
    assert (question.prompt.name, label, question.about) == ("grade.terse@1", "5", (one.id, 0, "grade"))


def test_flips_stand_around_the_rule():
    group = make_group(trajectories=[make_trajectory(texts=["a", "b"])])
    assert JudgeRole(flip=1.0).check(rule=rule, criteria=criteria)(group[0], GOALS).tolist() == [[True, False]]
    flipped = JudgeRole(flip=0.5).steps(rule=step_status())
    wanted = noisy(judge=step_status(), spread=0.0, flip=0.5).score_steps(group)
    np.testing.assert_array_equal(flipped.score_steps(group)[0], wanted[0])
    half = JudgeRole(flip=1.0).steps(rule=step_status(good=0.9, plain=0.5, bad=0.1), low=0.0)
    assert all(0 <= value <= 1 for value in half.score_steps(group)[0])
    with pytest.raises(InputError, match="asks for grades, and --judge-flip flips verdicts"):
        JudgeRole(flip=0.1).grades(rule=outcome(lambda one: 0.5))


def test_texts_come_from_the_desk_of_a_model():
    role = JudgeRole("self")
    assert role.texts() is role.desk and role.asked and JudgeRole().texts() is None
    for taught in (JudgeRole("trained"), JudgeRole("head:tiny"), JudgeRole("self", flip=0.1), JudgeRole(flip=0.1)):
        with pytest.raises(InputError, match="asks for texts, which no rule labels"):
            taught.texts()


def test_points_of_a_text_are_no_verdicts():
    """A question that names no rollout, such as points of a rubric, is counted and has no share of yes."""
    role = JudgeRole("self")
    desk = role.texts()
    role._answerer.recall(Says({"b": 0.9}))
    (record,) = role.learners
    about_one, about_none = (Ask(find_prompt("oni/helpful", terse=True), {"then": text}) for text in "bc")
    desk.ask([replace(about_one, about=("trajectory-0", 0, "")), about_none], probability())
    found = record.learn([], step=0)
    assert (found["asks"], found["yes"]) == (2, 1)


@pytest.mark.parametrize("wrong", [{"flip": 1.5}, {"labels": 1}, {"budget": -1}, {"min_coverage": 1.0}])
def test_numbers_out_of_range_are_refused(wrong):
    with pytest.raises(InputError, match="give --judge-flip from 0 to 1"):
        JudgeRole("self", **wrong)


def test_a_question_before_the_policy_is_one_sentence():
    with pytest.raises(InputError, match="--judge self has no model yet"):
        JudgeRole("self").check(rule=rule, criteria=criteria)(make_trajectory(texts=["a"]), GOALS)


def test_verdicts_beside_the_rule_by_hand():
    found = compare_verdicts({1: True, 2: True, 3: False, 4: True}, {1: True, 2: False, 3: False})
    assert found == {"yes": 0.75, "agreement": pytest.approx(2 / 3), "precision": 0.5, "recall": 1.0}
    assert compare_verdicts({}, {1: True}) == {} and compare_verdicts({1: False}, {}) == {"yes": 0.0}


def judged(out, source, *words):
    arguments = ["train", "tp_grpo", *SMALL, "--judge", source, "--judge-labels", "32", *words]
    return main([*arguments, "--out", str(out)])


def rows_of(out):
    with RunRecord.open(out) as record:
        return record.metrics()


@pytest.mark.slow
@pytest.mark.parametrize("source", ["self", "self@start", "trained", "head:tiny", "tiny"])
def test_a_run_with_each_source_records_its_questions(tmp_path, source):
    assert judged(tmp_path / "run", source, "--judge-min-coverage", "0") == 0
    rows = rows_of(tmp_path / "run")
    for row in rows:
        assert row["learner/asked_judge/asks"] > 0 and 0 <= row["learner/asked_judge/agreement"] <= 1
    store = AnswerStore(tmp_path / "run" / "judge.sqlite")
    calls = store.calls()
    assert {one.step for one in calls} == {1, 2} and all(0 <= one.value <= 1 for one in calls)
    assert all(one.question and one.answer.by for one in calls)
    assert len(calls) == sum(row["learner/asked_judge/asks"] for row in rows)


@pytest.mark.slow
def test_a_resumed_run_equals_an_uninterrupted_one_and_asks_nothing_twice(tmp_path):
    """With a head that is fitted again from the record, and answers that stand in the store. Questions of a step come
    in the order in which groups end, so rows are padded to other lengths: equal up to rounding."""
    assert judged(tmp_path / "whole", "head:tiny", "--steps", "4") == 0
    assert judged(tmp_path / "part", "head:tiny") == 0
    assert main(["resume", str(tmp_path / "part"), "--steps", "4"]) == 0
    whole, part = rows_of(tmp_path / "whole"), rows_of(tmp_path / "part")
    for name in ("reward", "learner/asked_judge/asks", "learner/asked_judge/agreement", "loss"):
        np.testing.assert_allclose([row[name] for row in whole], [row[name] for row in part], atol=1e-6)
    first, second = (AnswerStore(tmp_path / out / "judge.sqlite").calls() for out in ("whole", "part"))
    values = [{(one.step, one.about): one.value for one in calls} for calls in (first, second)]
    assert values[0].keys() == values[1].keys()
    assert all(values[0][key] == pytest.approx(values[1][key], abs=1e-5) for key in values[0])


def test_a_run_with_the_rule_asks_no_model_and_keeps_no_store(tmp_path):
    assert judged(tmp_path / "run", "rule", "--judge-flip", "0.3") == 0
    assert not any("asked_judge" in name for row in rows_of(tmp_path / "run") for name in row)
    assert not (tmp_path / "run" / "judge.sqlite").exists() and not (tmp_path / "run" / "stages").exists()


def test_a_recorded_run_is_scored_again_without_a_model(tmp_path, capsys):
    assert judged(tmp_path / "run", "self", "--judge-min-coverage", "0") == 0
    capsys.readouterr()
    assert main(["lab", str(tmp_path / "run")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "the run's reward repeats the recorded score of 16 of 16 rollouts" in shown


def test_a_coverage_near_zero_ends_the_run_with_advice(tmp_path, capsys):
    assert judged(tmp_path / "run", "self", "--groups", "24") == 2
    error = capsys.readouterr().err
    assert "puts a mass of" in error and "--judge-min-coverage 0" in error


@pytest.mark.slow
def test_a_method_that_asks_no_judge_says_so(tmp_path, capsys):
    assert main(["train", "grpo", *SMALL, "--judge", "self", "--out", str(tmp_path / "run")]) == 0
    assert "warning: method grpo asks no judge, so --judge self is ignored" in capsys.readouterr().err


@pytest.mark.slow
def test_a_spent_budget_ends_the_run_unscored(tmp_path, capsys):
    assert judged(tmp_path / "run", "head:tiny", "--judge-budget", "1") != 0
    assert "budget" in capsys.readouterr().err


def test_methods_hand_over_their_rules():
    for name in (
        "tp_grpo",
        "cm2",
        "calm",
        "rusca_rl",
        "agent_evolver",
        "ppr",
        "prs",
        "reasoning_sql_feedback",
        "scribe",
        "deeptravel",
        "grounded_prm",
    ):
        assert made(name).judge.asked, name
    assert not made("grpo").judge.asked
