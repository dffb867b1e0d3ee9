"""What can be chosen beside measures and searches: risk models, families of sensitivity, models of utility.

Their code is in the rooms that do the work; here is what a reader needs to choose among them. The
catalogue's tests hold the names to those that the rooms accept. Measures have a catalogue of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.catalogue.catalogue_types import Guarantee, Need


@dataclass(frozen=True)
class Choice:
    """One word of requests and what it stands for.

    Parameters
    ----------
    name, version, title, source, guarantee, needs
        As of a measure.
    fields
        The fields of requests that this choice takes beside its name.
    """

    name: str
    title: str
    source: str
    guarantee: Guarantee = "exact"
    needs: frozenset[Need] = frozenset()
    fields: tuple[str, ...] = ()
    version: int = 1


_COMMON_WEIGHTS: Final = ("attributes", "normalisation", "allow_positive_top")
_COMMON_UTILITY: Final = ("weights", "round_before_constraint", "display_rounding")

RISK_MODELS: Final = (
    Choice(
        "I", "Harm times the probability of identification: Φ / |ρ|", "Lebanon et al. (2009), section 3.2"
    ),
    Choice("II", "Probability of identification alone: 1 / |ρ|", "Fouad (2012), section 4.4.2"),
    Choice(
        "III",
        "Harm times what the release narrows the candidates down by: Φ · ln(N / |ρ|)",
        "Fouad (2012), section 4.4.2, normalised (Definitions: third risk model)",
    ),
    Choice(
        "III_raw",
        "As printed, Φ · ln(1 / |ρ|): not monotone, for comparison with the paper only",
        "Fouad (2012), section 4.4.2 (Definitions: third risk model)",
    ),
    Choice(
        "custom", "A formula in phi, count and n of your own", "Definitions: risk models", fields=("formula",)
    ),
)

SENSITIVITY_FAMILIES: Final = (
    Choice(
        "linear",
        "Φ1: the weights of disclosed values add up",
        "Lebanon et al. (2009), section 3.3",
        fields=_COMMON_WEIGHTS,
    ),
    Choice(
        "linear_personal",
        "Φ2: as Φ1, with weights of entities or groups",
        "Lebanon et al. (2009), section 3.3",
        fields=(*_COMMON_WEIGHTS, "overrides"),
    ),
    Choice(
        "interactions",
        "Φ3: sets of attributes weigh more together than apart",
        "Lebanon et al. (2009), section 3.3",
        fields=(*_COMMON_WEIGHTS, "interactions", "overrides"),
    ),
    Choice(
        "multiplicative",
        "Φ4: exp of the sum of weights; a record suppressed altogether still counts 1",
        "Lebanon et al. (2009), section 3.3; Definitions: multiplicative sensitivity of nothing",
        fields=(*_COMMON_WEIGHTS, "overrides"),
    ),
    Choice(
        "multiplicative_centered",
        "Φ4 − 1: a record suppressed altogether counts 0",
        "Definitions: multiplicative sensitivity of nothing",
        fields=(*_COMMON_WEIGHTS, "overrides"),
    ),
    Choice(
        "constant",
        "The same for every record: what k-anonymity assumes",
        "Lebanon et al. (2009), section 5",
        fields=("constant",),
    ),
)

UTILITY_MODELS: Final = (
    Choice(
        "depth_sum",
        "Depth of the disclosed values in their hierarchies, added up",
        "Lebanon et al. (2009), section 7.2",
        fields=_COMMON_UTILITY,
    ),
    Choice(
        "inverse_leaves",
        "1 / leaves below the disclosed value, added up",
        "Fouad (2012), section 4.4.1",
        fields=_COMMON_UTILITY,
    ),
    Choice(
        "log_leaves",
        "ln(all leaves / leaves below), added up",
        "Fouad (2012), section 4.4.1",
        fields=_COMMON_UTILITY,
    ),
    Choice(
        "info_loss_xt",
        "Information loss of Xiao and Tao; what counts is how much less it is than that of full suppression",
        "Xiao and Tao (2006); Definitions: losses as utilities",
        fields=_COMMON_UTILITY,
    ),
    Choice(
        "info_loss_lm",
        "Information loss of Iyengar; what counts is how much less it is than that of full suppression",
        "Iyengar (2002); Definitions: losses as utilities, loss of attributes with one value",
        fields=_COMMON_UTILITY,
    ),
    Choice(
        "custom",
        "A value of your own for every node",
        "Definitions: utility",
        fields=("values", *_COMMON_UTILITY),
    ),
)

_LEAVES: Final = ("leaf_domain",)
_COUNTED: Final = ("weights", "aggregate", "suppression_factor")

LOSSES: Final = (
    Choice(
        "geometric",
        "Normalised loss of the attributes, their geometric mean",
        "Definitions: losses of information",
        fields=(*_LEAVES, "weights", "suppression_factor"),
    ),
    Choice(
        "arithmetic",
        "Normalised loss of the attributes, their mean",
        "Definitions: losses of information",
        fields=(*_LEAVES, *_COUNTED),
    ),
    Choice(
        "precision",
        "Mean level of a cell as a share of its hierarchy's height",
        "Sweeney (2002)",
        fields=_COUNTED,
    ),
    Choice("height", "Sum of the levels", "Samarati (2001)", fields=("weights", "aggregate")),
    Choice("discernibility", "Records that each record cannot be told from", "Bayardo and Agrawal (2005)"),
    Choice("average_class_size", "Records per class", "LeFevre et al. (2006)"),
    Choice(
        "non_uniform_entropy",
        "Bits that disclosed values leave open of the originals",
        "Gionis and Tassa (2009)",
        fields=_COUNTED,
    ),
    Choice(
        "ambiguity",
        "Original records that a disclosed one may stand for",
        "Definitions: losses of information",
        fields=_LEAVES,
    ),
    Choice(
        "kl_divergence",
        "Divergence of what a reader would reconstruct from the original table",
        "Machanavajjhala (2008), section 3.6",
        fields=_LEAVES,
    ),
    Choice(
        "ail",
        "Average information loss: share of the domain under a cell",
        "Cao and Karras (2012), section 4.1",
        fields=(*_LEAVES, "numeric", *_COUNTED),
    ),
    Choice(
        "squared_error",
        "Squared distance of numbers from the mean of those released as one value, as a share of the "
        "greatest",
        "Domingo-Ferrer and Mateo-Sanz (2002)",
        fields=(*_LEAVES, "numeric", *_COUNTED),
    ),
)
