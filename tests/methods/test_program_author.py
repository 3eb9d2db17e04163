import pytest

from handaxe.core.errors import InputError
from handaxe.methods.program_author import program_author
from handaxe.training.stages.parts.asked_author import GRAMMAR


def test_program_author_names_the_grammar_a_model_or_a_server():
    assert program_author("grammar", goal="grids") is GRAMMAR
    for source in ("tiny", "http://127.0.0.1:9/v1#some"):
        assert callable(program_author(source, goal="grids").write)


@pytest.mark.parametrize("source", ["http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1#", "no-such-model", ""])
def test_program_author_refuses_other_sources(source):
    with pytest.raises(InputError):
        program_author(source, goal="grids")
