"""Record-level risk models: what a record's Φ and |ρ| amount to (Definitions: risk models).

A model may be a formula f(Φ, |ρ|, N) that users write: an arithmetic expression in ``phi`` (Φ), ``count``
(|ρ| ≥ 1) and ``n`` (entities N ≥ |ρ|) with numbers, + − * / **, log (natural), sqrt, exp, min and max. It is
walked as a syntax tree and never run as code.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import Literal, cast, get_args

import numpy as np

from app.domain.arrays import Bools, Floats, Longs
from app.domain.errors import InvalidInput
from app.domain.risk.loss import identification_probability, loss

ModelName = Literal["I", "II", "III", "III_raw", "custom"]

Value = Floats | np.float64

POINTER = "/risk_model/formula"
MAX_LENGTH = 200
MAX_NUMBER = 1e300
NAMES = ("phi", "count", "n")
SAMPLED_PHI = (0.0, 1e-6, 0.01, 0.1, 0.5, 0.9, 1.0, 1.1, 2.0, 5.0, 10.0, 100.0, 1e4)
SAMPLED_COUNTS = (1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0, 50.0, 100.0, 1e3, 1e4, 1e6, 1e8)
RELATIVE_ROUNDING = 1e-12

_BINARY: Mapping[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
_UNARY: Mapping[str, Callable[[Value], Value]] = {"log": np.log, "sqrt": np.sqrt, "exp": np.exp}
_VARIADIC: Mapping[str, Callable[[Value, Value], Value]] = {"min": np.minimum, "max": np.maximum}


@lru_cache(maxsize=256)
def parsed(formula: str) -> ast.expr:
    """The syntax tree of a formula; InvalidInput names what it may not contain."""
    if len(formula) > MAX_LENGTH:
        raise _fault("formula-too-long", f"The formula has more than {MAX_LENGTH} characters.")
    written = formula.strip()
    try:
        tree = ast.parse(written, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _fault("formula-syntax", "The formula is not an arithmetic expression.") from None
    _check(tree, written)
    return tree


def names_in(formula: str) -> frozenset[str]:
    """The variables that a formula depends on."""
    names = {part.id for part in ast.walk(parsed(formula)) if isinstance(part, ast.Name)}
    return frozenset(names & set(NAMES))


def evaluated(formula: str, phi: Floats, count: Floats, n: Floats) -> Floats:
    """The formula's value per position, as it comes out: NaN where it is undefined."""
    names = {"phi": phi, "count": count, "n": n}
    with np.errstate(all="ignore"):
        value = np.asarray(_value(parsed(formula), names), dtype=np.float64)
    shape = np.broadcast_shapes(phi.shape, count.shape, n.shape)
    return np.broadcast_to(value, shape)


def refuse_unless_sampled_conditions_hold(formula: str) -> None:
    """Sample what a risk model must be: f ≥ 0, non-decreasing in Φ, non-increasing in |ρ| where |ρ| ≤ N.

    InvalidInput with the first violation found. Passing proves nothing; failing does.
    """
    phi, count, n = np.meshgrid(SAMPLED_PHI, SAMPLED_COUNTS, SAMPLED_COUNTS, indexing="ij")
    possible = count <= n
    value = evaluated(formula, phi, count, n)
    slack = RELATIVE_ROUNDING * np.abs(np.where(np.isfinite(value), value, 0.0))
    violations = {
        "is undefined or negative": ~(value >= 0) & possible,
        "falls as phi grows": _below(value[1:], (value - slack)[:-1]) & possible[1:],
        "rises as count grows": _below((value + slack)[:, :-1], value[:, 1:]) & possible[:, 1:],
    }
    for what, bad in violations.items():
        if bad.any():
            at = tuple(np.argwhere(bad)[0])
            raise _fault(
                "formula-not-a-risk",
                f"The formula {what}, for instance at "
                f"phi = {phi[at]:g}, count = {count[at]:g}, n = {n[at]:g}.",
            )


def _below(values: Floats, least: Floats) -> Bools:
    found: Bools = values < least
    return found


def _value(node: ast.expr, names: Mapping[str, Floats]) -> Value:
    if isinstance(node, ast.Constant):
        return np.float64(cast(float, node.value))
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.UnaryOp):
        operand = _value(node.operand, names)
        return -operand if isinstance(node.op, ast.USub) else operand
    if isinstance(node, ast.BinOp):
        return _BINARY[type(node.op)](_value(node.left, names), _value(node.right, names))
    call = cast(ast.Call, node)
    function = cast(ast.Name, call.func).id
    arguments = [_value(argument, names) for argument in call.args]
    return _UNARY[function](arguments[0]) if function in _UNARY else reduce(_VARIADIC[function], arguments)


def _check(node: ast.expr, written: str) -> None:
    """Raise InvalidInput, with the part at fault, unless the expression is one that formulas may have."""
    if isinstance(node, ast.Constant) and (
        isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
        and abs(node.value) <= MAX_NUMBER
    ):
        return
    if isinstance(node, ast.Name) and node.id in NAMES:
        return
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        _check(node.operand, written)
        return
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        _check(node.left, written)
        _check(node.right, written)
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        wanted = (
            (1, 1) if node.func.id in _UNARY else (2, MAX_LENGTH) if node.func.id in _VARIADIC else (1, 0)
        )
        if wanted[0] <= len(node.args) <= wanted[1]:
            for argument in node.args:
                _check(argument, written)
            return
    part = ast.get_source_segment(written, node)
    raise _fault("formula-syntax", f"A risk formula may not contain {part}.")


