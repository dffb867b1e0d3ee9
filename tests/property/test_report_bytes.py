"""A report is believed byte by byte: whatever is changed, anywhere, it is refused."""

from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64encode
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.evidence.canonical import canonical_json
from app.evidence.faults import EvidenceError
from app.evidence.keys import keys_bytes, read_keys
from app.evidence.verification import verify
from tests.oracles.effort import examples
from tests.unit.reports.documents import KEY, signed, statement

REPORT = signed(statement("assessment"))
KEYS = {KEY.id: KEY}


def is_believed(report: bytes) -> bool:
    try:
        verify(report, KEYS)
    except EvidenceError:
        return False
    return True


def test_the_report_itself_is_believed():
    assert is_believed(REPORT)


@pytest.mark.deep
@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80])
def test_flipping_any_byte_is_noticed(flip):
    """Every position in turn; 0x20 also turns letters of base64 and of names into the other case."""
    believed = [
        place
        for place in range(len(REPORT))
        if is_believed(REPORT[:place] + bytes([REPORT[place] ^ flip]) + REPORT[place + 1 :])
    ]
    assert believed == []


@pytest.mark.deep
def test_no_byte_can_be_exchanged_for_any_other():
    for place in range(len(REPORT)):
        for other in range(256):
            changed = REPORT[:place] + bytes([other]) + REPORT[place + 1 :]
            assert changed == REPORT or not is_believed(changed), (place, other)


@settings(max_examples=examples(300))
@given(
    st.integers(0, len(REPORT)),
    st.integers(0, 12),
    st.one_of(
        st.binary(max_size=12), st.sampled_from([b" ", b"\n", b"=", b"==", b"A", b",", b"}", b"\\u0041"])
    ),
)
def test_no_part_can_be_cut_out_put_in_or_exchanged(place, length, put_in):
    changed = REPORT[:place] + put_in + REPORT[place + length :]
    assert changed == REPORT or not is_believed(changed)


def edited(**members):
    return canonical_json(json.loads(REPORT) | members)


def signature(**members):
    (own,) = json.loads(REPORT)["signatures"]
    return own | members


PAYLOAD = json.loads(REPORT)["payload"]
SIG = signature()["sig"]
LAID_OUT_ANEW = {
    "with spaces": json.dumps(json.loads(REPORT)).encode(),
    "indented": json.dumps(json.loads(REPORT), indent=1, sort_keys=True).encode(),
    "members in another order": json.dumps(
        dict(reversed(json.loads(REPORT).items())), separators=(",", ":")
    ).encode(),
    "with a newline": REPORT + b"\n",
    "with a byte order mark": b"\xef\xbb\xbf" + REPORT,
    "with escaped letters": REPORT.replace(b"payloadType", b"payload\\u0054ype"),
    "with a repeated member": REPORT[:-1] + b',"payload":"' + PAYLOAD.encode() + b'"}',
    "with a further member": edited(more=1),
    "with two signatures": edited(signatures=[signature(), signature()]),
    "without signatures": edited(signatures=[]),
    "with a further member of the signature": edited(signatures=[signature(cert="x")]),
    "without the key's id": edited(signatures=[{"sig": SIG}]),
    "with the key's id in capitals": edited(signatures=[signature(keyid=KEY.id.upper())]),
    "with the key's id empty": edited(signatures=[signature(keyid="")]),
    "base64 without padding": edited(signatures=[signature(sig=SIG.rstrip("="))]),
    "base64 for addresses": edited(payload=urlsafe_b64encode(b64decode(PAYLOAD) + b"\xfb\xff").decode()),
    "base64 with a line break": edited(payload=PAYLOAD[:76] + "\n" + PAYLOAD[76:]),
    "base64 with stray bits": edited(signatures=[signature(sig=SIG[:-3] + chr(ord(SIG[-3]) + 1) + "==")]),
    "a list": b"[" + REPORT + b"]",
    "nothing": b"",
    "deeply nested": b"[" * 100_000,
    "a huge number": b"9" * 10_000,
    "no text": bytes(range(256)),
}  # fmt: skip


@pytest.mark.parametrize("changed", LAID_OUT_ANEW.values(), ids=LAID_OUT_ANEW)
def test_no_other_form_of_the_same_report_is_believed(changed):
    assert changed != REPORT
    assert not is_believed(changed)


@settings(max_examples=examples(100))
@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=4),
    max_leaves=20,
))  # fmt: skip
def test_canonical_json_reads_back_and_is_the_only_form(value):
    written = canonical_json(value)
    read = json.loads(written)
    assert read == value
    assert canonical_json(read) == written


MARKED = keys_bytes([replace(KEY, proves_origin=False)])


@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80])
def test_no_flipped_byte_makes_a_key_that_came_along_prove_an_origin(flip):
    """Only leaving the whole mark out would; therefore keys beside a report never prove one."""
    proving = []
    for place in range(len(MARKED)):
        changed = MARKED[:place] + bytes([MARKED[place] ^ flip]) + MARKED[place + 1 :]
        with suppress(EvidenceError):
            if verify(REPORT, read_keys(changed)).proves_origin:
                proving.append(place)
    assert proving == []


@pytest.mark.deep
def test_flipping_any_byte_of_a_report_with_later_members_is_noticed():
    report = signed(
        statement("assessment", signed_by="temporary", asked_by={"kind": "pipeline", "said": "x"}, files=[])
    )
    assert is_believed(report)
    assert not verify(report, KEYS).proves_origin
    believed = [
        place
        for place in range(len(report))
        if is_believed(report[:place] + bytes([report[place] ^ 1]) + report[place + 1 :])
    ]
    assert believed == []
