import numpy as np
import pytest

from handaxe.core.records import Message, ToolCall
from handaxe.evaluation.scenes import play, script
from handaxe.testing.worlds import check_world
from handaxe.worlds.fact_chains import fact_chains, judged_labels, next_step, step_verdicts
from handaxe.worlds.parts.reference_calls import reference_calls

WORLD = fact_chains()
TASKS = WORLD.tasks("test", 40, 0)
TWO = next(task for task in TASKS if task.metadata["facts"] == 2)
FIRST, SECOND, SUM = reference_calls(TWO)


def call(name, **arguments):
    return Message("assistant", "", (ToolCall(name, arguments),))


def as_message(one):
    return Message("assistant", "", (one,))


def verdicts(*messages, task=TWO):
    return step_verdicts(play(WORLD, WORLD.tools, task, script(*messages))).tolist()[: len(messages)]


def test_fact_chains_keeps_the_world_contract():
    check_world(WORLD, count=24)


def test_every_step_of_the_expert_is_correct():
    for task in TASKS:
        one = play(WORLD, WORLD.tools, task, WORLD.expert)
        assert step_verdicts(one).tolist() == [1.0] * (task.metadata["facts"] + 2)


def test_the_example_by_hand():
    """A lookup of another fact is incorrect, and later steps are not judged."""
    other = call("lookup", fact="100 none")
    assert verdicts(as_message(FIRST), other, as_message(SUM), TWO.answer) == [1, -1, 0, 0]


@pytest.mark.parametrize(
    "messages, expected",
    [
        ((as_message(SECOND), as_message(FIRST), as_message(SUM), TWO.answer), [1, 1, 1, 1]),
        ((as_message(FIRST), as_message(FIRST)), [1, -1]),
        ((as_message(FIRST), as_message(SUM)), [1, -1]),
        ((as_message(FIRST), TWO.answer), [1, -1]),
        ((as_message(FIRST), as_message(SECOND), call("calculator", expression="1+1")), [1, 1, -1]),
        ((as_message(FIRST), as_message(SECOND), as_message(SUM), as_message(SUM)), [1, 1, 1, -1]),
        ((as_message(FIRST), as_message(SECOND), as_message(SUM), "1"), [1, 1, 1, -1]),
        ((Message("assistant", "", (FIRST, SECOND)),), [-1]),
        (("",), [-1]),
    ],
)
def test_a_step_out_of_the_chain_is_incorrect(messages, expected):
    assert verdicts(*messages) == expected


@pytest.mark.slow
def test_the_next_step_completes_any_correct_beginning():
    for task in TASKS:
        calls = [as_message(one) for one in reference_calls(task)]
        for order in ([], calls[:1], calls[-2:-1]):
            steps = list(order)
            while True:
                one = play(WORLD, WORLD.tools, task, script(*steps)) if steps else None
                step = next_step(task, () if one is None else one.turns[: len(steps)])
                steps.append(step)
                if not step.calls:
                    break
            assert verdicts(*steps, task=task) == [1.0] * len(steps) and len(steps) == len(calls) + 1


def test_people_of_test_questions_are_in_no_training_question():
    people = [
        {one["arguments"]["fact"][:3] for task in own for one in task.metadata["gold_calls"][:-1]}
        for own in (WORLD.tasks("train", 200, 0), WORLD.tasks("test", 200, 0))
    ]
    assert people[0] and people[1] and not people[0] & people[1]


def test_all_numbers_of_facts_occur():
    assert set(np.unique([task.metadata["facts"] for task in TASKS])) == {1, 2}


def test_steps_after_the_first_incorrect_one_have_no_label():
    one = play(WORLD, WORLD.tools, TWO, script(as_message(FIRST), call("lookup", fact="100 none"), "1"))
    assert judged_labels(one)[:2].tolist() == [1.0, -1.0] and np.isnan(judged_labels(one)[2:]).all()
