"""Matrix products whose last bits depend on their shapes, as on a machine whose library has a kernel for every shape.

Where the same shapes are computed in the same order, nothing changes from one time to the next; what is equal only
because this machine's kernels happen to round every row alike is not equal any more. The tests run under it when the
environment variable HANDAXE_ROUNDING is "shapes" (tests/conftest.py).
"""

import functools
import warnings
import zlib

import torch

__all__ = ["round_by_shape"]

PERIOD = 8191
STEPS = 2
"""How many times the distance from 1 to the next number an entry is off, relative to its size, at most."""


@functools.lru_cache(512)
def noise(shapes: tuple[tuple[int, ...], ...], count: int, dtype: torch.dtype) -> torch.Tensor:
    """[count] factors, in an order that each shape has of its own."""
    generator = torch.Generator().manual_seed(zlib.crc32(repr(shapes).encode()))
    steps = torch.randint(-STEPS, STEPS + 1, (min(count, PERIOD),), generator=generator).double()
    factors = (1 + steps * torch.finfo(dtype).eps).to(dtype)
    return factors.repeat(-(-count // PERIOD))[:count]


def rounded(out: torch.Tensor, *read: torch.Tensor) -> torch.Tensor:
    """The product of what was `read`, off by a few last bits."""
    if not out.is_floating_point():
        return out
    shapes = tuple(tuple(x.shape) for x in read)
    return out.mul_(noise(shapes, out.numel(), out.dtype).view(out.shape))


def round_by_shape() -> torch.library.Library:
    """Replace the matrix products on the CPU for as long as what is returned lives."""
    library = torch.library.Library("aten", "IMPL")
    addmm, baddbmm = torch.ops.aten.addmm.out, torch.ops.aten.baddbmm.out

    def mm_out(a, b, *, out):
        return rounded(addmm(out, a, b, beta=0, out=out), a, b)

    def mm(a, b):
        return mm_out(a, b, out=a.new_empty(a.shape[0], b.shape[1]))

    def bmm_out(a, b, *, out):
        return rounded(baddbmm(out, a, b, beta=0, out=out), a, b)

    def bmm(a, b):
        return bmm_out(a, b, out=a.new_empty(a.shape[0], a.shape[1], b.shape[2]))

    def sum_mm(c, a, b, *, beta=1, alpha=1):
        out = a.new_empty(a.shape[0], b.shape[1])
        return rounded(addmm(c, a, b, beta=beta, alpha=alpha, out=out), a, b)

    def sum_bmm(c, a, b, *, beta=1, alpha=1):
        out = a.new_empty(a.shape[0], a.shape[1], b.shape[2])
        return rounded(baddbmm(c, a, b, beta=beta, alpha=alpha, out=out), a, b)

    kernels = {"mm": mm, "mm.out": mm_out, "bmm": bmm, "bmm.out": bmm_out, "addmm": sum_mm, "baddbmm": sum_bmm}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Warning only once for all operators", UserWarning)  # replacing is the aim
        for name, kernel in kernels.items():
            library.impl(name, kernel, "CPU")
    torch.backends.cuda.enable_flash_sdp(False)  # on the CPU too: attention is then made of the products above
    return library
