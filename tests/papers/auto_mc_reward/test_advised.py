from handaxe.papers.auto_mc_reward.advised import advised
from handaxe.training.stages.parts.program_grammar import Component, program_text, read_program
from handaxe.training.stages.parts.program_search import Brief, Feedback, ProgramTrial

OK = Component("ok_change", 1.0, '(after["ok"] - before["ok"])')
DOOR = Component("door_change", -3.0, '(after["door"] - before["door"])')
KEY = Component("key_change", 3.0, '(after["key"] - before["key"])')
CURVES = {"failure/door": (0.0, 1.0, -1.0), "failure/key": (0.5, 1.0, 1.0)}


def written(*texts, good=None, curves=CURVES):
    trial = None if good is None else ProgramTrial(good, 0.5, curves)
    return advised(author=lambda brief, count, seed: list(texts))(Brief((), Feedback(trial)), len(texts), 0)


def test_advised_matches_its_example():
    (text,) = written(program_text([OK]), good=program_text([OK]))
    assert read_program(text) == [OK, DOOR]


def test_advised_takes_the_first_cause_that_the_good_program_lacks():
    turned = DOOR._replace(weight=0.1)
    (text,) = written(program_text([turned]), good=program_text([turned]))
    assert read_program(text) == [turned, KEY]
    (text,) = written(program_text([KEY._replace(weight=-1.0)]), good=program_text([DOOR]))
    assert read_program(text) == [KEY]


def test_advised_leaves_programs_without_advice_and_those_of_a_model():
    plain = program_text([OK])
    assert written(plain) == [plain]
    assert written(plain, good=plain, curves={}) == [plain]
    assert written(plain, good=program_text([DOOR, KEY])) == [plain]
    assert written("x = 1\n", good=plain) == ["x = 1\n"]
