"""Which of NumPy's kernels are not used on this processor.

AMD's fourth generation writes compressed vectors to memory by microcode: NumPy's kernels for AVX-512, which
sort by that, take three to five times as long there as those for AVX2. Later generations and other makers
have no such fault. NumPy reads the variable when it is first imported.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

UNUSED: Final = "NPY_DISABLE_CPU_FEATURES"
"""What names kernels that NumPy leaves unused."""
CHOSEN: Final = ("NPY_ENABLE_CPU_FEATURES", UNUSED)
"""By which of these somebody has chosen, nothing is changed."""
AVX_512: Final = "X86_V4"
_PROCESSORS: Final = Path("/proc/cpuinfo")
_ENOUGH: Final = 4096
"""Characters that hold what is told of the first processor; the others are like it."""


def leave_slow_kernels(environment: MutableMapping[str, str], processors: Path = _PROCESSORS) -> None:
    """Set the variable where the kernels are slow; nothing where it is not told what the processor is."""
    if any(name in environment for name in CHOSEN):
        return
    try:
        with processors.open(encoding="ascii", errors="replace") as told:
            first = told.read(_ENOUGH).split("\n\n", 1)[0]
    except OSError:
        return
    if _sorts_slowly(first):
        environment[UNUSED] = AVX_512


def _sorts_slowly(processor: str) -> bool:
    """Whether it is AMD's family 25 with AVX-512, which its third generation has not."""
    pairs = (line.partition(":") for line in processor.splitlines())
    said = {name.strip(): value.strip() for name, _, value in pairs}
    is_family = (said.get("vendor_id"), said.get("cpu family")) == ("AuthenticAMD", "25")
    return is_family and "avx512f" in said.get("flags", "").split()
