"""The table of forecasts: a row a model and precision, and docs/memory.md shows the output of the command."""

from pathlib import Path

import pytest

from handaxe.cli import main
from handaxe.doctor.fits import CONTEXTS, PRECISIONS, SHAPES, fits_rows, fits_table

PAGE = Path(__file__).parents[2] / "docs" / "memory.md"


def test_every_model_has_a_row_for_each_precision():
    rows = list(fits_rows())
    assert len(rows) == len(SHAPES) * len(PRECISIONS)
    for _, _, _, peaks in rows:
        assert len(peaks) == len(CONTEXTS) and all(plain >= recomputed > 0 for plain, recomputed in peaks)
        assert [plain for plain, _ in peaks] == sorted(plain for plain, _ in peaks)


@pytest.mark.parametrize("model", [shape.name for shape in SHAPES])
def test_adapters_and_quantization_take_less_at_short_contexts(model):
    peaks = [row[3][0][1] for row in fits_rows((1024,)) if row[0] == model]
    full, _, _, lora, eight, four = peaks
    assert full > lora > eight > four


def test_page_shows_the_output_of_the_command(capsys):
    assert main(["doctor", "--fits"]) == 0
    printed = capsys.readouterr().out
    assert printed == fits_table() and printed in PAGE.read_text()
