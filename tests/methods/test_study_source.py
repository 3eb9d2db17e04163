import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.asking.desk import NoAnswer
from handaxe.core.errors import InputError
from handaxe.methods.study_source import study_answer, study_desk


@pytest.mark.parametrize("source", ["self", "self@start", "trained", "head:tiny"])
def test_a_source_of_a_run_is_rejected(source):
    with pytest.raises(InputError, match=f"this study has no policy of its own: give --advisor .* not {source}"):
        study_desk(source, option="--advisor")


def test_the_rule_has_no_desk_and_a_server_answers():
    assert study_desk("rule", option="--advisor") is None
    with ChatServer(reply("x")) as server:
        assert study_desk(f"{server.url}#m", option="--advisor").answerer.fingerprint()
    with pytest.raises(InputError, match="--advisor"):
        study_desk("", option="--advisor")


def test_an_absent_model_ends_a_study_and_another_failure_has_no_value():
    assert study_answer(0.0, role="monitor") == 0.0 and study_answer("", role="monitor") == ""
    for reason in ("unreadable", "too_long", "refused"):
        assert study_answer(NoAnswer(reason), role="monitor") is None
    for reason in ("unavailable", "budget"):
        with pytest.raises(InputError, match=rf"the monitor does not answer \({reason}\)"):
            study_answer(NoAnswer(reason), role="monitor")
