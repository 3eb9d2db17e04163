import pytest

from handaxe.core.errors import VerifierError
from handaxe.papers.auto_mc_reward.bounded_programs import bound_program, bounded_programs
from handaxe.rewards.program import program
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.training.stages.parts.program_search import Brief, Feedback, ProgramTrial

HEAD = "def compute_reward(before, after):\n    "
GROUP = make_group(trajectories=[make_trajectory(texts=["a"] * 3)])


def total(text):
    return float(program(text=text)(GROUP).outcome[0])


def test_bound_program_matches_its_example():
    text = HEAD + "return (-3, 0.2, 0)[int(before['turn'])], {'part': 7.0}\n"
    per_turn = HEAD + "return (-3, 0.2, 0)[int(before['turn'])] if before['turn'] == {k} else 0.0, {}"
    single = [total(bound_program(per_turn.replace("{k}", str(k)))) for k in range(3)]
    assert single == [-0.1, 0.1, 0.0]
    found = program(text=bound_program(text))(GROUP)
    assert found.outcome[0] == pytest.approx(0.0) and found.channels["part"].tolist() == [21.0]


def test_bound_program_twice_changes_no_total():
    once = bound_program(HEAD + "return 40 * after['turn'], {}")
    assert total(bound_program(once)) == total(once) == pytest.approx(0.3)


@pytest.mark.parametrize("value", ["float('inf')", "-float('inf')", "float('nan')", "'many'"])
def test_bound_program_hides_no_total_that_is_no_finite_number(value):
    with pytest.raises(VerifierError, match="not finite|unsupported"):
        total(bound_program(f"{HEAD}return {value}, {{}}"))


def test_bounded_programs_show_the_author_the_program_without_the_bound():
    seen = []

    def author(brief, count, seed):
        seen.append(brief.feedback.good)
        return ["x = 1\n"] * count

    good = ProgramTrial(bound_program("y = 2\n"), 0.5, {})
    assert bounded_programs(author=author)(Brief((), Feedback()), 2, 0) == [bound_program("x = 1\n")] * 2
    bounded_programs(author=author)(Brief((), Feedback(good)), 1, 0)
    assert seen == [None, good._replace(text="y = 2\n")]
    assert bounded_programs(author=author, bounded=False) is author
