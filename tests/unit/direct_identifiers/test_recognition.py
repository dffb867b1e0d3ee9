"""What `recognised_kinds` promises of any column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stdnum import luhn

from app.domain.direct_identifiers.recognition import RECOGNISERS, RecognisedKind, recognised_kinds
from app.domain.direct_identifiers.sample import COMMON, LOOKED_AT, chance_of_at_least, sample_of

KINDS = [recogniser.kind for recogniser in RECOGNISERS]

texts = st.one_of(
    st.text(max_size=40),
    st.from_regex(r"[+(]?[0-9][0-9 ()./@:-]{3,20}", fullmatch=True),
    st.sampled_from(
        ["a@b.example", "1.2.3.4", "::1", "DE89370400440532013000", "\ud800", "", " ", "Ada Lovelace"]
    ),
)


def found_in(cells: Iterable[str]) -> tuple[RecognisedKind, ...]:
    counts = Counter(cells)
    return recognised_kinds(list(counts), np.array(list(counts.values()), dtype=np.int64))


@settings(max_examples=40, deadline=None)
@given(cells=st.lists(texts, max_size=12), seed=st.randoms(use_true_random=False))
def test_any_text_is_answered_in_the_same_way_whatever_its_place(cells, seed):
    found = found_in(cells)
    assert all(0 < own.share <= 1 for own in found)
    assert [own.kind for own in found] == [kind for kind in KINDS if kind in {own.kind for own in found}]
    seed.shuffle(cells)
    assert found_in(cells) == found


def test_an_empty_column_is_of_no_kind():
    assert found_in([]) == ()


def test_shares_are_of_cells_not_of_distinct_texts():
    (found,) = found_in(["ada@example.org"] * 3 + ["4711"])
    assert (found.kind, found.share, found.is_direct_identifier) == ("email", 0.75, True)


def test_a_stray_address_among_many_cells_does_not_make_the_column():
    (found,) = [own for own in found_in(["ada@example.org", *["green"] * 199]) if own.kind == "email"]
    assert (found.share, found.is_direct_identifier) == (0.005, False)


def test_a_large_column_is_judged_by_its_common_texts_and_a_choice_of_the_others():
    values = [f"{n}@example.org" for n in range(2 * LOOKED_AT)] + ["unknown"]
    counts = np.array([1] * 2 * LOOKED_AT + [2 * LOOKED_AT], dtype=np.int64)
    sample = sample_of(values, counts)
    assert len(sample.texts) == LOOKED_AT
    assert "unknown" in sample.texts
    assert sample.weights.sum() == pytest.approx(1)
    assert recognised_kinds(values, counts)[0].share == pytest.approx(0.5)
    chosen = {int(text.split("@")[0]) for text in sample.texts if "@" in text}
    assert len({number % 11 for number in chosen}) == 11
    assert COMMON < LOOKED_AT


@pytest.mark.parametrize(("passed", "of", "chance"), [(0, 5, 0.1), (3, 5, 0.1), (5, 5, 0.5), (9, 9, 0.1)])
def test_the_tail_of_the_binomial_distribution_is_exact(passed, of, chance):
    outcomes = [tuple(number >> bit & 1 for bit in range(of)) for number in range(2**of)]
    summed = sum(
        chance ** sum(own) * (1 - chance) ** (of - sum(own)) for own in outcomes if sum(own) >= passed
    )
    assert chance_of_at_least(passed, of, chance) == pytest.approx(summed)


@pytest.mark.parametrize("cell", ["ada\u200b@example.org", "ada\uff20example.org", "ada@exam\u00adple.org"])
def test_signs_that_nobody_sees_and_full_width_ones_hide_nothing(cell):
    (found,) = found_in([cell])
    assert (found.kind, found.is_direct_identifier) == ("email", True)


def test_bands_of_numbers_are_no_national_numbers():
    assert not found_in([f"{low}-{low + 9999}" for low in range(10_000, 100_000, 10_000)])


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("0049 30 1234567", "telephone"),
        ("Tel. 030 1234567", "telephone"),
        ("Tel: 1234567", "telephone"),
        ("phone 212-555-0123", "telephone"),
        ("Telefon-Nr. 030/1234567", "telephone"),
        ("DE89-3704-0044-0532-0130-00", "iban"),
        ("DE89\u00a03704\u20090044\u202f0532\u00a00130\u00a000", "iban"),
        ("52,52000; 13,40500", "coordinates"),
        ("52.520N, 13.405E", "coordinates"),
        ("ada\u2063@exam\u200dple.org", "email"),
        ("+49\u201130\u20111234567", "telephone"),
        ("+\u0664\u0669 \u0663\u0660 1234567", "telephone"),
        ("12 Station Road", "postal_address"),
        ("Hauptstra\u00dfe 12a, 10115 Berlin", "postal_address"),
        ("12 bis rue de la Paix", "postal_address"),
        ("ul. Nowy \u015awiat 15", "postal_address"),
    ],
)
def test_numbers_and_addresses_are_found_however_they_are_written(cell, kind):
    found = found_in([cell, cell + " ", f" {cell}"])
    assert [own.kind for own in found] == [kind]
    assert found[0].share == 1


@pytest.mark.parametrize(
    "cell",
    [
        "12.500, 13.750",
        "0012345678",
        "00 123 456 789",
        "Room 12",
        "Hotel 1234567",
        "Station Road",
        "12 mg",
        "A 7",
    ],
)
def test_look_alikes_of_theirs_are_not_taken_for_them(cell):
    assert found_in([cell]) == ()


def test_cards_with_dots_and_names_with_semicolons_are_found_in_their_columns():
    cards = [f"4000.0000.0000.{1000 + n}" for n in range(600)]
    valid = [card for card in cards if luhn.is_valid(card.replace(".", ""))]
    assert [(own.kind, own.share) for own in found_in(valid)] == [("payment_card", 1)]
    names = [
        f"{last};{first}"
        for last in ("Smith", "Jones", "Taylor")
        for first in ("Mary", "John", "Anna", "Paul")
    ]
    assert [(own.kind, own.share) for own in found_in(names)] == [("personal_name", 1)]


def test_twelve_hexadecimal_digits_are_addresses_only_if_every_first_byte_is_even():
    makers = [f"{2 * n:02x}{17 * n % 256:02x}{31 * n % 256:02x}ab{n:02x}0f" for n in range(1, 60)]
    assert [own.kind for own in found_in(makers)] == ["mac_address"]
    assert found_in(["0" + "1" + makers[0][2:], *makers]) == ()


def test_long_words_are_no_work():
    """Forms with optional blanks between words would try every way of cutting them: 2^55 of them here.

    It takes less than a second, most of which is spent on loading lists of names where it is the first.
    """
    started = process_time()
    assert found_in([f"{'a' * 110}{n}!" for n in range(10, 60)] + ["a " * 55 + "1!"]) == ()
    assert process_time() - started < 20
