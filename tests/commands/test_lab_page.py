import pytest

from handaxe.cli import main


@pytest.mark.slow
@pytest.mark.long
def test_the_page_of_the_lab_is_of_today(capsys):
    """Every reward and judge is attacked anew, but those that hang on a model or on the clock: minutes."""
    assert main(["lab", "--page", "--check"]) == 0, capsys.readouterr().err
    assert "is up to date" in capsys.readouterr().out.replace("\n", " ")
