"""Dates and numbers as tables write them, read against what Python writes itself."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.hierarchies.cell_formats import DATE_FORMATS, CellFormat, is_date, is_number, read_cell

WRITTEN = {"hh:mm:ss": "%H:%M:%S", "yyyy": "%Y", "mm": "%m", "dd": "%d"}


def written(day, format_):
    pattern = format_.value
    for part, sign in WRITTEN.items():
        pattern = pattern.replace(part, sign)
    return day.strftime(pattern)


@given(day=st.dates(min_value=date(1000, 1, 1)), format_=st.sampled_from(DATE_FORMATS))
def test_every_date_is_read_back_from_every_format(day, format_):
    assert read_cell(written(day, format_), format_) == day.isoformat()
    assert is_date(read_cell(written(day, format_), format_))


GROUPS = {
    CellFormat.POINT: ("", "."),
    CellFormat.COMMA: ("", ","),
    CellFormat.DOTS_AND_COMMA: (".", ","),
    CellFormat.COMMAS_AND_POINT: (",", "."),
    CellFormat.APOSTROPHES_AND_POINT: ("'", "."),
    CellFormat.BLANKS_AND_COMMA: ("\u202f", ","),
}


@given(
    number=st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=3),
    format_=st.sampled_from(tuple(GROUPS)),
    has_groups=st.booleans(),
)
def test_every_number_is_read_back_as_one_text_for_its_value(number, format_, has_groups):
    thousands, decimal = GROUPS[format_]
    english = f"{number:,.3f}" if has_groups and thousands else f"{number:.3f}"
    local = english.translate({ord(","): thousands, ord("."): decimal})
    read = read_cell(local, format_)
    assert Decimal(read) == number
    assert is_number(read)
    assert read == read_cell(read, CellFormat.POINT)
    assert read == read_cell(f"{number:f}0", CellFormat.POINT)


@pytest.mark.parametrize(
    ("text", "format_", "value"),
    [
        ("1.3.1975", "dd.mm.yyyy", "1975-03-01"),
        ("12/31/1999", "mm/dd/yyyy", "1999-12-31"),
        ("1975-05-10 00:00:00", "yyyy-mm-dd", "1975-05-10"),
        ("1975-05-10T23:59:59.5+02:00", "yyyy-mm-dd", "1975-05-10"),
        ("10.05.1975 14:30", "dd.mm.yyyy", "1975-05-10"),
        ("10.05.1975 14:30", "dd.mm.yyyy hh:mm:ss", "1975-05-10 14:30:00"),
        ("1.5.1975 8:07:30.500", "dd.mm.yyyy hh:mm:ss", "1975-05-01 08:07:30.5"),
        ("1975-05-10T08:07:00.000000001+0200", "yyyy-mm-dd hh:mm:ss", "1975-05-10 08:07:00.000000001+02:00"),
        ("1975-05-10T08:07:00+00:00", "yyyy-mm-dd hh:mm:ss", "1975-05-10 08:07:00Z"),
        ("1975-05-10 00:00:00.000", "yyyy-mm-dd hh:mm:ss", "1975-05-10"),
        ("1975-05-10 00:00:00Z", "yyyy-mm-dd hh:mm:ss", "1975-05-10 00:00:00Z"),
        ("1975-05-10 24:00", "yyyy-mm-dd hh:mm:ss", None),
        ("1975-05-10 08:07:61", "yyyy-mm-dd hh:mm:ss", None),
        ("17100.0", "1234.56", "17100"),
        ("17100", "1234.56", "17100"),
        ("1e3", "1234.56", "1000"),
        ("1.50e-300", "1234.56", "15e-301"),
        ("9" + 80 * "0", "1234.56", "9e80"),
        ("0e999", "1234.56", "0"),
        ("-0,0", "1234,56", "0"),
        ("17100,00", "1234,56", "17100"),
        ("17.100,00", "1.234,56", "17100"),
        ("17100,5", "1.234,56", "17100.5"),
        ("1’234’567.25", "1'234.56", "1234567.25"),
    ],
)
def test_one_value_has_one_text(text, format_, value):
    assert read_cell(text, CellFormat(format_)) == value


@given(
    moments=st.lists(
        st.datetimes(
            datetime(1000, 1, 1), timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=2))])
        ),
        min_size=2,
        unique_by=datetime.isoformat,
    )
)
def test_a_format_that_keeps_the_time_merges_no_two_moments(moments):
    read = {read_cell(own.isoformat(), CellFormat.ISO_TIME) for own in moments}
    assert len(read) == len(moments)
    assert {own[:10] for own in read} == {str(own.date()) for own in moments}


@given(coefficient=st.integers(-(10**9), 10**9), exponent=st.integers(-900, 900))
def test_a_short_cell_stays_short_and_exact(coefficient, exponent):
    text = f"{coefficient}e{exponent}"
    read = read_cell(text, CellFormat.POINT)
    assert Decimal(read) == Decimal(text)
    assert len(read) < 80
    assert is_number(read)
    assert read == read_cell(f"{coefficient}0e{exponent - 1}", CellFormat.POINT)


@pytest.mark.parametrize(
    ("text", "format_"),
    [
        ("31.02.1975", "dd.mm.yyyy"),
        ("1975-05-10", "dd.mm.yyyy"),
        ("10.05.75", "dd.mm.yyyy"),
        ("31/12/1999", "mm/dd/yyyy"),
        ("19751301", "yyyymmdd"),
        ("unknown", "yyyy-mm-dd"),
        ("1.5", "1234,56"),
        ("1.5", "1.234,56"),
        ("12.34,5", "1.234,56"),
        ("1,5", "1,234.56"),
        ("1,234", "1234.56"),
        ("١٢", "1234,56"),
        ("", "1234,56"),
    ],
)
def test_what_is_written_otherwise_is_not_read(text, format_):
    assert read_cell(text, CellFormat(format_)) is None


@pytest.mark.parametrize(
    ("text", "format_", "number"),
    [
        ("$1,234.50", "$1,234.56", "1234.5"),
        ("-$5.00", "$1,234.56", "-5"),
        ("$-5", "$1,234.56", "-5"),
        ("-$-5", "$1,234.56", None),
        ("1,200", "$1,234.56", "1200"),
        ("€5", "$1,234.56", None),
        ("1.234,50 €", "1.234,56 €", "1234.5"),
        ("1.234\u00a0€", "1.234,56 €", "1234"),
        ("€ 1.234,5", "€1.234,56", "1234.5"),
        ("£12", "£1,234.56", "12"),
        ("1 234 €", "1 234,56 €", "1234"),
    ],
)
def test_an_amount_has_the_sign_of_its_currency_or_none(text, format_, number):
    assert read_cell(text, CellFormat(format_)) == number
