"""Reports as implementations verify them that share no code with this one."""

from __future__ import annotations

import base64
import json

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from app.evidence.canonical import canonical_json
from app.evidence.envelope import PAYLOAD_TYPE, pre_authentication_encoding
from tests.unit.reports.documents import KEY, OTHER_KEY, signed, statement, withdrawn_report


def key_of(key, keyid=KEY.id):
    return SSlibKey(keyid, "ed25519", "ed25519", {"public": key.raw.hex()})


def envelope_of(report, **instead):
    return Envelope.from_dict({**json.loads(report), **instead})


def test_securesystemslib_verifies_a_report_and_reads_its_statement():
    envelope = envelope_of(signed())
    assert envelope.verify([key_of(KEY)], 1).keys() == {KEY.id}
    assert envelope.payload_type == PAYLOAD_TYPE
    assert envelope.payload == statement().to_bytes()
    assert envelope.pae() == pre_authentication_encoding(PAYLOAD_TYPE, envelope.payload)


def test_securesystemslib_verifies_a_withdrawn_report_and_its_withdrawal():
    report = withdrawn_report()
    for content in (report, json.dumps(json.loads(report)["withdrawal"])):
        assert envelope_of(content).verify([key_of(KEY)], 1).keys() == {KEY.id}


def test_securesystemslib_refuses_another_key_type_or_content():
    with pytest.raises(VerificationError):
        envelope_of(signed()).verify([key_of(OTHER_KEY)], 1)
    with pytest.raises(VerificationError):
        envelope_of(signed(), payloadType="text/plain").verify([key_of(KEY)], 1)
    content = bytearray(statement().to_bytes())
    for place in range(0, len(content), 97):
        changed = bytes(content[:place]) + bytes([content[place] ^ 1]) + bytes(content[place + 1 :])
        with pytest.raises(VerificationError):
            envelope_of(signed(), payload=base64.b64encode(changed).decode()).verify([key_of(KEY)], 1)


def test_the_bytes_of_an_envelope_are_those_of_rfc_8785():
    for report in (signed(), withdrawn_report()):
        assert rfc8785.dumps(json.loads(report)) == report


TEXTS = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]))
"""Without signs beyond the Basic Multilingual Plane, by which RFC 8785 sorts members otherwise."""

EXACT = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text()
REALS = st.floats(1e-4, 1e15).filter(lambda own: not own.is_integer())
"""Real numbers that both write alike; of others the form is our own, as the module says."""


@given(
    st.recursive(
        EXACT | REALS | REALS.map(lambda own: -own),
        lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
        max_leaves=20,
    )
)
@example({"\u20ac": "Euro", "\r": "CR", "\ufb33": "Hebrew", "1": "One", "\u0080": "Control", "\u00f6": "o"})
def test_canonical_json_is_that_of_rfc_8785(value):
    assert canonical_json(value) == rfc8785.dumps(value)


def test_numbers_are_written_in_a_form_of_their_own_only_where_that_is_said():
    assert (canonical_json(1.0), rfc8785.dumps(1.0)) == (b"1.0", b"1")
    assert canonical_json(2**60) == b"1152921504606846976"
    with pytest.raises(rfc8785.IntegerDomainError):
        rfc8785.dumps(2**60)
