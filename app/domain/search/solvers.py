"""The ways to solve a search problem, each with its parameters.

Names are those of requests and of the catalogue; a field's bounds and description end up in the interface.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal, get_args

from annotated_types import Ge, Gt, Le, Len, Lt, doc

from app.domain.catalogue.catalogue_types import ADDED_LATER, RuleRef
from app.domain.errors import InvalidInput

Seed = Annotated[int, Ge(0), Le(2**63 - 1), doc("Seed of the draws; the same for the same result.")]
Share = Annotated[float, Ge(0), Le(1)]


@dataclass(frozen=True)
class Auto:
    """Whichever of the others fits the question and is estimated to be the fastest."""

    name: ClassVar[str] = "auto"


@dataclass(frozen=True)
class Enumeration:
    """Every rule of the lattice (Definitions: enumeration)."""

    name: ClassVar[str] = "enumeration"


@dataclass(frozen=True)
class BranchAndBound:
    """Boxes of the lattice, the one of the smallest bound first (Definitions: branch and bound)."""

    name: ClassVar[str] = "branch_and_bound"


@dataclass(frozen=True)
class TopDown:
    """BTDA: the least risk first from the top, its dual for ``max_utility`` (Fouad (2012), algorithm 2)."""

    name: ClassVar[str] = "btda"


@dataclass(frozen=True)
class Aruba:
    """ARUBA: along the frontier, its dual for ``max_utility`` (Fouad (2012), algorithm 3)."""

    name: ClassVar[str] = "aruba"
    moves: Annotated[
        Literal["reduced", "full_cube"],
        doc("Neighbours of a frontier node: k² + k moves, or all of its cube, 3^k − 1."),
    ] = "reduced"
    start: Annotated[
        Literal["binary_search", "random_path"], doc("How the first frontier node is found.")
    ] = "binary_search"
    seed: Seed = 0


@dataclass(frozen=True)
class Genetic:
    """Genetic search over paths from the most general rule (13): feasible, not proved to be optimal."""

    name: ClassVar[str] = "genetic"
    seed: Seed
    population: Annotated[int, Ge(2), Le(10_000), doc("Paths per generation.")] = 40
    elites: Annotated[int, Ge(1), Le(10_000), doc("Paths that go on unchanged, below the population.")] = 10
    mutation_rate: Annotated[Share, doc("Probability that a new path is mutated.")] = 0.3
    immigrant_share: Annotated[Share, doc("Share of each generation that is drawn afresh.")] = 0.1
    generations: Annotated[int, Ge(0), Le(1_000_000), doc("Most generations.")] = 200
    stagnation: Annotated[
        int, Ge(1), Le(1_000_000), doc("Stop after so many generations without a better rule.")
    ] = 30
    probing: Annotated[
        bool,
        doc("Start from random paths; without it from paths that specialise one attribute after another."),
    ] = True
    jitter: Annotated[
        bool, doc("Mutate up to a quarter of the path's length from its middle, not always there.")
    ] = False

    def __post_init__(self) -> None:
        if self.elites >= self.population:
            raise InvalidInput.of("/solver/elites", "out-of-range", "elites must be less than population.")


@dataclass(frozen=True)
class Candidates:
    """MinRisk: the best of rules that are given (Fouad (2012), algorithm 1)."""

    name: ClassVar[str] = "min_risk_of_candidates"
    rules: Annotated[tuple[RuleRef, ...], Len(1, 1_000), doc("Names or ids of the rules to choose from.")]


@dataclass(frozen=True)
class Approx:
    """Convex programme over the Lovász extension, rounded, with a certificate for the run."""

    name: ClassVar[str] = "approx"
    epsilon: Annotated[
        float, Ge(1e-3), Lt(1), doc("Accuracy ε of the published statement; each halving doubles the work.")
    ] = 0.5
    kept_utility: Annotated[
        float, Gt(0), Le(1), doc("σ1: share of the utility floor that the rule keeps at least.")
    ] = 0.8
    sensitivity_slack: Annotated[
        float, Gt(1), Le(1_000), doc("σ2: factor by which the sensitivity may exceed the relaxation's.")
    ] = 4.5
    mode: Annotated[
        Literal["derandomised", "sampling"], doc("Every threshold of the rounding, or draws of it.")
    ] = "derandomised"
    seed: Seed = 0
    polish: Annotated[bool, doc("Generalise the rounded rule as far as its utility allows.")] = True
    fallback: Annotated[
        bool,
        ADDED_LATER,
        doc("Solve records exactly that miss the published promise. False: keep what was rounded for them, "
            "so that the certificate says what the approximation by itself is worth."),
    ] = True  # fmt: skip


@dataclass(frozen=True)
class Burel:
    """BUREL, for one criterion of β-likeness and k-anonymity beside it: rows of buckets of values."""

    name: ClassVar[str] = "burel"
    seed: Seed = 0
    start: Annotated[
        Literal["random", "first"],
        doc("Around which record a class is made: any that is left, or the first along the Hilbert curve."),
    ] = "random"
    slack_margin: Annotated[
        Annotated[float, Ge(0), Lt(1)] | Literal["auto"],
        doc(
            "Share of the bound that buckets of several values leave free, which makes room for smaller "
            "classes. `auto` tries 0, 0.05, 0.1, 0.2 and 0.3 and keeps what loses least."
        ),
    ] = 0.0
    rounding: Annotated[
        Literal["half_down", "half_up", "half_even"], doc("How the half of an odd number is rounded.")
    ] = "half_down"


@dataclass(frozen=True)
class Mondrian:
    """Median cuts across the widest quasi-identifier, as long as both halves meet all criteria."""

    name: ClassVar[str] = "mondrian"


Solver = (
    Auto | Enumeration | BranchAndBound | TopDown | Aruba | Genetic | Candidates | Approx | Burel | Mondrian
)

SOLVERS: Final[dict[str, type[Solver]]] = {solver.name: solver for solver in get_args(Solver)}
"""Each by its name."""

AUTO: Final = Auto()
