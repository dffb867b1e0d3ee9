"""The schemas with what is right for their columns, and tables of made-up values for them."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

ROWS = 80
SCHEMAS = Path(__file__).with_name("schemas.txt")

FIRST = ("Anna", "Peter", "Maria", "Paul", "Laura", "Jan", "Sofia", "Lukas", "Julia", "Thomas", "Emma", "Eva")
LAST = ("Müller", "Schmidt", "Smith", "Martin", "Rossi", "Garcia", "Kowalski", "Jansen", "Silva", "Weber")
SAID = (
    "asked to be called back in the morning after the visit",
    "was very unhappy with how long the treatment had taken",
    "moved house last year and has not told the office since",
    "brought a letter from another doctor that we should keep",
)


@dataclass(frozen=True)
class Right:
    """What is right for one column."""

    schema: str
    column: str
    role: str
    values: str
    part: str

    @property
    def is_held_out(self) -> bool:
        """Whether no words were chosen for its schema."""
        return self.part == "hold-out"


def schemas() -> dict[str, list[Right]]:
    """The columns with what is right for them, by schema."""
    found: dict[str, list[Right]] = {}
    name, part = "", ""
    for line in SCHEMAS.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            title, language, part = line.strip("[]").split(", ")
            name = f"{title} ({language})"
        elif line and not line.startswith("#"):
            column, role, values = line.split("; ")
            found.setdefault(name, []).append(Right(name, column, role, values, part))
    return found


def cells_of(right: Right) -> list[str]:
    """Made-up cells of a column, the same every time."""
    draw = random.Random(f"{right.schema}/{right.column}")
    kind, _, rest = right.values.partition(" ")
    if kind == "cat":
        values = rest.split("|")
        return [*values, *(draw.choice(values) for _ in range(ROWS - len(values)))]
    if kind == "seq":
        start = draw.randrange(1000, 9000)
        return draw.sample([rest % (start + 7 * row) for row in range(ROWS)], ROWS)
    if kind == "rep":
        return [rest % (10_000 + draw.randrange(ROWS // 2)) for _ in range(ROWS)]
    if kind == "date":
        return [_date(draw, rest) for _ in range(ROWS)]
    return [_OTHERS[kind](draw, rest) for _ in range(ROWS)]


def _date(draw: random.Random, rest: str) -> str:
    pattern, first, last = rest.rsplit(" ", 2)
    days = (date(int(last), 12, 28) - date(int(first), 1, 1)).days
    moment = datetime(int(first), 1, 1) + timedelta(days=draw.randrange(days), minutes=draw.randrange(1440))
    return moment.strftime(pattern)


def _between(draw: random.Random, rest: str, places: int) -> str:
    low, high = (float(part) for part in rest.split()[:2])
    return f"{draw.uniform(low, high):.{places}f}"


def _money(draw: random.Random, rest: str) -> str:
    low, high = map(int, rest.split())
    return f"{draw.triangular(low, high, low + (high - low) / 4):,.2f}"


def _with_code(draw: random.Random, rest: str) -> str:
    low, high, code = map(int, rest.split())
    return str(draw.randint(low, high) if draw.random() < 0.9 else code)


def _iban(draw: random.Random, _: str) -> str:
    account = f"{draw.randrange(10**18):018d}"
    return f"DE{98 - int(account + '131400') % 97:02d}{account}"


def _pesel(draw: random.Random, _: str) -> str:
    born = date(1955, 1, 1) + timedelta(days=draw.randrange(16_000))
    digits = f"{born:%y%m%d}{draw.randrange(10_000):04d}"
    check = sum(int(digit) * weight for digit, weight in zip(digits, (1, 3, 7, 9) * 3, strict=False))
    return f"{digits}{-check % 10}"


_OTHERS: dict[str, Callable[[random.Random, str], str]] = {
    "int": lambda draw, rest: str(draw.randint(*map(int, rest.split()))),
    "float": lambda draw, rest: _between(draw, rest, int(rest.split()[2])),
    "amount": lambda draw, rest: _between(draw, rest, 2),
    "comma": lambda draw, rest: _between(draw, rest, 2).replace(".", ","),
    "usd": lambda draw, rest: f"${_money(draw, rest)}",
    "eur": lambda draw, rest: _money(draw, rest).translate(str.maketrans(",.", ".,")) + " €",
    "miss": _with_code,
    "name": lambda draw, _: f"{draw.choice(FIRST)} {draw.choice(LAST)}",
    "first": lambda draw, _: draw.choice(FIRST),
    "last": lambda draw, _: draw.choice(LAST),
    "email": lambda draw, _: f"{draw.choice(FIRST).lower()}{draw.randrange(999)}@example.org",
    "phone": lambda draw, _: f"+49 30 23125{draw.randrange(1000):03d}",
    "street": lambda draw, _: f"{draw.choice(LAST)} Street {draw.randrange(1, 200)}",
    "text": lambda draw, _: f"{draw.choice(FIRST)} {draw.choice(SAID)}, {draw.randrange(999)} times",
    "url": lambda draw, _: f"https://example.org/loans/{draw.randrange(10**6)}",
    "zip": lambda draw, _: f"{draw.randrange(10_000, 99_999)}",
    "hex": lambda draw, _: uuid.UUID(int=draw.getrandbits(128)).hex[:16].upper(),
    "icd10": lambda draw, _: f"{draw.choice('CEFIJKM')}{draw.randrange(10, 99)}.{draw.randrange(10)}",
    "icd9": lambda draw, _: draw.choice(["250.83", "276", "648", "8", "V57", "E909", "414", "428"]),
    "iban": _iban,
    "pesel": _pesel,
}
