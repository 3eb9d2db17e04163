from handaxe.doctor.finding import graded, unchecked


def test_levels():
    assert [graded(value, (0.1, 0.5)) for value in (0.1, 0.3, 0.6, float("nan"))] == ["ok", "look", "wrong", "look"]


def test_what_cannot_be_checked_is_to_be_looked_at():
    found = unchecked("room", "there is no expert", "give it one")
    assert (found.level, found.found, found.remedy) == ("look", "cannot be checked: there is no expert", "give it one")
