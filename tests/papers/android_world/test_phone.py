import pytest

from handaxe.core.errors import Retry
from handaxe.core.records import ToolCall
from handaxe.papers.android_world.phone import Phone

ROWS = [("512", "1111"), ("513", "2222"), ("514", "3333"), ("515", "4444")]


@pytest.fixture
def phone():
    made = Phone()
    made.fill("notes", ROWS)
    return made


def run(phone, name, argument):
    tool = getattr(phone, name)
    (parameter,) = tool.schema.parameters["properties"]
    return tool.run(ToolCall(name, {parameter: argument}, "0"))


def test_screens_show_three_rows(phone):
    assert run(phone, "open", "notes").content == "512 1111, 513 2222, 514 3333, more"
    assert phone.report() == {"app": "notes", "visible": ["512", "513", "514"], "more": True}
    assert run(phone, "scroll", "down").content == run(phone, "scroll", "down").content == "515 4444, end"
    assert run(phone, "scroll", "up").content.endswith("more")
    assert run(phone, "open", "contacts").content == "end"


def test_only_rows_on_the_screen_are_changed(phone):
    run(phone, "open", "notes")
    assert run(phone, "set", "513 5526").status == "ok" and run(phone, "delete", "512").status == "ok"
    assert phone.rows("notes") == [("513", "5526"), ("514", "3333"), ("515", "4444")]
    refused = run(phone, "delete", "999")
    assert refused.status != "ok" and "on the screen" in refused.content and len(phone.rows("notes")) == 3
    assert run(phone, "add", "600 1; DROP").status != "ok"
    assert run(phone, "add", "600 1';--").status == "ok" and phone.rows("notes")[-1] == ("600", "1';--")


def test_calls_without_an_app_are_refused(phone):
    for name, argument in (("scroll", "down"), ("add", "1 2"), ("delete", "512"), ("open", "mail")):
        assert run(phone, name, argument).status != "ok"
    assert phone.rows("notes") == ROWS


def test_a_restored_phone_has_the_earlier_state(phone):
    run(phone, "open", "notes")
    state = phone.snapshot()
    run(phone, "delete", "512")
    run(phone, "open", "contacts")
    phone.restore(state)
    assert phone.rows("notes") == ROWS and phone.report()["app"] == "notes"
    assert run(phone, "delete", "512").status == "ok"
    phone.clear()
    assert phone.rows("notes") == [] and phone.report()["app"] == ""
    with pytest.raises(Retry):
        phone._open_app()
