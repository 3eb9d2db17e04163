import subprocess
import sys


def test_module_is_imported_at_the_first_use():
    code = """
import sys
from handaxe.core.deferred import DeferredModule
colors = DeferredModule("colorsys")
print("colorsys" in sys.modules, colors.rgb_to_hsv(1, 0, 0), "colorsys" in sys.modules)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "False (0.0, 1.0, 1) True\n"
