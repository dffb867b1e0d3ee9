"""Identifiers that are what they are by rules of their own, made by these rules."""

from __future__ import annotations

import ipaddress

from hypothesis import strategies as st

CERTAIN = ("email", "iban", "url", "ip_address", "mac_address")
"""Kinds that one text shows to be such, whatever others a column has."""


def iban(country, account):
    """With its check digits: the number with the country behind it is 1 modulo 97."""
    as_number = int("".join(str(int(sign, 36)) for sign in f"{account}{country}00"))
    return f"{country}{98 - as_number % 97:02}{account}"


@st.composite
def texts(draw):
    """(text, kind) of an identifier by rules of its own, of one that breaks these, or of a word."""
    number = draw(st.integers(10**17, 10**18 - 1))
    octets = ".".join(str(number // 256**i % 192 + 64) for i in range(4))
    mac = "-".join(f"{number // 256**i % 256:02x}" for i in range(6))
    v6 = str(ipaddress.IPv6Address(number * 2**60 + 2**125))
    german = iban("DE", number)
    wrong = german[:2] + f"{(int(german[2:4]) + 1) % 97 + 1:02}" + german[4:]
    return draw(
        st.sampled_from(
            [
                (f"u{number}@example.org", "email"),
                (german, "iban"),
                (f"https://example.org/{number}", "url"),
                (octets, "ip_address"),
                (v6, "ip_address"),
                (mac, "mac_address"),
                (f"u{number}@example", None),
                (wrong, None),
                (f"example/{number}", None),
                (f"{mac}-0", None),
                *[(f"ward {number % 7}", None)] * 10,
            ]
        )
    )
