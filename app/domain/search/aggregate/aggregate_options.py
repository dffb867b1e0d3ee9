"""What the aggregate objective is (Definitions: aggregate objective), and how it is maximised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge, Gt, Le, doc

from app.domain.catalogue.catalogue_types import Example
from app.domain.errors import InvalidInput

PhiZeroPolicy = Literal["exclude", "offset", "unbounded"]
Method = Literal["auto", "enumeration", "closure", "ring_family"]
ParametricSearch = Literal["dinkelbach", "bisection"]


@dataclass(frozen=True)
class AggregateOptions:
    """What the aggregate objective is, and how it is maximised."""

    kappa: Annotated[int, Ge(0), Le(8), doc("κ: exponent of the utility."), Example(1)] = 1
    phi_zero_policy: Annotated[
        PhiZeroPolicy,
        doc(
            "What becomes of disclosures that do no harm at all, for which the objective is infinite: left "
            "out (`exclude`), kept finite by phi_offset (`offset`), or taken literally (`unbounded`), which "
            "suppresses whatever is sensitive."
        ),
    ] = "exclude"
    phi_offset: Annotated[
        float | None,
        Gt(0),
        Le(1e300),
        doc("Added to every harm under the policy `offset`."),
        Example(None),
    ] = None
    method: Annotated[
        Method,
        doc(
            "How the inner problem is solved: over all rules of a record (`enumeration`), by a minimum cut "
            "(`closure`), over a ring family, or whichever is estimated to be fastest."
        ),
    ] = "auto"
    parametric_search: Annotated[
        ParametricSearch, doc("How the outer problem is solved; both find the same rule.")
    ] = "dinkelbach"

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("phi_zero_policy", self.phi_zero_policy, get_args(PhiZeroPolicy)),
            ("method", self.method, get_args(Method)),
            ("parametric_search", self.parametric_search, get_args(ParametricSearch)),
        ):
            if value not in allowed:
                raise InvalidInput.of(
                    f"/{name}", "unknown-choice", f"{name} is not one of {', '.join(allowed)}."
                )
        if not 0 <= self.kappa <= 8:
            raise InvalidInput.of("/kappa", "out-of-range", "kappa must be a whole number from 0 to 8.")
        if (self.phi_offset is not None) != (self.phi_zero_policy == "offset"):
            raise InvalidInput.of(
                "/phi_offset",
                "not-applicable",
                "phi_offset belongs to the policy offset, and that policy needs it.",
                "Give both, or neither.",
            )
        if self.phi_offset is not None and not 0 < self.phi_offset <= 1e300:
            raise InvalidInput.of(
                "/phi_offset", "out-of-range", "phi_offset must be a finite number above 0."
            )

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form of what was asked."""
        return {
            "kappa": self.kappa,
            "phi_zero_policy": self.phi_zero_policy,
            "phi_offset": self.phi_offset,
            "method": self.method,
            "parametric_search": self.parametric_search,
        }
