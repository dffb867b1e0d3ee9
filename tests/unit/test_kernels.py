"""Kernels of NumPy are left unused on processors that they are slow on, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.kernels import UNUSED, leave_slow_kernels


def _told(folder: Path, vendor: str, family: int, flags: str) -> Path:
    one = f"processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nflags\t\t: fpu sse2 {flags}\n"
    file = folder / "cpuinfo"
    file.write_text(one + "\n" + one.replace("processor\t: 0", "processor\t: 1"))
    return file


@pytest.mark.parametrize(
    ("vendor", "family", "flags", "left"),
    [
        ("AuthenticAMD", 25, "avx2 avx512f avx512dq", {UNUSED: "X86_V4"}),
        ("AuthenticAMD", 25, "avx2", {}),
        ("AuthenticAMD", 26, "avx2 avx512f", {}),
        ("GenuineIntel", 6, "avx2 avx512f", {}),
    ],
)
def test_only_where_they_are_slow(
    tmp_path: Path, vendor: str, family: int, flags: str, left: dict[str, str]
) -> None:
    environment: dict[str, str] = {}
    leave_slow_kernels(environment, _told(tmp_path, vendor, family, flags))
    assert environment == left


@pytest.mark.parametrize("chosen", ["NPY_ENABLE_CPU_FEATURES", UNUSED])
def test_what_somebody_chose_stays(tmp_path: Path, chosen: str) -> None:
    environment = {chosen: "X86_V3"}
    leave_slow_kernels(environment, _told(tmp_path, "AuthenticAMD", 25, "avx512f"))
    assert environment == {chosen: "X86_V3"}


def test_nothing_where_the_processor_is_not_told(tmp_path: Path) -> None:
    environment: dict[str, str] = {}
    leave_slow_kernels(environment, tmp_path / "none")
    assert environment == {}
