import pytest

from handaxe.ops.seeds import derive_seed
from handaxe.worlds.parts.content_split import content_split


@pytest.mark.parametrize("one_in", [2, 4, 5])
def test_one_of_so_many_contents_is_in_test(one_in):
    drawn = [content_split("numbers", k, one_in=one_in) for k in range(2000)]
    assert drawn == ["test" if derive_seed("numbers", k) % one_in == 0 else "train" for k in range(2000)]
    assert drawn.count("test") / 2000 == pytest.approx(1 / one_in, abs=0.03)


def test_a_content_keeps_its_split():
    """A digest of this library, not the interpreter's hash: the same on every machine."""
    assert [content_split("requests split", word) for word in ("tea", "kite", "sand")] == ["train", "train", "test"]
