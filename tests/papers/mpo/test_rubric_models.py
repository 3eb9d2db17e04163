from helpers.answerers import Says

from handaxe.asking.desk import AskDesk
from handaxe.papers.mpo.asked_models import AskedJunior, AskedMeta
from handaxe.papers.mpo.letter_rules import RuleJunior, RuleMeta
from handaxe.papers.mpo.rubric_models import rubric_models


def test_rules_without_a_desk_and_questions_with_one():
    assert [type(one) for one in rubric_models(None)] == [RuleJunior, RuleMeta]
    assert [type(one) for one in rubric_models(AskDesk(Says({})))] == [AskedJunior, AskedMeta]
