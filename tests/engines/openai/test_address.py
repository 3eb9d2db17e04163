import pytest

from handaxe.core.errors import InputError
from handaxe.engines.openai.address import is_address, split_address


def test_an_address_is_split_into_server_and_model():
    assert split_address("http://127.0.0.1:8000/v1#org/tiny", option="--judge") == (
        "http://127.0.0.1:8000/v1",
        "org/tiny",
    )
    assert is_address("http://host") and is_address("https://host/v1#a")
    assert not is_address("tiny") and not is_address("ftp://host") and not is_address("")


@pytest.mark.parametrize("source", ["http://host/v1", "http://host/v1#", "#tiny"])
def test_a_part_is_missing(source):
    with pytest.raises(InputError, match="^--judge .* write the model behind the address"):
        split_address(source, option="--judge")
