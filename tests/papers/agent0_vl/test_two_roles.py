import numpy as np
import pytest

from handaxe.core import records
from handaxe.core.errors import InputError
from handaxe.core.images import message_images
from handaxe.core.records import Author, Ending, Message, ParsedTurn, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.papers.agent0_vl.checked_plates import checked_plates
from handaxe.papers.agent0_vl.two_roles import (
    Step,
    Verdict,
    is_repaired,
    read_verdict,
    solver_answer,
    solver_steps,
    step_text,
    two_roles,
)
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("sklearn")
pytest.importorskip("PIL")
FORMAT = Compact(TinyImageProcessor(8))
WORLD = checked_plates()
TASK = WORLD.tasks("train", 1, 0)[0]
HEAD = "<SYSTEM>zoom(box)<END><USER>red?\ufffc<END>"


def zoom(box):
    return ToolCall("zoom", {"box": box})


def played(*said, max_turns=12, **knobs):
    """A rollout of these turns, each a text or a call."""
    turns = [
        Message("assistant", "", (one,)) if isinstance(one, ToolCall) else Message("assistant", one) for one in said
    ]
    made = demonstrate(
        WORLD.env(()),
        TASK,
        lambda task, facts: turns[facts["turn"]],
        format=FORMAT,
        rollout=two_roles(max_turns=max_turns, **knobs),
    )
    records.check(made)
    return made


def texts(made):
    return [FORMAT.decode(one.ids.tolist()) for one in made.sequences]


STRAIGHT = (zoom("0 0 2 2"), "0 0 2 2 .9", "17", zoom("0 0 2 2"), "17 .9")


def test_roles_alternate_and_each_reads_its_own_prompt():
    made = played(*STRAIGHT)
    call = "<ASSISTANT><CALL>zoom 0 0 2 2<CALL_END><END>"
    assert texts(made) == [
        f"{HEAD}{call}",
        f"{HEAD}<USER>check 0 0 2 2<END><ASSISTANT>0 0 2 2 .9<END>",
        f"{HEAD}{call}<TOOL>\ufffc<END><ASSISTANT>17<END>",
        f"{HEAD}<USER>check 17<END>{call}<TOOL>\ufffc<END><ASSISTANT>17 .9<END><ASSISTANT>",
    ]
    assert made.ending == Ending("completed") and solver_answer(made) == "17"
    assert solver_steps(made) == [
        Step(0, "0 0 2 2", True, False, (Verdict("0 0 2 2", 1.0, 0.9),)),
        Step(2, "17", False, True, (Verdict("17", 1.0, 0.9),)),
    ]


def test_a_doubtful_step_is_replaced_by_its_repair():
    made = played(zoom("4 4 6 6"), "0 0 2 2 .5", *STRAIGHT)
    assert texts(made)[2] == f"{HEAD}<USER>again: 0 0 2 2<END><ASSISTANT><CALL>zoom 0 0 2 2<CALL_END><END>"
    assert "4 4 6 6" not in "".join(texts(made)[2:]), "the solver goes on from the repair alone"
    (first, _) = solver_steps(made)
    assert is_repaired(made) and not is_repaired(played(*STRAIGHT))
    assert first == Step(2, "0 0 2 2", True, False, (Verdict("0 0 2 2", -1.0, 0.5), Verdict("0 0 2 2", 1.0, 0.9)))


def test_a_repaired_answer_reads_the_accepted_steps():
    made = played(zoom("0 0 2 2"), "0 0 2 2 .9", "71", "17 .2", "17", "17 .9")
    call = "<ASSISTANT><CALL>zoom 0 0 2 2<CALL_END><END><TOOL>\ufffc<END>"
    assert texts(made)[4] == f"{HEAD}{call}<USER>again: 17<END><ASSISTANT>17<END>"
    assert solver_answer(made) == "17" and made.ending == Ending("completed")


def test_a_repair_is_not_repaired_again():
    made = played(zoom("0 0 2 2"), "0 0 2 2 .9", "71", "17 .2", "72", "17 .2")
    assert made.ending == Ending("completed") and solver_answer(made) == "72"
    assert [len(step.verdicts) for step in solver_steps(made)] == [1, 2]
    twice = played(zoom("0 0 2 2"), "0 0 2 2 .9", "71", "17 .2", "72", "17 .2", "17", "17 .9", repairs=2)
    assert solver_answer(twice) == "17"


