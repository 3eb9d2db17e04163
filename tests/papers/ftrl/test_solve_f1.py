import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.ftrl.solve_f1 import several_calls, solve_f1
from handaxe.papers.ftrl.toolchains import toolchains
from handaxe.testing.make_records import make_group, make_task, make_trajectory

LAB = [
    LabCase("solve_f1()", toolchains, lambda world: solve_f1()),
]


BOTH = {"add": ["7"], "mul": ["12"]}


def message(*replies, text="", unsolved=BOTH, answer="19", errors=()):
    """An attempt of one message whose calls were answered so: "add 7" is 7 from add."""
    said = [ToolReply(f"0-{i}", *reply.split(" ", 1)) for i, reply in enumerate(replies)]
    return make_trajectory(
        texts=[text],
        calls=[[one.name for one in said]],
        replies=[said],
        errors=[list(errors)],
        task=make_task(answer=answer, metadata={"unsolved": unsolved}),
    )


def outcome(one, **options):
    return solve_f1(**options)(make_group(trajectories=[one])).outcome[0]


THREE, ONE = ("add 7", "mul 12", "add 5"), ("mul 12",)
FOUR = ("add 7", "add 1", "mul 2", "sub 3")
SIBLINGS = make_group(trajectories=[message(*THREE), message(*FOUR), message(text="19"), message()])
"""For the contract that every reward keeps."""


@pytest.mark.parametrize(("replies", "earned"), [(THREE, 1.0), (ONE, 1.0), (FOUR, 0.4)])
def test_messages_with_calls_match_the_example(replies, earned):
    assert outcome(message(*replies)) == pytest.approx(earned, abs=1e-12)


def test_messages_without_calls_match_the_example():
    assert outcome(message(text="it is 19", unsolved={"add": ["7"]})) == 0.5
    assert outcome(message()) == -0.5


@pytest.mark.parametrize(
    ("one", "earned"),
    [
        (message(text="19", unsolved={}), 1.0),
        (message(text="done", unsolved={}), 0.5),
        (message(text="done"), 0.0),
        (message(text="19"), 1 / 3),
        (message(text="<tool_call>{"), -0.3),
        (message(errors=["no JSON"]), -0.3),
        (message("add 7", errors=["no JSON"]), 2 / 3),
        (message("add 7", "add 7"), 2 / 3),
    ],
    ids=["stated", "solved", "nothing", "guessed", "fragment", "broken", "one broken", "twice"],
)
def test_every_case_of_a_message_without_calls(one, earned):
    assert outcome(one) == pytest.approx(earned, abs=1e-12)


@pytest.mark.parametrize(
    ("measure", "three", "four"), [("precision", 2 / 3, 1 / 4), ("recall", 2, 1), ("product", 4 / 3, 1 / 4)]
)
def test_precision_recall_and_product_match_their_formulas(measure, three, four):
    assert outcome(message(*THREE), measure=measure) == pytest.approx(three)
    assert outcome(message(*FOUR), measure=measure) == pytest.approx(four)


def test_later_messages_are_scored_by_the_remaining_results():
    task = make_task(answer="19", metadata={"unsolved": BOTH})
    one = make_trajectory(
        texts=["", "", "19"],
        calls=[["add"], ["add", "mul"], []],
        replies=[
            [ToolReply("0-0", "add", "7")],
            [ToolReply("1-0", "add", "7"), ToolReply("1-1", "mul", "12")],
            [],
        ],
        task=task,
    )
    assert outcome(one) == pytest.approx((1 + 2 / 3 + 1) / 3)


def test_solve_f1_rejects_invalid_arguments():
    with pytest.raises(InputError, match="unknown measure 'recal'"):
        solve_f1(measure="recal")
    with pytest.raises(TaskError, match="unsolved"):
        outcome(make_trajectory(task=make_task(answer="1")))


def test_several_calls_is_the_share_of_messages_on_which_the_measures_differ():
    tries = [
        message(*THREE),
        message(*ONE),
        message("add 1", "add 2"),
        message(text="19"),
        message("add 7", errors=["no"]),
    ]
    assert list(several_calls()(make_group(trajectories=tries)).outcome) == [1, 0, 0, 0, 1]
    for one in tries:
        earned = {outcome(one, measure=name) for name in ("f1", "precision", "recall")}
        assert (len(earned) > 1) == bool(several_calls()(make_group(trajectories=[one])).outcome[0])
