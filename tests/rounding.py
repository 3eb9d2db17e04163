"""Matrix products whose last bits depend on their shapes, as on a machine whose library has a kernel for every shape.

Where the same shapes are computed in the same order, nothing changes from one time to the next; whatever is equal only
because this machine's kernels happen to round every row alike is not equal any more.
"""

import functools
import zlib

import torch

__all__ = ["rounded_by_shape"]

PERIOD = 8191


@functools.lru_cache(512)
def noise(shapes: tuple[tuple[int, ...], ...], count: int, dtype: torch.dtype) -> torch.Tensor:
    """[count] factors within two steps of the last bit of 1, which each shape has in an order of its own."""
    generator = torch.Generator().manual_seed(zlib.crc32(repr(shapes).encode()))
    steps = torch.randint(-2, 3, (min(count, PERIOD),), generator=generator).double()
    factors = (1 + steps * torch.finfo(dtype).eps).to(dtype)
    return factors.repeat(-(-count // PERIOD))[:count]


def rounded_by_shape() -> torch.library.Library:
    """Replace mm, bmm, addmm and baddbmm on the CPU for as long as what is returned lives."""
    library = torch.library.Library("aten", "IMPL")
    addmm, baddbmm = torch.ops.aten.addmm.out, torch.ops.aten.baddbmm.out

    def rounded(out: torch.Tensor, *read: torch.Tensor) -> torch.Tensor:
        shapes = tuple(tuple(x.shape) for x in read)
        return out.mul_(noise(shapes, out.numel(), out.dtype).view(out.shape)) if out.is_floating_point() else out

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

    for name, kernel in {
        "mm": mm, "mm.out": mm_out, "bmm": bmm, "bmm.out": bmm_out, "addmm": sum_mm, "baddbmm": sum_bmm,
    }.items():  # fmt: skip
        library.impl(name, kernel, "CPU")
    torch.backends.cuda.enable_flash_sdp(False)  # on the CPU too: attention is then made of the products above
    return library
