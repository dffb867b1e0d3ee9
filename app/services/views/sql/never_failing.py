"""What PostgreSQL computes of any values of these types without an error, whatever the values are.

What is not listed may fail. A trial runs every entry on the extreme values of its types. Left out of account
are errors that no single value makes: texts of hundreds of megabytes, memory or time that runs out.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cache
from typing import Final

SHORT: Final = "numeric(600,300)"
"""Numbers of at most 300 digits before and behind the point; others may be too large for a double."""
UNDECLARED: Final = "undeclared"
"""A column of which no type is declared: of any type for which there is such a function."""
COUNT, NUMBER, WORD, QUOTED = "a count", "a number", "a text", "a text with a backslash, or NULL"
"""Literals. A text is read as a value of what stands beside it before any row is looked at."""
WIDER: Final = ("smallint", "integer", "bigint", SHORT, "numeric", "real", "double precision")
"""What values of two of these types are taken for together is the later one."""
_WHOLE, _FEW_DIGITS, _EXACT = (frozenset(WIDER[:end]) for end in (3, 4, 5))
_DOUBLES: Final = frozenset(WIDER[5:])
TEXTS: Final = frozenset({"text", "varchar", "char"})
_MOMENTS: Final = frozenset({"date", "timestamp"})
_ORDERED: Final = _EXACT | _DOUBLES | TEXTS | _MOMENTS | {"time", "timestamptz", "interval", "enum"}
_TYPES: Final = _ORDERED | {"boolean", "uuid"}
_SHOWN: Final = _TYPES - {"timestamptz"}
_NAMED: Final = TEXTS | {UNDECLARED}
_ALIKE: Final = [{own} for own in ("time", "boolean", "uuid", "timestamptz", "interval", "enum", UNDECLARED)]
_COMPARED: Final = [(own, own) for own in (_EXACT, _FEW_DIGITS | _DOUBLES, TEXTS, _MOMENTS, *_ALIKE)]
_UNLIKE: Final = [({UNDECLARED}, _FEW_DIGITS | TEXTS), (_FEW_DIGITS | TEXTS, {UNDECLARED})]
_DATES: Final = "year month day dow doy week quarter isoyear isodow century decade millennium epoch julian"
_TIMES: Final = "hour minute second milliseconds microseconds epoch"
Entry = tuple[str, tuple[Set[str], ...], str]
NEVER_FAILING: Final[tuple[Entry, ...]] = (
    *(("eq neq lt lte gt gte nullsafeeq nullsafeneq", own, "boolean") for own in (*_COMPARED, *_UNLIKE)),
    ("like ilike", (_NAMED, {WORD}), "boolean"),
    ("lower upper trim btrim ltrim rtrim", (_NAMED,), "text"),
    ("length char_length character_length", (_NAMED,), "integer"),
    ("substring substr", (_NAMED, {COUNT}), "text"),
    ("substring substr", (_NAMED, {COUNT}, {COUNT}), "text"),
    ("dpipe", (TEXTS, _SHOWN), "text"),
    ("dpipe", (_SHOWN, TEXTS), "text"),
    ("concat", (_SHOWN,), "text"),
    ("abs neg", (_DOUBLES | {SHORT, "numeric"},), ""),
    ("round", (_WHOLE | _DOUBLES,), "double precision"),
    ("round", ({SHORT},), "numeric"),
    ("round", (_FEW_DIGITS, {COUNT}), "numeric"),
    *((f"extract:{own}", ({"date"},), "numeric") for own in _DATES.split()),
    *((f"extract:{own}", ({"timestamp"},), "numeric") for own in f"{_DATES} {_TIMES}".split()),
    *((f"extract:{own}", ({"time"},), "numeric") for own in _TIMES.split()),
    *((f"date_part:{own}", ({"timestamp"},), "double precision") for own in f"{_DATES} {_TIMES}".split()),
    *((f"date_part:{own}", ({"time"},), "double precision") for own in _TIMES.split()),
    *((f"date_trunc:{own}", ({"timestamp"},), "") for own in ("day", *_TIMES.split()[:-1])),
    ("as:integer", (_WHOLE - {"bigint"},), "integer"),
    ("as:bigint", (_WHOLE,), "bigint"),
    (f"as:numeric as:{SHORT}", (_FEW_DIGITS,), SHORT),
    ("as:numeric", ({"numeric"},), "numeric"),
    ("as:double", (_FEW_DIGITS | _DOUBLES,), "double precision"),
    ("as:text as:char", (_SHOWN,), "text"),
    ("as:date", (_MOMENTS,), "date"),
    ("sum", (_WHOLE - {"bigint"},), "bigint"),
    ("sum", ({"bigint", SHORT},), "numeric"),
    ("avg stddev stddev_samp stddev_pop variance var_samp var_pop", (_FEW_DIGITS,), "numeric"),
    ("min max", (_ORDERED,), ""),
    ("row_number rank dense_rank", (), "bigint"),
)
"""Operators as the parser calls them, functions, casts by what they make; kinds of operands and result."""
_READ_AS: Final[dict[str, Set[str]]] = {
    **{COUNT: {"integer"}, NUMBER: {SHORT}},
    **dict.fromkeys((WORD, QUOTED), _TYPES | {UNDECLARED}),
}
NAMES: Final = frozenset(name for names, _, _ in NEVER_FAILING for name in names.split())


@cache
def result_of(name: str, operands: tuple[str, ...]) -> str:
    """The kind of what never fails of these operands; empty: it may, or the kind of one is not known."""
    for names, allowed, result in NEVER_FAILING:
        if name in names.split() and len(allowed) == len(operands):
            pairs = zip(operands, allowed, strict=True)
            if all(own in kinds or not kinds.isdisjoint(_READ_AS.get(own, ())) for own, kinds in pairs):
                return result or operands[0]
    return ""
