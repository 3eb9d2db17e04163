import pytest

from handaxe.chat.run_facts import RunFacts, run_facts
from handaxe.core.errors import InputError


@pytest.mark.parametrize("where", ["no-such-folder", None])
def test_policies_without_a_run_have_default_facts(where):
    assert run_facts(where) == RunFacts()


def test_a_folder_without_a_record_has_default_facts(tmp_path):
    assert run_facts(tmp_path) == RunFacts()


def test_facts_without_a_run_name_no_environment():
    facts = RunFacts(tools=("calculator", "python"))
    assert facts.trained_with == " (trained with calculator, python)" and RunFacts().trained_with == ""
    with pytest.raises(InputError, match="name a world"):
        facts.need_folder()
    with pytest.raises(InputError, match="the tools are unknown"):
        facts.env()


def test_the_environment_of_a_script_asks_for_tools(tmp_path):
    with pytest.raises(InputError, match=r"a script made the run .*\(trained with calculator\)"):
        RunFacts(folder=tmp_path, tools=("calculator",)).env()
