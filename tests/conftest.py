import os
import sys
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # also of the programs that tests start: several torches on two cores stand still

import torch

torch.set_num_threads(1)

if os.environ.get("HANDAXE_ROUNDING") == "shapes":
    sys.path.insert(0, str(Path(__file__).parent))
    from rounding import round_by_shape

    sys.path.pop(0)
    KERNELS = round_by_shape()
