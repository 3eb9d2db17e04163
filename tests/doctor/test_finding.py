from handaxe.doctor.finding import grade, not_checked


def test_grade_compares_with_both_limits():
    levels = [grade(value, (0.1, 0.5)) for value in (0.1, 0.3, 0.6, float("nan"))]
    assert levels == ["ok", "warning", "error", "warning"]


def test_check_that_could_not_run_is_a_warning():
    found = not_checked("limits", "there is no expert", "add one")
    assert (found.level, found.found, found.remedy) == ("warning", "cannot be checked: there is no expert", "add one")
