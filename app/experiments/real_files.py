"""Which files of real data the experiments can use: for whom they are, where, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from app.experiments.census_extract import SEVEN_VARIABLES, VARIABLES, read_extract


@dataclass(frozen=True)
class RealFiles:
    """Files for experiments or groups; ``read`` makes a ``field`` of an effort of them, as an option does."""

    names: tuple[str, ...]
    field: str
    pattern: str
    described: str
    read: Callable[[Sequence[Path]], Any]


_SURVEY: Final = ("age=AGEP", "gender=SEX", "education=EDU", "marital=MSP", "work=INDP_CAT",
                  "salary=PINCP_DECILE")  # fmt: skip
_ADULT: Final = ("age=age", "gender=sex", "education=education-num", "marital=marital-status", "race=race",
                 "work=workclass", "occupation=occupation")  # fmt: skip
REAL_FILES: Final = (
    RealFiles(("X14", "B"), "census", "nist-acs-national/national2019.csv",
              "American Community Survey 2019, records with nothing missing, deciles of income as salary",
              lambda paths: read_extract(paths[0], _SURVEY, VARIABLES, published=True)),
    RealFiles(("R",), "census", "uci-adult-48842/adult.data",
              "Adult, records with nothing missing, education in years",
              lambda paths: read_extract(paths[0], _ADULT, SEVEN_VARIABLES, published=True)),
    RealFiles(("S2", "S3", "S4", "S5"), "commuters", "commuting-us-lodes2018/monroe-ny-36055.csv",
              "commuters of Monroe County, New York", lambda paths: paths[0]),
    RealFiles(("N4",), "networks", "network-*/[ef]*s.csv", "social networks, and generated ones", tuple),
    RealFiles(("L",), "adult", "uci-adult-48842", "Adult, records with nothing missing",
              lambda paths: paths[0]),
)  # fmt: skip


def real_files(experiment: str) -> RealFiles | None:
    """The files that an experiment can use; None if it uses none."""
    return next((own for own in REAL_FILES if {experiment, experiment[0]} & set(own.names)), None)


@cache
def real_data(files: RealFiles, folder: Path) -> tuple[Any, str]:
    """What is read below a folder, None if no file is there, and what there is to say of it."""
    paths = sorted(folder.glob(files.pattern))
    if not paths:
        return None, f"generated, for there is no {files.pattern} below {folder}"
    names = ", ".join(str(path.relative_to(folder)) for path in paths)
    return files.read(paths), f"{files.described} ({names})"
