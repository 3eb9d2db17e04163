import importlib.util
import shutil

import pytest


@pytest.fixture(scope="module")
def scienceworld_cache(tmp_path_factory):
    """A folder for openings of ScienceWorld; skips without the package or Java."""
    if importlib.util.find_spec("scienceworld") is None:
        pytest.skip("scienceworld is missing: pip install 'handaxe[scienceworld]'")
    if shutil.which("java") is None:
        pytest.skip("Java is missing: apt-get install openjdk-17-jre-headless")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
