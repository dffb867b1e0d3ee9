"""A table of patients as a German hospital's system exports it, with the faults that such exports have.

Separated by semicolons, in Latin-1, with dates such as 10.05.1975 and costs such as 17100,00; some cells are
missing, some records stand there twice, and one date of birth does not exist. Nobody in it is real.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

from app.domain.errors import InvalidInput
from app.samples import DEFAULT_PATIENTS

SEED: Final = 1975_05_10
ENCODING: Final = "latin-1"

COLUMNS: Final = (
    "Patientennummer", "Nachname", "Vorname", "Geburtsdatum", "Geschlecht", "PLZ", "Wohnort", "Aufnahmedatum",
    "Hauptdiagnose", "Krankenkasse", "Kosten", "Bemerkung",
)  # fmt: skip

STRAY_BIRTH_DATE: Final = "31.02.1975"
"""A day that does not exist, in one record."""

_LAST: Final = (
    "Müller", "Schmidt", "Schneider", "Fischer", "Weber", "Meyer", "Wagner", "Becker", "Schulz", "Hoffmann",
    "Schäfer", "Koch", "Bauer", "Richter", "Klein", "Wolf", "Schröder", "Neumann", "Schwarz", "Zimmermann",
    "Krüger", "Hartmann", "Lange", "Yilmaz", "Kowalski", "Nguyen", "Groß", "Böhm",
)  # fmt: skip
_WOMEN: Final = (
    "Anna", "Maria", "Ursula", "Monika", "Petra", "Sabine", "Renate", "Karin", "Julia", "Käthe", "Emine",
)  # fmt: skip
_MEN: Final = (
    "Peter", "Michael", "Thomas", "Andreas", "Wolfgang", "Klaus", "Jürgen", "Günter", "Stefan", "Mehmet",
)  # fmt: skip
_PLACES: Final = (
    ("Köln", ("50667", "50823", "50935", "51065", "51103")),
    ("Düsseldorf", ("40210", "40223", "40476", "40589")),
    ("Bonn", ("53111", "53115", "53227")),
    ("Aachen", ("52062", "52066", "52074")),
    ("Leipzig", ("04103", "04109", "04229", "04347")),
    ("München", ("80331", "80469", "81541", "81925")),
)
_DIAGNOSES: Final = (
    "I10.0", "I21.4", "I48.0", "I50.1", "I63.9", "E11.9", "E66.0", "J18.9", "J44.1", "K35.8", "M16.1",
    "M17.1", "N18.3", "S72.0", "C50.9", "C18.7", "F32.1", "F10.2", "O80", "A41.9", "G40.3",
)  # fmt: skip
_INSURERS: Final = ("AOK Rheinland", "Techniker", "Barmer", "DAK", "IKK classic", "privat")
_REMARKS: Final = (
    "Frau {name} bittet um Rückruf am Abend unter der alten Nummer",
    "Hat große Angst vor der Narkose, bitte ausführlich mit Familie {name} sprechen",
    "Entlassung verschoben, weil zu Hause niemand da ist, der helfen kann",
    "Wurde von der Hausärztin mit Verdacht auf {code} überwiesen, Befund liegt bei",
)
_REFERENCE: Final = date(2024, 12, 31)
_MISSING: Final = 0.02
_REMARKED: Final = 0.15
_TWICE: Final = 0.01
_LONGEST_LIFE: Final = 95 * 365


def patient_rows(n_patients: int = DEFAULT_PATIENTS, seed: int = SEED) -> Iterator[tuple[str, ...]]:
    """So many records, of which one in a hundred repeats another; equal arguments give equal rows.

    InvalidInput for fewer than two records.
    """
    if n_patients < 2:
        raise InvalidInput.of(
            "/n_patients",
            "too-small",
            f"The table of patients needs at least 2 records, got {n_patients}.",
            "Ask for 2 or more.",
        )
    draw = random.Random(seed)  # noqa: S311 - made-up people need no secret
    n_repeated = round(_TWICE * n_patients)
    stray = draw.randrange(n_patients - n_repeated)
    rows = [_row(draw, number, is_stray=number == stray) for number in range(n_patients - n_repeated)]
    repeated = [rows[draw.randrange(len(rows))] for _ in range(n_repeated)]
    for row in repeated:
        rows.insert(draw.randrange(len(rows)), row)
    yield from rows


def csv_of_patients(n_patients: int = DEFAULT_PATIENTS, seed: int = SEED) -> bytes:
    """The records as the hospital's system writes them, header first; no cell needs quotes."""
    lines = (";".join(row) for row in (COLUMNS, *patient_rows(n_patients, seed)))
    return ("\r\n".join(lines) + "\r\n").encode(ENCODING)


def _row(draw: random.Random, number: int, *, is_stray: bool) -> tuple[str, ...]:
    sex = draw.choices(("w", "m", "d"), (0.52, 0.475, 0.005))[0]
    last = draw.choice(_LAST)
    admitted = _REFERENCE - timedelta(days=draw.randrange(730))
    born = admitted - timedelta(days=int(_LONGEST_LIFE * draw.betavariate(2.6, 1.6)))
    city, codes = draw.choice(_PLACES)
    diagnosis = draw.choices(_DIAGNOSES, [1 / (rank + 2) for rank in range(len(_DIAGNOSES))])[0]
    costs = draw.lognormvariate(8.3, 0.8)
    remark = draw.choice(_REMARKS).format(name=last, code=diagnosis) if draw.random() < _REMARKED else ""
    return (
        f"{4_000_000 + 37 * number:08d}",
        last,
        draw.choice(_WOMEN if sex == "w" else _MEN),
        STRAY_BIRTH_DATE if is_stray else _german(born),
        _or_missing(draw, sex),
        _or_missing(draw, draw.choice(codes)),
        city,
        _german(admitted),
        _or_missing(draw, diagnosis),
        _or_missing(draw, draw.choice(_INSURERS)),
        _or_missing(draw, _amount(draw, costs)),
        remark,
    )


def _amount(draw: random.Random, costs: float) -> str:
    """With a decimal comma; now and then a round amount without cents."""
    return (
        str(round(costs, -2)).partition(".")[0] if draw.random() < 0.05 else f"{costs:.2f}".replace(".", ",")
    )


def _german(day: date) -> str:
    return f"{day:%d.%m.%Y}"


def _or_missing(draw: random.Random, cell: str) -> str:
    return "" if draw.random() < _MISSING else cell
