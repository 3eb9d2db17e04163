import os

os.environ["OMP_NUM_THREADS"] = "1"  # also of the programs that tests start: several torches on two cores stand still

import torch

torch.set_num_threads(1)
