import pytest

pytest.importorskip("sklearn")

from handaxe.core.errors import Retry
from handaxe.papers.mle_dojo.contest import contest
from handaxe.papers.mle_dojo.dojo import Dojo


@pytest.fixture
def dojo(sandbox):
    return Dojo(contest("diabetes", 0, 48))


def failed(tool, argument):
    with pytest.raises(Retry) as error:
        tool(argument)
    return str(error.value)


def test_executions_are_scored_and_the_best_program_is_kept(dojo):
    good, bad = "enter(SimpleImputer(), Ridge(alpha=1))", "submit([100] * 32)"
    reply = dojo.execute_code(good)
    report = dojo.report()
    assert reply == f"rmse {report['best_raw']:.3f} position {report['best_position']:.2f} " + (
        f"best {report['best_position']:.2f}"
    )
    assert "position 0.00 best" in dojo.execute_code(bad)
    assert dojo.report()["best_code"] == good and dojo.report()["best_position"] == report["best_position"] > 0
    assert [row["position"] for row in dojo.report()["log"]] == [report["best_position"], 0.0]


def test_only_executions_have_scores(dojo):
    dojo.request_info("overview")
    assert dojo.validate_code("submit([1] * 32)") == "valid"
    assert failed(dojo.validate_code, "x =").startswith("invalid SyntaxError")
    assert failed(dojo.execute_code, "y").startswith("failed NameError")
    assert failed(dojo.execute_code, "submit([1])") == "failed no valid submission"
    log = dojo.report()["log"]
    assert [row["action"] for row in log] == ["info", "validate", "validate", "execute", "execute"]
    assert not any(row["position"] or row["raw"] for row in log) and dojo.report()["best_code"] is None
    assert dojo.get_history() == "info; validate; validate failed; execute failed; execute failed; history"


def test_a_reset_forgets_the_best_program_and_keeps_the_log(dojo):
    dojo.execute_code("submit([1] * 32)")
    dojo.reset()
    assert dojo.report()["best_position"] is None and len(dojo.report()["log"]) == 2
    assert dojo.get_history() == "history"


def test_infos_name_metric_tables_and_rows(dojo):
    assert dojo.request_info("overview") == "diabetes: rmse, lower is better"
    assert dojo.request_info("all").count("\n") == 2 and dojo.request_info("submission") == "32 numbers"
    assert "one of overview, data, submission" in failed(dojo.request_info, "answers")


def test_snapshots_are_independent(dojo):
    state = dojo.snapshot()
    dojo.execute_code("submit([1] * 32)")
    other = Dojo(contest("diabetes", 0, 48))
    other.restore(dojo.snapshot())
    dojo.restore(state)
    assert not dojo.report()["log"] and len(other.report()["log"]) == 1


@pytest.mark.parametrize("code", ["", "  ", "x" * 2001])
def test_empty_and_long_programs_are_refused(dojo, code):
    assert "a program of 1 to 2000 characters" in failed(dojo.execute_code, code)