@pytest.mark.parametrize(("knobs", "turns"), [({"confidence": 0.0}, 4), ({"repairs": 0}, 4), ({"confidence": 0.5}, 4)])
def test_without_a_threshold_nothing_is_repaired(knobs, turns):
    made = played(zoom("4 4 6 6"), "0 0 2 2 .5", "71", "17 .5", **knobs)
    assert len(made.turns) == turns and solver_answer(made) == "71"
    assert [step.verdicts[-1].score for step in solver_steps(made)] == [-1, -1]


def test_tokens_of_both_roles_train_and_prompts_do_not():
    made = played(zoom("4 4 6 6"), "0 0 2 2 .5", *STRAIGHT)
    assert [turn.sequence for turn in made.turns] == [0, 1, 2, 3, 4, 5, 5]
    trained = sum(int(one.mask.sum()) for one in made.sequences)
    assert trained == sum(turn.stop - turn.start for turn in made.turns)
    for one in made.sequences:
        assert (one.mask == (one.author == Author.POLICY)).all()


def test_every_role_sees_the_image_of_the_question():
    made = played(*STRAIGHT)
    overview, crop = message_images(made.messages)
    assert made.num_image_tokens == 16 * (4 + 2) and overview != crop
    assert all(np.isin(overview.ids(16), one.ids).all() for one in made.sequences)


def test_a_verdict_that_cannot_be_read_is_doubtful():
    made = played(zoom("0 0 2 2"), "well", zoom("0 0 2 2"), "0 0 2 2 .9", "17", "17 .9")
    assert solver_steps(made)[0].verdicts == (Verdict("", 0.0, 0.0), Verdict("0 0 2 2", 1.0, 0.9))


def test_a_failed_call_is_a_step_without_a_tool():
    made = played(zoom("9 9 9 9"), "0 0 2 2 .9", "17", "17 .9")
    assert [step.tool for step in solver_steps(made)] == [False, False]


def test_a_rollout_cut_before_the_verdict_has_an_unjudged_step():
    made = played(*STRAIGHT, max_turns=3)
    assert made.ending == Ending("truncated", "turns") and len(solver_steps(made)) == 1
    made = played(*STRAIGHT, max_turns=4)
    assert solver_steps(made)[-1] == Step(2, "17", False, True) and solver_answer(made) == "17"
    assert solver_answer(played(zoom("0 0 2 2"), max_turns=1)) == ""


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("90 .9", Verdict("90", 1.0, 0.9)),
        ("96 .5", Verdict("96", -1.0, 0.5)),
        ("4 4 6 6 1", Verdict("4 4 6 6", -1.0, 1.0)),
        ('{"score": 0.4, "confidence": 0.5, "critique": "blurred"}', Verdict("blurred", 0.4, 0.5)),
        ('{"score": 2, "confidence": 0.5}', Verdict("", 0.0, 0.0)),
        ('{"score": "high"', Verdict("", 0.0, 0.0)),
        ("[1]", Verdict("", 0.0, 0.0)),
        ('{"score": 1}', Verdict("", 0.0, 0.0)),
        ("90 1.5", Verdict("", 0.0, 0.0)),
        ("90 nan", Verdict("", 0.0, 0.0)),
        (".9", Verdict("", 0.0, 0.0)),
        ("", Verdict("", 0.0, 0.0)),
    ],
)
def test_verdicts_are_read(text, want):
    assert read_verdict(text, "90") == want


def test_a_step_is_the_arguments_of_its_calls_or_its_text():
    assert step_text(ParsedTurn("so", (zoom("1 2 3 4"), ToolCall("add", {"a": 1, "b": 2})))) == "1 2 3 4 1 2"
    assert step_text(ParsedTurn(" 90 ")) == "90"


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="confidence 2"):
        two_roles(confidence=2)
    with pytest.raises(InputError, match="repairs -1"):
        two_roles(repairs=-1)
