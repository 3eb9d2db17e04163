"""Labels that teach a judge: their balance, and that the order of rollouts changes none."""

from handaxe.asking.ask import Ask
from handaxe.asking.prompt import find_prompt
from handaxe.methods.teach_judge import balanced

STEP = find_prompt("step", terse=True)


def labelled(yes, no):
    return [
        (Ask(STEP, {"task": "", "before": "", "did": f"{k}", "then": ""}), "yes" if k < yes else "no")
        for k in range(yes + no)
    ]


def counts(found):
    return sum(label == "yes" for _, label in found), sum(label == "no" for _, label in found)


def test_the_rare_answer_is_taken_first():
    assert counts(balanced(labelled(10, 90), most=100)) == (10, 30)
    assert counts(balanced(labelled(60, 40), most=20)) == (10, 10)
    assert counts(balanced(labelled(90, 10), most=100)) == (30, 10)
    assert counts(balanced(labelled(3, 2), most=100)) == (3, 2)
    assert counts(balanced(labelled(0, 9), most=5)) == (0, 5)
    assert balanced([], most=5) == []


def test_several_grades_share_the_labels():
    found = [(ask, str(k % 3) if k < 30 else "0") for k, (ask, _) in enumerate(labelled(0, 60))]
    chosen = [label for _, label in balanced(found, most=24)]
    assert [chosen.count(grade) for grade in "012"] == [8, 8, 8]


def test_the_choice_depends_on_the_questions_alone():
    found = labelled(30, 60)
    first, second = balanced(found, most=20), balanced(found[::-1], most=20)
    assert {ask.fields["did"] for ask, _ in first} == {ask.fields["did"] for ask, _ in second}
