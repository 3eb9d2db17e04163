import pytest

pytest.importorskip("rapidocr_onnxruntime")
pytest.importorskip("matplotlib")

from handaxe.papers.gta import gta  # noqa: E402


@pytest.mark.slow
@pytest.mark.starts
def test_the_study_measures_both_modes():
    found = gta(tasks=8)(0)
    assert set(found) == {
        *("inst_acc", "tool_acc", "arg_acc", "summ_acc", "answer_acc", "gap/tool", "gap/arg"),
        *("f1/perception", "f1/operation", "f1/logic"),
    }
    assert all(0 <= value <= 1 for name, value in found.items() if not name.startswith("gap"))
    assert found["gap/arg"] == pytest.approx(found["tool_acc"] - found["arg_acc"]) and found["gap/arg"] >= 0
