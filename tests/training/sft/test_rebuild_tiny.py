import pytest

from handaxe.models.tiny import TinyModel
from handaxe.training.sft.rebuild_tiny import rebuild_tiny


def test_a_checkpoint_is_written_that_loads(tmp_path, capsys):
    pytest.importorskip("reasoning_gym")
    rebuild_tiny(out=tmp_path / "made", steps=1, weak_steps=1, batch_size=2)
    assert TinyModel.load(tmp_path / "made").vocab_size == 264
    assert f"wrote {tmp_path / 'made'}" in capsys.readouterr().out
