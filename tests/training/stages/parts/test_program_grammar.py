import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import VerifierError
from handaxe.rewards.program import program
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.training.stages.parts.program_grammar import (
    Component,
    change_program,
    grammar,
    program_text,
    read_program,
    repair_program,
)
from handaxe.training.stages.parts.program_search import TASK, Brief, Feedback, ProgramTrial

NAMES = ("at_0", "calls", "failed", "ok", "tokens", "turn")
TWO = [Component("ok_change", 1.0, '(after["ok"] - before["ok"])'), Component("turn_level", -0.3, 'after["turn"]')]


def trial_of(parts, **curves):
    named = {f"component/{name}": values for name, values in curves.items() if name != "task"}
    return ProgramTrial(program_text(parts), 0.5, {TASK: curves.get("task", (0.1, 0.5)), **named})


def test_write_program_writes_a_program_that_runs_and_reads_back():
    text = program_text(TWO)
    assert read_program(text) == TWO
    one = make_trajectory(texts=["a", "b"], calls=[["f"], []], replies=[["x"], []])
    scores = program(text=text)(make_group(trajectories=[one]))
    assert scores.outcome.tolist() == pytest.approx([1.0 - 0.3 * (1 + 2)])
    assert scores.channels["turn_level"].tolist() == pytest.approx([-0.9])


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_grammar_writes_distinct_programs_that_read_back_and_depend_on_the_seed_alone(seed, count):
    brief = Brief(NAMES, Feedback())
    texts = grammar()(brief, count, seed)
    assert len(set(texts)) == len(texts) == count
    assert texts == grammar()(brief, count, seed)
    for text in texts:
        parts = read_program(text)
        assert 1 <= len(parts) <= 3 and program_text(parts) == text


@given(st.integers(0, 10**6))
def test_grammar_changes_the_good_program(seed):
    good = trial_of(TWO, ok_change=(1.0, 2.0), turn_level=(-0.5, -1.0))
    texts = grammar()(Brief(NAMES, Feedback(good)), 4, seed)
    assert good.text not in texts and len(set(texts)) == 4
    assert {one.name for one in read_program(texts[0])} & {one.name for one in TWO}


def changed(good, seeds=range(20)):
    return [change_program(good, NAMES, random.Random(seed), further=0) for seed in seeds]


def test_change_program_replaces_a_component_with_a_constant_curve():
    for parts in changed(trial_of(TWO, ok_change=(1.0, 2.0), turn_level=(-3.0, -3.0))):
        assert TWO[0] in parts or "ok_change" in [one.name for one in parts]
        assert TWO[1] not in parts or len(parts) == 1


def test_change_program_scales_a_dominating_component():
    for parts in changed(trial_of(TWO, ok_change=(50.0, 60.0), turn_level=(-0.5, -1.0))):
        assert parts == [TWO[0]._replace(weight=0.1), TWO[1]]


def test_change_program_starts_again_without_success():
    made = changed(trial_of(TWO, task=(0.0, 0.01), ok_change=(50.0, 60.0), turn_level=(-0.5, -1.0)))
    assert not any(set(TWO) <= set(parts) for parts in made)


def test_change_program_without_curves_of_components_changes_at_random():
    plain = changed(trial_of(TWO))
    assert all(parts != TWO for parts in plain)
    assert [TWO[0]._replace(weight=0.1), TWO[1]] not in plain


def test_some_programs_of_the_grammar_fail_and_most_run():
    texts = [text for seed in range(30) for text in grammar()(Brief(NAMES[1:], Feedback()), 2, seed)]
    group = make_group(trajectories=[make_trajectory(texts=["a"], calls=[["f"]], replies=[["x"]])])
    failed = 0
    for text in texts:
        try:
            program(text=text)(group)
        except VerifierError as error:
            assert "division by zero" in str(error)
            failed += 1
    assert 0 < failed < len(texts) / 2


def test_repair_program_replaces_the_components_that_fail_alone():
    bad = Component("ok_growth", 3.0, '(after["ok"] / before["ok"])')

    def check(text):
        return "division by zero" if "ok_growth" in text else ""

    for seed in range(20):
        brief = Brief(NAMES, Feedback(), check)
        parts = read_program(repair_program(program_text([TWO[0], bad, TWO[1]]), brief, seed))
        assert bad not in parts
        assert {TWO[0].name, TWO[1].name} <= {one.name for one in parts}
    assert read_program(repair_program("another author's", Brief(NAMES, Feedback(), check), 0))


def test_grammar_avoids_components_of_the_bad_program_that_the_good_one_lacks():
    bad = [TWO[0], *[Component(f"{name}_change", -1.0, f'(after["{name}"] - before["{name}"])') for name in NAMES]]
    feedback = Feedback(trial_of(TWO), trial_of(bad))
    plain, avoided = set(), set()
    for seed in range(40):
        for found, brief in ((plain, Feedback(trial_of(TWO))), (avoided, feedback)):
            for text in grammar()(Brief(NAMES, brief), 3, seed):
                found |= {(one.name, one.weight > 0) for one in read_program(text)}
    own = {(one.name, one.weight > 0) for one in bad} - {(TWO[0].name, True)}
    assert own & plain and not own & avoided
