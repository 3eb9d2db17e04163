"""Upload of a folder to a new or existing model repository of a hub, with errors in one sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from handaxe.core.errors import HandaxeError, InputError

__all__ = ["HubRepository", "check_repository_name"]

EXTRA = 'handaxe push needs the extra [hub]; install it with: pip install "handaxe[hub]"'
HTTP_PACKAGES = ("httpx", "requests")
"""Start of the packages with the network errors of huggingface_hub: httpx, and httpx2 since version 2."""
NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
LOGIN = "make a token with write permission at https://huggingface.co/settings/tokens, and run: hf auth login"


def check_repository_name(name: str) -> None:
    """Raise InputError for a name other than OWNER/NAME, of letters, digits and . _ - signs, at most 96 characters."""
    if not NAME.fullmatch(name) or len(name) > 96 or "--" in name or ".." in name or name.endswith((".git", "-", ".")):
        raise InputError(f"{name!r} is no repository: give OWNER/NAME, of letters, digits and . _ - signs")


class HubRepository:
    """A model repository on the hub; the address of the hub is the environment variable HF_ENDPOINT.

    Args:
        name: OWNER/NAME.
        token: of the hub; "" for the token of `hf auth login` or of the environment variable HF_TOKEN.

    Raises:
        InputError: the extra is missing, the name is invalid, or there is no token.
    """

    def __init__(self, name: str, *, token: str = ""):
        check_repository_name(name)
        try:
            import huggingface_hub
        except ImportError as error:
            raise InputError(EXTRA) from error
        found = token or huggingface_hub.get_token() or ""
        if not found:
            raise InputError(f"there is no token for the hub: {LOGIN}")
        if not re.fullmatch(r"[\x21-\x7e]+", found):
            raise InputError("the token has spaces, line breaks or letters outside ASCII: give the token alone")
        self.name, self.token = name, found
        self.endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
        self._api = huggingface_hub.HfApi(endpoint=self.endpoint, token=found)

    def check(self, *, update: bool) -> None:
        """Check token and repository, before a folder is written.

        Args:
            update: add a commit to an existing repository; by default the repository must not exist.

        Raises:
            InputError: the token is wrong, or the repository exists without `update`.
            HandaxeError: the hub cannot be reached, or answers with an error.
        """
        with self._one_sentence():
            self._api.whoami()
            exists = self._api.repo_exists(self.name)
        if exists and not update:
            raise InputError(f"the repository {self.name} exists: --update adds a commit, another name makes a new one")

    def upload(self, folder: Path, *, private: bool, message: str) -> str:
        """Upload all files of a folder as a commit; the repository is created if missing. Returns the address.

        Raises:
            InputError: the token may not write to the repository.
            HandaxeError: the hub cannot be reached, or answers with an error.
        """
        with self._one_sentence():
            self._api.create_repo(self.name, private=private, exist_ok=True)
            self._avoid_missing_xet()
            self._api.upload_folder(repo_id=self.name, folder_path=folder, commit_message=message)
        return f"{self.endpoint}/{self.name}"

    def _avoid_missing_xet(self) -> None:
        """Upload without Xet if the hub has no Xet storage; hf_xet alone asks for a token again and again."""
        from huggingface_hub import constants
        from huggingface_hub.utils import build_hf_headers, get_session

        address = f"{self.endpoint}/api/models/{self.name}/xet-write-token/main"
        answer = get_session().get(address, headers=build_hf_headers(token=self.token))
        if answer.status_code == 404 or (answer.status_code == 200 and "casUrl" not in answer.text):
            constants.HF_HUB_DISABLE_XET = True

    @contextmanager
    def _one_sentence(self) -> Iterator[None]:
        from huggingface_hub.errors import HfHubHTTPError

        try:
            yield
        except HfHubHTTPError as error:
            status = getattr(error.response, "status_code", 0)
            if status == 401:
                raise InputError(f"the hub at {self.endpoint} refuses the token: {LOGIN}") from None
            if status == 403:
                raise InputError(f"the token may not write to {self.name}: {LOGIN}, with this owner") from None
            raise HandaxeError(f"the hub answers {status or 'an error'} for {self.name}: {_reason(error)}") from None
        except Exception as error:
            if not isinstance(error, OSError) and not type(error).__module__.startswith(HTTP_PACKAGES):
                raise
            reason = str(error).strip() or type(error).__name__
            raise HandaxeError(
                f"the hub at {self.endpoint} cannot be reached ({reason}): check the network, and run the command again"
            ) from None


def _reason(error: Any) -> str:
    """Return the message of the server in one line, without addresses of requests."""
    found = getattr(error, "server_message", None) or str(error).partition("\n")[0]
    return " ".join(str(found).split())[:200] or "no message"
