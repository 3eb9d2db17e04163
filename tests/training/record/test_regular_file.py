import os

import pytest

from handaxe.core.errors import InputError
from handaxe.training.record.regular_file import check_regular, read_regular

IRREGULAR = {
    "pipe": lambda path: os.mkfifo(path),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
    "link without target": lambda path: path.symlink_to("nowhere"),
    "link to itself": lambda path: path.symlink_to(path.name),
}


@pytest.mark.parametrize("make", IRREGULAR.values(), ids=IRREGULAR)
def test_irregular_files_raise_at_once(tmp_path, make):
    file = tmp_path / "file"
    make(file)
    for call in (check_regular, lambda path: read_regular(path, limit=10)):
        with pytest.raises(InputError, match=r"file is (not a regular file|a link that leads nowhere)"):
            call(file)


def test_read_regular_returns_at_most_the_limit(tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    assert read_regular(tmp_path / "file", limit=10) == b"0123456789"
    with pytest.raises(InputError, match="more than 9 bytes"):
        read_regular(tmp_path / "file", limit=9)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none", limit=9)


def test_links_out_of_the_root_raise(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.write_text("secret")
    (inside / "near").write_text("near")
    (inside / "link").symlink_to("near")
    (inside / "away").symlink_to(outside)
    assert read_regular(inside / "link", limit=10, root=inside) == b"near"
    assert read_regular(inside / "away", limit=10) == b"secret"
    with pytest.raises(InputError, match="away is a link out of"):
        read_regular(inside / "away", limit=10, root=inside)
