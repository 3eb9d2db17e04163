"""The tests marked `exact`, once for every way in which this machine's processor can be made to compute.

    python tests/instruction_sets.py      (make exact)

Another processor, or another switch of the same one, adds up the products of a matrix in another order and rounds
otherwise. What is promised to the bit must hold under each, and so must each tolerance. Every way is first asked for
the bits of a few operations: one that computes what another one computes is not tried again, and is named.

MKL looks at the maker of the processor before it believes what instructions there are. Where the maker is not Intel
and a C compiler is there, a library of two lines that answers in its place is loaded first, so that MKL's own kernels
for AVX2 and AVX-512 are tried too.
"""

import concurrent.futures
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parent
ANSWER = "int mkl_serv_intel_cpu_true(void) { return 1; }\nint mkl_serv_intel_cpu(void) { return 1; }\n"
SWITCHES = (
    {"ATEN_CPU_CAPABILITY": "default"},
    {"MKL_CBWR": "COMPATIBLE"},
    {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    {"MKL_ENABLE_INSTRUCTIONS": "AVX512"},
    {"HANDAXE_ROUNDING": "shapes"},
)
LEAST = 3 if platform.machine() in ("x86_64", "AMD64") else 1
MARK = "mark.exact"


def bits() -> dict[str, str]:
    """What this process computes, by kind of operation; the numbers come from numpy, which no switch reaches."""
    import numpy as np
    import torch
    from torch.nn import functional as F

    torch.set_num_threads(1)
    draw = np.random.default_rng(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.from_numpy(draw.standard_normal(shape)).float()

    weight_DE, x_ND, q_HTK = normal(64, 96), normal(129, 64), normal(4, 19, 16)
    found = {
        "matrix products": [x_ND[:n] @ weight_DE for n in (1, 2, 3, 8, 17, 129)],
        "batched products": [normal(4, n, 32) @ normal(4, 32, 9) for n in (1, 7)],
        "attention": [F.scaled_dot_product_attention(q_HTK, q_HTK, q_HTK, is_causal=True)],
        "softmax": [x_ND.softmax(-1), x_ND.log_softmax(-1), x_ND.double().log_softmax(-1)],
        "activations": [F.silu(x_ND), F.gelu(x_ND), x_ND.exp()],
    }
    return {
        name: hashlib.sha256(b"".join(x.numpy().tobytes() for x in outs)).hexdigest()[:8]
        for name, outs in found.items()
    }


def say_bits() -> int:
    """What a process of its own prints, under the switches it was started with."""
    kernels = []
    if os.environ.get("HANDAXE_ROUNDING") == "shapes":
        from rounding import round_by_shape

        kernels.append(round_by_shape())
    print(json.dumps(bits()))
    return 0


def answering_library(folder: Path) -> Path | None:
    """The library that makes MKL take this processor for Intel's; None where that is not needed or not possible."""
    here = sys.platform == "linux" and platform.machine() == "x86_64"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not here or not compiler or "GenuineIntel" in Path("/proc/cpuinfo").read_text():
        return None
    source, library = folder / "answer.c", folder / "answer.so"
    source.write_text(ANSWER)
    made = subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], capture_output=True)
    return library if made.returncode == 0 else None


def environment(switches: dict[str, str]) -> dict[str, str]:
    """Of a process under the switches."""
    return os.environ | switches | {"OMP_NUM_THREADS": "1"}


def ask(switches: dict[str, str]) -> dict[str, str]:
    """The bits under the switches."""
    command = [sys.executable, __file__, "bits"]
    return json.loads(subprocess.run(command, env=environment(switches), stdout=subprocess.PIPE, check=True).stdout)


def try_out(switches: dict[str, str], files: list[str]) -> tuple[int, str]:
    """Exit code and output of the tests."""
    command = [sys.executable, "-m", "pytest", "-o", "addopts=--import-mode=importlib", "-m", "exact", *files]
    command += ["-p", "no:cacheprovider"]
    done = subprocess.run(
        command,
        env=environment(switches),
        cwd=TESTS.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


def name_of(switches: dict[str, str]) -> str:
    """The switches in words."""
    shown = (f"{k}={v}" if k != "LD_PRELOAD" else "taken for Intel's" for k, v in switches.items())
    return ", ".join(shown)


def main() -> int:
    """Try all ways, two at a time; 1 when a test failed, or fewer ways than `LEAST` could be tried."""
    files = [str(path) for path in sorted(TESTS.rglob("test_*.py")) if MARK in path.read_text()]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        library = answering_library(Path(folder))
        intel = {"LD_PRELOAD": str(library)} if library else {}
        ways = [each | (intel if "MKL_ENABLE_INSTRUCTIONS" in each else {}) for each in SWITCHES]
        plain, *found = pool.map(ask, [{}, *ways])
        seen, chosen = [plain], []
        for way, bits_of in zip(ways, found, strict=True):
            if bits_of in seen:
                print(f"left out {name_of(way)}: the same bits as without a switch, or as another way")
                continue
            seen.append(bits_of)
            chosen.append((way, [kind for kind in plain if bits_of[kind] != plain[kind]]))
        failed = 0
        outcomes = pool.map(lambda each: try_out(each[0], files), chosen)
        for (way, kinds), (code, output) in zip(chosen, outcomes, strict=True):
            verdict, summary = "failed" if code else "passed", output.strip().rsplit("\n", 1)[-1].strip("= ")
            print(f"{verdict}   {name_of(way)}; other bits in {', '.join(kinds)}; {summary}", flush=True)
            failed += bool(code)
            if code:
                print(output)
    print(f"{len(chosen)} ways of computing tried, {failed} failed; {LEAST} are the least on this machine")
    return int(failed > 0 or len(chosen) < LEAST)


if __name__ == "__main__":
    sys.exit(say_bits() if sys.argv[1:] == ["bits"] else main())
