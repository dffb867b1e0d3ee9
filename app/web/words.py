"""How the pages write numbers, levels, names and addresses."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape

ROWS_SAID: Final = "make another dataset, with a column of the role person or with each row as a person"
_LEAST_SHARE: Final = 1e-6
_TOLERANCE: Final = 1e-9
_RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_LONGEST_GOAL: Final = 1000
_REF: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._@-]{1,120}")


def is_ref(text: str) -> bool:
    """Whether a resource, or a version of one, could be called so; never a step up in an address."""
    return _REF.fullmatch(text) is not None


def address(*parts: object, **query: object) -> str:
    """A local address; what the query leaves out (None) is not in it."""
    path = "/" + "/".join(quote(str(part), safe="") for part in parts)
    asked = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(asked)}" if asked else path


def anchor(name: str) -> str:
    """The name of a field as an id of the page, which has no blanks and differs where names do."""
    return "f-" + quote(name, safe="").replace("%", ":")


def as_number(value: object) -> float:
    """A number of the interface: infinity comes as text."""
    if isinstance(value, str):
        return {"inf": math.inf, "-inf": -math.inf}.get(value, math.nan)
    return float(value)  # type: ignore[arg-type]


def number(value: object) -> str:
    """A number as people read it: whole ones with separators, others with four significant digits."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and value not in ("inf", "-inf"):
        return value
    amount = as_number(value)
    if math.isinf(amount):
        return "∞" if amount > 0 else "−∞"
    if amount == int(amount) and abs(amount) < 1e15:
        return f"{int(amount):,}".replace("-", "−")
    return f"{amount:.4g}".replace("-", "−")


def prose(text: object) -> Markup:
    """A text of the interface, which puts its terms between backticks."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped


def share(part: float, whole: float) -> str:
    """A share in per cent; what is below a millionth as an order of magnitude, which says more."""
    if not whole:
        return "–"
    if 0 < part / whole < _LEAST_SHARE:
        tens = math.ceil(math.log10(whole / part) - _TOLERANCE) - 1
        return f"less than 1 in 10{str(tens).translate(_RAISED)}"
    return f"{100 * part / whole:.3g} %"


def counted(amount: float, thing: str) -> str:
    """So many things, by the singular of their name."""
    return f"{number(amount)} {thing}{'' if amount == 1 else 's'}"


def figure(value: object, is_share: bool) -> str:
    """A number; a share in per cent."""
    return share(as_number(value), 1) if is_share and value is not None else number(value)


def moment(value: object) -> str:
    """A point in time, to the minute, in UTC."""
    if not value:
        return "–"
    return datetime.fromisoformat(str(value)).strftime("%-d %b %Y, %H:%M UTC")


def words(text: object) -> str:
    """A term of the interface as words: ``needs_attention`` is ‘needs attention’."""
    return str(text).replace("_", " ")


_NAMED_BY_LETTERS: Final = re.compile(r"(?:(?<=_)|^)((?:(?:k|l|t|e|alpha|beta|delta|rho)_)+)(?=[a-z]{3})")
"""The letters before the word in names of models, as in k-anonymity."""
_LETTERS: Final = {
    "l": "ℓ",
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "rho": "ρ",
    "rho_1": "ρ1",
    "rho_2": "ρ2",
}


def model_name(kind: str) -> str:
    """A privacy model or measure in the field's spelling: its letters stand before a hyphen."""

    def written(found: re.Match[str]) -> str:
        letters = [letter(name) for name in found[1].split("_")[:-1]]
        return f"{letters[0]}-" if len(letters) == 1 else f"({','.join(letters)})-"

    return words(_NAMED_BY_LETTERS.sub(written, kind, count=1))


def letter(parameter: str) -> str:
    """A parameter as the field writes it."""
    return _LETTERS.get(parameter, parameter)


_OBJECTIVES: Final = {
    "min_risk": "least risk",
    "max_utility": "greatest utility",
    "lagrangian": "best balance of risk and utility",
    "aggregate": "best balance of harm and utility",
    "min_loss": "least loss of information",
    "alternatives": "several releases of little loss",
}
_LIMITS: Final = {
    "utility_floor": "a utility of at least {}",
    "risk_cap": "a risk of at most {}",
    "loss_cap": "a loss of information of at most {}",
    "trade_off": "a trade-off of {}",
}


def objective(asked: Mapping[str, Any]) -> str:
    """What a search is for, and within which limit."""
    limits = [
        text.format(number(asked[name])) for name, text in _LIMITS.items() if asked.get(name) is not None
    ]
    if asked.get("suppression_limit") is not None:
        limits.append(f"at most {share(asked['suppression_limit'], 1)} of the records suppressed")
    what = _OBJECTIVES.get(asked["kind"], words(asked["kind"]))
    return f"{what}, with {' and '.join(limits)}" if limits else what


def levels_in_words(levels: Mapping[str, int] | None) -> str:
    """A rule in one line: what is generalised, how far."""
    if levels is None:
        return "levels of their own for single records or cells"
    raised = [f"{name} {level}" for name, level in levels.items() if level]
    return "levels " + ", ".join(raised) if raised else "everything as it is"


def code_of(levels: Sequence[int]) -> str:
    """Levels in the order of the schema as part of an address."""
    return "-".join(map(str, levels))


def levels_of(code: str, heights: Mapping[str, int]) -> dict[str, int] | None:
    """The levels of such a part; None if it fits no rule."""
    if not re.fullmatch(r"\d{1,4}(-\d{1,4})*", code, re.ASCII):
        return None
    levels = [int(part) for part in code.split("-")]
    if len(levels) != len(heights) or any(a > b for a, b in zip(levels, heights.values(), strict=True)):
        return None
    return dict(zip(heights, levels, strict=True))


def heights_of(dataset: Mapping[str, Any]) -> dict[str, int]:
    """The disclosed attributes of a dataset with their heights, in the order of the schema."""
    return {
        attribute["name"]: attribute["height"]
        for attribute in dataset["attributes"]
        if attribute["role"] in ("quasi_identifier", "sensitive")
    }


def local(goal: str) -> str:
    """The address if it is a page of this site, else the first page: a link leads nowhere else.

    It is short enough for a cookie, which keeps it as JSON.
    """
    is_local = goal.startswith("/") and not goal.startswith(("//", "/\\")) and goal.isprintable()
    return goal if is_local and len(json.dumps(goal)) <= _LONGEST_GOAL else "/"
