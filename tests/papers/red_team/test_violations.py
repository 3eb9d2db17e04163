import re

from handaxe.papers.red_team.violations import CATEGORIES, VIOLATIONS, criterion_of, kinds_of


def test_six_categories_have_two_kinds_each():
    assert len(CATEGORIES) == 6 and all(len(kinds_of(one)) == 2 for one in CATEGORIES)
    assert {kind for one in CATEGORIES for kind in kinds_of(one)} == VIOLATIONS.keys()


def test_patterns_compile_and_criteria_name_the_kind():
    for kind, one in VIOLATIONS.items():
        assert re.compile(one.pattern) and 1 <= one.impact <= 3
        assert criterion_of(kind).name == kind and criterion_of(kind).text == one.text
