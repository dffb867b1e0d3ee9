"""k-anonymity as a criterion (Samarati and Sweeney (1998))."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from annotated_types import Ge, Le, doc

from app.domain.classes.grouping import Bools
from app.domain.criteria.criterion import Criterion, Judged, Merging
from app.domain.errors import InvalidInput

GREATEST_K: Final = 1_000_000


@dataclass(frozen=True)
class KAnonymity(Criterion):
    """Every record that is not withheld is disclosed like at least k − 1 others."""

    kind: ClassVar[str] = "k_anonymity"
    title: ClassVar[str] = "k-anonymity: at least k records in every class"
    source: ClassVar[str] = "Samarati and Sweeney (1998)"
    merging: ClassVar[Merging] = "fewer_fail"

    k: Annotated[int, Ge(1), Le(GREATEST_K), doc("Least number of records disclosed alike.")]

    def __post_init__(self) -> None:
        if not 1 <= self.k <= GREATEST_K:
            raise InvalidInput.of("/k", "out-of-range", f"k must be between 1 and {GREATEST_K}.")

    def failing(self, judged: Judged) -> Bools:
        """Classes of fewer than k records."""
        return judged.sizes < self.k

    def attained(self, judged: Judged) -> float | None:
        """Records of the smallest class."""
        return int(judged.sizes.min()) if len(judged.sizes) else None

    def impossible(self, whole: Judged) -> str | None:
        """The table has fewer than k records."""
        records = int(whole.sizes.sum())
        if records >= self.k:
            return None
        return f"There are {records} records, {self.k - records} fewer than one class must have."