def _fault(code: str, message: str) -> InvalidInput:
    return InvalidInput.of(
        POINTER,
        code,
        message,
        "Write f(phi, count, n) with numbers up to 1e300, + - * / **, log, sqrt and exp of one and min and "
        "max of several arguments; it must be at least 0, not fall as phi grows and not rise as count grows, "
        "for phi >= 0 and 1 <= count <= n.",
    )


@dataclass(frozen=True)
class RiskModel:
    """r(y, θ) = f(Φ(y), |ρ(y, θ)|, N), 0 where ρ is empty.

    Parameters
    ----------
    name
        ``I``: the loss, Φ/|ρ| without a harm of failure. ``II``: 1/|ρ|. ``III``: Φ·ln(N/|ρ|),
        the nats by which the release narrows the candidates, times the sensitivity. ``III_raw``: Φ·ln(1/|ρ|)
        as printed, not monotone and never positive (Definitions: third risk model). ``custom``:
        ``formula``.
    formula
        For ``custom``: see the module's docstring. InvalidInput unless it is an expression that
        passes the sampled conditions (Definitions: risk models).
    """

    name: ModelName = "I"
    formula: str | None = None

    def __post_init__(self) -> None:
        if self.name not in get_args(ModelName):
            choices = ", ".join(get_args(ModelName))
            raise InvalidInput.of("/risk_model", "unknown-choice", f"The risk model is not one of {choices}.")
        if (self.formula is None) == (self.name == "custom"):
            raise InvalidInput.of(
                POINTER, "formula-misplaced", "The model custom needs a formula; the others take none."
            )
        if self.formula is not None:
            refuse_unless_sampled_conditions_hold(self.formula)

    @property
    def is_monotone(self) -> bool:
        """Whether it is proved that f does not fall as Φ grows and does not rise as |ρ| grows.

        A formula has passed samples only, which is no proof.
        """
        return self.name in ("I", "II", "III")

    @property
    def takes_failure(self) -> bool:
        """Whether a harm of failed identification, Ψ, has a meaning in the model."""
        return self.name == "I"

    @cached_property
    def depends_on_entities(self) -> bool:
        """Whether the number of entities N enters beside |ρ|."""
        return self.name == "III" or (self.formula is not None and "n" in names_in(self.formula))

    def of(
        self,
        counts: Longs | Floats,
        phi: Floats,
        psi: Floats | float | None,
        n_entities: Longs | Floats | float,
    ) -> Floats:
        """Risk per position, float64, broadcast over the arguments; never NaN.

        Values are in [0, +∞], except for ``III_raw``, whose are in [−∞, 0]. Where Φ = ∞ and ρ is not empty
        the risk of I and III is ∞, even if nothing is learnt; of ``custom`` what the formula gives, and ∞ if
        it gives nothing. ``psi`` must be 0 or None unless :attr:`takes_failure`.
        """
        if self.name == "I":
            return loss(counts, phi, 0.0 if psi is None else psi)
        if psi is not None and np.any(psi):
            raise ValueError(f"model {self.name} knows no harm of failed identification")
        if self.name == "II":
            shape = np.broadcast_shapes(np.shape(counts), np.shape(phi))
            return np.broadcast_to(identification_probability(counts), shape).copy()
        count, harm, n = np.broadcast_arrays(
            np.asarray(counts, dtype=np.float64), phi, np.asarray(n_entities, dtype=np.float64)
        )
        risk = np.zeros(count.shape)
        at_stake = (count > 0) & (harm > 0) if self.name != "custom" else count > 0
        risk[at_stake] = self._at(harm[at_stake], count[at_stake], n[at_stake])
        return risk

    def _at(self, phi: Floats, count: Floats, n: Floats) -> Floats:
        """The risk where ρ is not empty."""
        if self.formula is not None:
            value = np.array(evaluated(self.formula, phi, count, n))
            value[np.isnan(value) & np.isposinf(phi)] = np.inf
            wrong = ~(value >= 0)
            if wrong.any():
                i = int(np.flatnonzero(wrong)[0])
                raise InvalidInput.of(
                    POINTER,
                    "formula-not-a-risk",
                    f"The formula is undefined or negative at "
                    f"phi = {phi[i]:g}, count = {count[i]:g}, n = {n[i]:g}.",
                    "Change it so that it is at least 0 wherever phi >= 0 and 1 <= count <= n.",
                )
            return value
        if self.name == "III_raw":
            # The product, with 0·∞ = 0
            b = np.log(count)
            zero = (phi == 0) | (b == 0)
            product: Floats = np.where(zero, 0.0, np.where(zero, 0.0, phi) * np.where(zero, 0.0, b))
            return 0.0 - product
        prohibited = np.isposinf(phi)
        narrowed = np.maximum(np.log(n / count), 0.0)
        found: Floats = np.where(prohibited, np.inf, np.where(prohibited, 0.0, phi) * narrowed)
        return found


MODEL_I = RiskModel()
