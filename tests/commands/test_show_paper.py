"""`handaxe show NUMBER|NAME`: a paper that is here, a survey, a paper that is not here, and a name of nothing."""

import pytest

from handaxe.cli import main


@pytest.mark.parametrize(
    "asked, lines",
    [
        ("otc", ["paper      1 OTC", "arXiv      https://arxiv.org/abs/2504.14870", "train      handaxe train otc"]),
        ("2504.13958", ["paper      12 ToolRL", "decide     handaxe replicate toolrl"]),
        ("83", ["paper      83 Scaling of Search and Learning", "leaves     21, of which"]),
        (
            "R2PVI",
            ["paper      219 Robust Offline", "state      not here", "mechanism  robust offline value iteration"],
        ),
    ],
)
def test_a_paper_is_printed(capsys, asked, lines):
    assert main(["show", asked]) == 0
    printed = capsys.readouterr().out
    assert all(line in printed for line in lines)


def test_a_name_of_no_run_and_no_paper_is_one_sentence(capsys):
    assert main(["show", "no such thing"]) == 2
    assert "no run and no paper is named 'no such thing'" in capsys.readouterr().err


def test_a_path_stays_a_run(capsys, tmp_path):
    assert main(["show", str(tmp_path / "none")]) == 2
    assert "no paper" not in capsys.readouterr().err
