"""Generated columns of one kind of direct identifier each, and columns that only look like one.

Names, numbers and addresses come from elsewhere than the recogniser's own rules: Faker's generators of
numbers, check digits computed here, names of a census and of Nobel laureates, area codes of public plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import numpy as np
from faker import Faker

CELLS = 150
MORE_CELLS = {"surnames": 450}
"""Many of the census are rare and in no list: a column of these alone needs more of them."""
Make = Callable[[], str]


@dataclass(frozen=True)
class Column:
    """Cells that are all of one kind, or all of none."""

    name: str
    kind: str | None
    cells: tuple[str, ...]


def columns() -> Iterator[Column]:
    """All columns, the same each time."""
    RANDOM.bit_generator.state = _START
    for name, kind, make in [*_of_a_kind(), *_look_alikes()]:
        yield Column(name, kind, tuple(make() for _ in range(MORE_CELLS.get(name, CELLS))))


RANDOM = np.random.default_rng(20_240_601)
_START = RANDOM.bit_generator.state


def _faker(locale: str) -> Faker:
    fake = Faker(locale)
    fake.seed_instance(7)
    return fake


def digits(number: int) -> str:
    return "".join(map(str, RANDOM.integers(0, 10, number)))


def pick(*texts: str) -> str:
    return texts[int(RANDOM.integers(len(texts)))]


def between(least: int, most: int) -> int:
    return int(RANDOM.integers(least, most + 1))


def weighted(text: str, weights: tuple[int, ...], modulus: int) -> int:
    return sum(int(digit) * weight for digit, weight in zip(text, weights, strict=True)) % modulus


def luhn(text: str) -> str:
    """The digit that makes the text pass Luhn's check."""
    doubled = [2 * int(digit) if place % 2 == 0 else int(digit) for place, digit in enumerate(reversed(text))]
    return str(-sum(number // 10 + number % 10 for number in doubled) % 10)


def polish_tax_number() -> str:
    while True:
        body = str(between(1, 9)) + digits(8)
        check = weighted(body, (6, 5, 7, 2, 3, 4, 5, 6, 7), 11)
        if check < 10:
            return f"{body}{check}"


def portuguese_tax_number() -> str:
    body = pick("1", "2", "5") + digits(7)
    check = -weighted(body, (9, 8, 7, 6, 5, 4, 3, 2), 11) % 11
    return body + str(check % 10)


def italian_tax_number() -> str:
    body = f"{between(1, 9_999_999):07d}{between(1, 95):03d}"
    return body + luhn(body)


def british_health_number() -> str:
    while True:
        body = pick("4", "6", "7") + digits(8)
        check = -weighted(body, (10, 9, 8, 7, 6, 5, 4, 3, 2), 11) % 11
        if check < 10:
            return f"{body[:3]} {body[3:6]} {body[6:]}{check}"


def american_telephone() -> tuple[str, str, str]:
    area = pick("212", "415", "617", "303", "206", "512", "713", "404", "305", "202", "808", "907")
    exchange = f"{between(2, 9)}{between(2, 9)}{between(2, 9)}"
    return area, exchange, digits(4)


def american(form: str) -> Make:
    def make() -> str:
        area, exchange, line = american_telephone()
        return form.format(area, exchange, line)

    return make


def german_telephone() -> str:
    area = pick("030", "089", "040", "0221", "0341", "0711", "0611", "0351", "0911", "0421")
    return f"{area} {between(2, 8)}{digits(6)}"


def british_telephone() -> str:
    area = pick("020 7", "0121 4", "0161 2", "0113 2", "0131 5", "0117 9", "0114 2")
    return f"{area}{digits(2)} {digits(4)}" if area != "020 7" else f"{area}{digits(3)} {digits(4)}"


def address_v4() -> str:
    return ".".join(map(str, RANDOM.integers(1, 255, 4)))


_NAMES = (Path(__file__).parent / "census_names.txt").read_text(encoding="utf-8").splitlines()
FIRST, LAST = (_NAMES[1].split()[1:], _NAMES[2].split()[1:])
LAUREATES = tuple(
    """Svetlana Alexievich;Kenzaburō Ōe;Wisława Szymborska;Gabriel García Márquez;Orhan Pamuk;Naguib Mahfouz;
    Rabindranath Tagore;Wole Soyinka;Selma Lagerlöf;Günter Grass;Heinrich Böll;José Saramago;Dario Fo;
    Imre Kertész;Herta Müller;Mario Vargas Llosa;Tomas Tranströmer;Olga Tokarczuk;Peter Handke;Jon Fosse;
    Annie Ernaux;Patrick Modiano;Louise Glück;Toni Morrison;Nadine Gordimer;Pablo Neruda;Octavio Paz;
    Marie Curie;Max Planck;Werner Heisenberg;Niels Bohr;Enrico Fermi;Lise Meitner;Abdus Salam;Hideki Yukawa;
    Ahmed Zewail;Tawakkol Karman;Shirin Ebadi;Malala Yousafzai;Wangari Maathai;Ellen Johnson Sirleaf;
    Leymah Gbowee;Nelson Mandela;Kofi Annan;Rigoberta Menchú;Lech Wałęsa;Andrei Sakharov;Mikhail Gorbachev;
    Boris Pasternak;Ivan Bunin;Joseph Brodsky;Ivo Andrić;Halldór Laxness;Sigrid Undset;Knut Hamsun;
    Frans Eemil Sillanpää;
    Albert Camus;Jean-Paul Sartre;François Mauriac;Hermann Hesse;Thomas Mann;
    Nelly Sachs;Elias Canetti;Shmuel Agnon;Jaroslav Seifert;Czesław Miłosz;Doris Lessing;Harold Pinter;
    Seamus Heaney;
    Derek Walcott;Camilo José Cela;Vicente Aleixandre;Miguel Ángel Asturias;Juan Ramón Jiménez;
    Gabriela Mistral;Denis Mukwege;Nadia Murad;Ales Bialiatski;Narges Mohammadi;Katalin Karikó;
    Emmanuelle Charpentier""".replace("\n    ", "").split(";")
)


def last() -> str:
    return pick(*LAST)


def first() -> str:
    return pick(*FIRST)


def _of_a_kind() -> Iterator[tuple[str, str, Make]]:
    fake = {locale: _faker(locale) for locale in _LOCALES}
    yield from _patterns(fake)
    yield from _numbers_with_checks(fake)
    yield from _telephones(fake)
    yield from _texts(fake["en_US"])
    for locale in _ADDRESSES:
        yield f"addresses {locale}", "postal_address", _with_number(fake[locale].street_address)
    yield (
        "addresses with town",
        "postal_address",
        lambda: f"{fake['de_DE'].street_address()}, {digits(5)} {pick('Berlin', 'Bonn', 'Ulm')}",
    )


def _patterns(fake: dict[str, Faker]) -> Iterator[tuple[str, str, Make]]:
    english = fake["en_US"]
    yield "addresses of persons", "email", english.email
    yield (
        "addresses in brackets",
        "email",
        lambda: f"{first()} {last()} <{last().lower()}@mail.example.co.uk>",
    )
    yield "addresses with plus", "email", lambda: f"{last().lower()}+{digits(2)}@{pick('a', 'b')}-clinic.de"
    yield "accounts in Germany", "iban", fake["de_DE"].iban
    yield "accounts with blanks", "iban", lambda: _in_fours(fake["en_GB"].iban())
    yield "accounts with dashes", "iban", lambda: _in_fours(fake["de_DE"].iban()).replace(" ", "-")
    yield "accounts in France", "iban", fake["fr_FR"].iban
    yield "web addresses", "url", english.uri
    yield "profiles", "url", lambda: f"www.network.example/people/{last().lower()}-{digits(3)}"
    yield "addresses of version 4", "ip_address", address_v4
    yield "addresses at home", "ip_address", lambda: f"192.168.{between(0, 3)}.{between(1, 254)}"
    yield "addresses of version 6", "ip_address", english.ipv6
    yield "cards of networks", "mac_address", english.mac_address
    yield "cards with hyphens", "mac_address", lambda: english.mac_address().upper().replace(":", "-")
    yield "cards without separators", "mac_address", lambda: english.mac_address().replace(":", "")
    yield "latitude; longitude", "coordinates", lambda: f"{comma(90)}; {comma(180)}"
    yield "latitude, longitude", "coordinates", lambda: f"{degree(90, 5)}, {degree(180, 5)}"
    yield "points", "coordinates", lambda: f"POINT({degree(180, 4)} {degree(90, 4)})"
    yield "degrees", "coordinates", lambda: f"{angle(89)}N {angle(179)}E"


def _numbers_with_checks(fake: dict[str, Faker]) -> Iterator[tuple[str, str, Make]]:
    yield "payment cards", "payment_card", lambda: _with_luhn(pick("4", "51", "55"), 16)
    yield "cards in fours", "payment_card", lambda: _in_fours(_with_luhn(pick("4", "53", "6011"), 16))
    yield "cards with dots", "payment_card", lambda: _in_fours(_with_luhn("4", 16)).replace(" ", ".")
    for locale, name in _NATIONAL:
        yield f"national numbers {locale}", "national_number", getattr(fake[locale], name)
    yield "British health numbers", "national_number", british_health_number
    yield "social security numbers", "national_number", social_security_number
    yield "Polish tax numbers", "tax_number", polish_tax_number
    yield "Portuguese tax numbers", "tax_number", portuguese_tax_number
    yield "Italian tax numbers", "tax_number", italian_tax_number
    yield "Brazilian tax numbers", "tax_number", fake["pt_BR"].cnpj
    yield "German value-added tax numbers", "tax_number", fake["de_DE"].vat_id


def _telephones(fake: dict[str, Faker]) -> Iterator[tuple[str, str, Make]]:
    yield "telephones in America", "telephone", american("({}) {}-{}")
    yield "telephones with dots", "telephone", american("{}.{}.{}")
    yield "telephones with hyphens", "telephone", american("{}-{}-{}")
    yield "telephones in digits", "telephone", american("{}{}{}")
    yield "telephones abroad", "telephone", american("+1 {} {} {}")
    yield "telephones in Germany", "telephone", german_telephone
    yield "telephones in Britain", "telephone", british_telephone
    yield "telephones dialled abroad", "telephone", lambda: f"0049 {german_telephone()[1:]}"
    yield (
        "telephones with a word",
        "telephone",
        lambda: f"{pick('Tel.', 'Tel:', 'phone')} {german_telephone()}",
    )
    for locale in ("fr_FR", "it_IT", "es_ES", "pl_PL"):
        yield f"telephones {locale}", "telephone", fake[locale].phone_number


def _texts(english: Faker) -> Iterator[tuple[str, str, Make]]:
    yield "surnames", "personal_name", last
    yield "first names", "personal_name", first
    yield "full names", "personal_name", lambda: f"{first()} {last()}"
    yield "names with initial", "personal_name", lambda: f"{last().upper()}, {first()} {pick(*'ABCDEFGH')}."
    yield "names with semicolon", "personal_name", lambda: f"{last()};{first()}"
    yield "names with title", "personal_name", lambda: f"Dr. {first()} {last()}"
    yield "laureates", "personal_name", lambda: pick(*LAUREATES)
    yield "remarks", "free_text", lambda: english.paragraph(3, variable_nb_sentences=False)
    yield "remarks in German", "free_text", german_remark


_NATIONAL = (
    ("sv_SE", "ssn"), ("pl_PL", "ssn"), ("it_IT", "ssn"), ("fr_FR", "ssn"), ("fi_FI", "ssn"),
    ("no_NO", "ssn"), ("nl_NL", "ssn"), ("pt_BR", "cpf"), ("ro_RO", "ssn"), ("et_EE", "ssn"),
    ("en_CA", "ssn"), ("es_ES", "nif"), ("hr_HR", "ssn"), ("th_TH", "ssn"), ("tr_TR", "ssn"),
)  # fmt: skip
_ADDRESSES = ("en_US", "de_DE", "fr_FR", "it_IT", "es_ES", "pl_PL", "nl_NL", "pt_BR")
_LOCALES = {
    *_ADDRESSES,
    "en_US",
    "en_GB",
    "de_DE",
    "fr_FR",
    "it_IT",
    "es_ES",
    "pl_PL",
    "pt_BR",
    *(own for own, _ in _NATIONAL),
}


def angle(limit: int) -> str:
    return f"{between(0, limit)}°{between(0, 59)}'{between(0, 59)}\""


def degree(limit: float, places: int) -> str:
    return f"{RANDOM.uniform(-limit, limit):.{places}f}"


def _with_number(make: Make) -> Make:
    """Some of the generator's addresses are streets alone."""
    return lambda: next(own for own in iter(make, None) if any(map(str.isdecimal, own)))


def comma(limit: float) -> str:
    return degree(limit, 5).replace(".", ",")


def social_security_number() -> str:
    return f"{between(100, 665)}-{between(1, 99):02d}-{between(1, 9999):04d}"


def german_remark() -> str:
    what = pick("Husten", "Fieber", "Schmerzen")
    return f"Patientin klagt seit {digits(2)} Tagen über {what} und wohnt bei {first()} {last()}."


def _in_fours(text: str) -> str:
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def _with_luhn(start: str, length: int) -> str:
    body = start + digits(length - 1 - len(start))
    return body + luhn(body)


def _look_alikes() -> Iterator[tuple[str, None, Make]]:
    for name, make in _numbers() + _dates_and_amounts() + _codes() + _words():
        yield name, None, make


def _numbers() -> list[tuple[str, Make]]:
    following = iter(range(1_000, 10**6))
    return [
        *(
            (f"order numbers of {size} digits", lambda size=size: str(between(1, 9)) + digits(size - 1))
            for size in range(6, 17)
        ),
        ("order numbers with zeros", lambda: f"00{digits(10)}"),
        ("order numbers with zeros in threes", lambda: f"00 {digits(3)} {digits(3)} {digits(3)}"),
        ("order numbers with zero", lambda: "0" + digits(9)),
        ("running numbers", lambda: f"1000{next(following):06d}"),
        ("running numbers of a year", lambda: f"2024{next(following):06d}"),
        ("numbers of a year", lambda: f"2024-{digits(6)}"),
        ("orders", lambda: f"ORD-{digits(8)}"),
        ("invoices", lambda: f"INV{digits(4)}/{digits(3)}"),
        ("parts", lambda: f"{digits(3)}-{digits(4)}"),
        ("parts in threes", lambda: f"{digits(3)}-{digits(3)}-{digits(4)}"),
        ("parts in fours", lambda: f"{digits(4)} {digits(4)} {digits(4)} {digits(4)}"),
        ("zip codes with four", lambda: f"{digits(5)}-{digits(4)}"),
        ("postcodes", lambda: digits(5)),
    ]


def _dates_and_amounts() -> list[tuple[str, Make]]:
    def date(form: str) -> str:
        return form.format(y=between(1930, 2023), m=between(1, 12), d=between(1, 28))

    return [
        ("dates", lambda: date("{y}-{m:02d}-{d:02d}")),
        ("dates with dots", lambda: date("{d:02d}.{m:02d}.{y}")),
        ("dates with slashes", lambda: date("{m:02d}/{d:02d}/{y}")),
        ("dates in digits", lambda: date("{y}{m:02d}{d:02d}")),
        ("times", lambda: f"{between(0, 23):02d}:{between(0, 59):02d}:{between(0, 59):02d}"),
        ("moments", lambda: date("{y}{m:02d}{d:02d}") + f"{between(0, 23):02d}{between(0, 59):02d}00"),
        ("seconds since 1970", lambda: str(between(1_400_000_000, 1_750_000_000))),
        ("prices", lambda: f"{RANDOM.uniform(1, 10_000):.2f}"),
        ("prices with commas", lambda: f"{between(1_000, 9_000_000):,}"),
        ("prices with dots", lambda: f"{between(1_000, 9_000_000):,}".replace(",", ".")),
        ("prices with blanks", lambda: f"{between(10**6, 10**9):,}".replace(",", " ")),
        ("prices in dollars", lambda: f"${RANDOM.uniform(1, 10_000):.2f}"),
        ("two prices", lambda: f"{RANDOM.uniform(1, 90):.3f}, {RANDOM.uniform(1, 90):.3f}"),
        ("quantities", lambda: f"{between(1, 500)} mg"),
        ("measurements", lambda: f"{RANDOM.normal():.6f}"),
        ("ages", lambda: str(between(0, 99))),
    ]


def _codes() -> list[tuple[str, Make]]:
    return [
        ("versions of four parts", lambda: ".".join(map(str, RANDOM.integers(0, 20, 4)))),
        ("versions of three parts", lambda: ".".join(map(str, RANDOM.integers(0, 200, 3)))),
        ("versions of browsers", lambda: f"{between(80, 130)}.0.{between(3000, 7000)}.{between(0, 250)}"),
        ("UUIDs", lambda: str(UUID(bytes=RANDOM.bytes(16)))),
        ("hashes", lambda: RANDOM.bytes(16).hex()),
        ("bytes in hexadecimal", lambda: RANDOM.bytes(6).hex()),
        ("books", lambda: _book()),
        ("articles", lambda: _article()),
        ("devices", lambda: (lambda body: body + luhn(body))("35" + digits(12))),
        ("diagnosis codes", lambda: f"{pick(*'ABCEFGIJKM')}{digits(2)}.{digits(1)}"),
        ("number plates", lambda: f"{pick('B', 'HH', 'M')}-{pick(*'ABCD')}{pick(*'EFGH')} {digits(4)}"),
    ]


def _book() -> str:
    body = digits(9)
    check = -weighted(body, (10, 9, 8, 7, 6, 5, 4, 3, 2), 11) % 11
    return body + ("X" if check == 10 else str(check))


def _article() -> str:
    body = "40" + digits(10)
    return body + str(-weighted(body, (1, 3) * 6, 10) % 10)


def _words() -> list[tuple[str, Make]]:
    english, german = _faker("en_US"), _faker("de_DE")
    poland, philippines = _faker("pl_PL"), _faker("en_PH")
    diseases = [
        f"{how} {what} of the {where}"
        for how in ("acute", "chronic", "recurrent", "malignant")
        for what in ("inflammation", "neoplasm", "injury")
        for where in ("left lung", "right kidney", "liver", "heart", "upper jaw")
    ]
    return [
        ("cities in Poland", poland.city),
        ("towns of the Philippines", lambda: philippines.province_lgu()),
        ("countries", english.country),
        ("states", english.state),
        ("trades", english.job),
        ("trades in German", german.job),
        ("months", english.month_name),
        ("colours", english.color_name),
        ("words", english.word),
        ("businesses", english.company),
        ("rooms", lambda: f"{pick('Room', 'Ward', 'Floor', 'Bed', 'Gate')} {between(1, 300)}"),
        ("addresses of nobody", lambda: f"{pick('Chapter', 'Figure', 'Route', 'Platform')} {digits(2)}"),
        ("streets", lambda: german.street_name()),
        ("diagnoses", lambda: pick(*diseases[:40])),
        ("sexes", lambda: pick("male", "female")),
        ("currencies", english.currency_code),
        ("files", english.file_name),
    ]
