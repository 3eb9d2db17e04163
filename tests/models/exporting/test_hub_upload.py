"""Names and tokens of a hub repository; uploads are tested with `handaxe push`, in tests/commands/test_push.py."""

import pytest

from handaxe.core.errors import InputError
from handaxe.models.exporting.hub_upload import HubRepository, check_repository_name

pytest.importorskip("huggingface_hub")


@pytest.mark.parametrize("name", ["me/first", "My-Org/model_1.5B", "a/b"])
def test_repository_names_of_the_hub_pass(name):
    check_repository_name(name)


@pytest.mark.parametrize(
    "name", ["", "a", "a/b/c", "/a", "a/", "a b/c", "a/b--c", "a/..", "a/b.git", "a/" + "b" * 95, "a/b-"]
)
def test_other_names_are_refused(name):
    with pytest.raises(InputError, match="is no repository: give OWNER/NAME"):
        check_repository_name(name)


@pytest.mark.parametrize("token", ["hf_a b", "hf_a\nb", "hf_\u00e9"])
def test_damaged_token_is_named_without_its_text(token):
    with pytest.raises(InputError, match="the token has spaces, line breaks") as caught:
        HubRepository("me/a", token=token)
    assert token not in str(caught.value)


def test_address_of_the_hub_is_the_environment_variable(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9/")
    assert HubRepository("me/a", token="hf_goodgoodgood").endpoint == "http://127.0.0.1:9"
