"""The table of patients has the faults of an export, and is read with all of them."""

import csv
import io
from datetime import datetime

import pytest

from app.domain.errors import InvalidInput
from app.samples.patients import COLUMNS, STRAY_BIRTH_DATE, csv_of_patients, patient_rows
from app.services.datasets.ingest.proposals import propose_dialect

N = 1_000


@pytest.fixture(scope="module")
def rows():
    text = csv_of_patients(N).decode("latin-1")
    return list(csv.DictReader(io.StringIO(text), delimiter=";"))


def test_equal_seeds_give_equal_tables():
    assert csv_of_patients(50, seed=3) == csv_of_patients(50, seed=3) != csv_of_patients(50, seed=4)


def test_it_has_as_many_records_as_asked_for_and_some_of_them_twice(rows):
    assert len(rows) == N
    assert len({row["Patientennummer"] for row in rows}) == N - N // 100
    assert len(set(patient_rows(N))) == N - N // 100


def test_one_date_of_birth_does_not_exist_and_all_others_precede_the_admission(rows):
    stray = [row for row in rows if row["Geburtsdatum"] == STRAY_BIRTH_DATE]
    assert len({row["Patientennummer"] for row in stray}) == 1
    for row in rows:
        if row not in stray:
            born, admitted = (
                datetime.strptime(row[name], "%d.%m.%Y") for name in ("Geburtsdatum", "Aufnahmedatum")
            )
            assert born <= admitted


def test_some_cells_are_missing_and_costs_have_decimal_commas(rows):
    gaps = sum(row["Hauptdiagnose"] == "" for row in rows)
    assert 0 < gaps < N // 20
    costs = [row["Kosten"] for row in rows if row["Kosten"]]
    assert sum("," in own for own in costs) > 0.9 * len(costs)
    assert not any("." in own for own in costs)


def test_its_dialect_is_found():
    proposal = propose_dialect(csv_of_patients(N))
    dialect = proposal.dialect
    assert (dialect.delimiter, dialect.encoding, dialect.header) == (";", "latin-1", True)
    assert proposal.columns == COLUMNS


def test_a_table_without_two_records_is_refused():
    with pytest.raises(InvalidInput) as caught:
        csv_of_patients(1)
    assert caught.value.faults[0].pointer == "/n_patients"
