"""The catalogue of mechanisms: what each is, what it takes, and where it may be used.

A mechanism is added by its file and one entry here. A rule is the mechanism of the family ``generalise`` that
needs none.
"""

from __future__ import annotations

from typing import Any, Final

from app.domain.mechanisms.dirichlet_multinomial import DIRICHLET_MULTINOMIAL
from app.domain.mechanisms.laplace_histogram import LAPLACE_HISTOGRAM
from app.domain.mechanisms.mechanism import Mechanism
from app.domain.mechanisms.perturbation import PERTURBATION
from app.domain.mechanisms.sample_perturb_scale import SAMPLE_PERTURB_SCALE
from app.domain.mechanisms.sampled_generalisation import SAMPLED_GENERALISATION
from app.domain.mechanisms.sampled_generalisation_published import SAMPLED_GENERALISATION_PUBLISHED
from app.domain.mechanisms.stability_histogram import STABILITY_HISTOGRAM
from app.domain.mechanisms.uniform_perturbation import UNIFORM_PERTURBATION

AnyMechanism = Mechanism[Any, Any]

MECHANISMS: Final[tuple[AnyMechanism, ...]] = (
    PERTURBATION,
    UNIFORM_PERTURBATION,
    SAMPLE_PERTURB_SCALE,
    STABILITY_HISTOGRAM,
    LAPLACE_HISTOGRAM,
    SAMPLED_GENERALISATION,
    SAMPLED_GENERALISATION_PUBLISHED,
    DIRICHLET_MULTINOMIAL,
)
