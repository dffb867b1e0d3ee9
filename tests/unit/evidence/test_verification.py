"""Signatures, keys and statements: what is believed, and the name of each reason not to."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.evidence.canonical import canonical_json, instant_of, instant_text, sha256_of_bytes
from app.evidence.envelope import (
    PAYLOAD_TYPE,
    Envelope,
    Signer,
    envelope_bytes,
    opened,
    pre_authentication_encoding,
    sealed,
)
from app.evidence.faults import (
    EvidenceError,
    MalformedKeys,
    MalformedReport,
    MalformedStatement,
    OtherReport,
    OutsideKeyValidity,
    UnknownKey,
    WrongPayloadType,
    WrongSignature,
)
from app.evidence.keys import PublicKey, key_id_of, keys_bytes, keys_document, read_keys
from app.evidence.statement import Subject
from app.evidence.verification import check_page, verify
from app.reports.page import render_page
from tests.unit.reports.documents import (
    BEGIN,
    ISSUED,
    KEY,
    OTHER_KEY,
    OTHER_PRIVATE,
    PRIVATE,
    signed,
    statement,
    withdrawn_report,
)

KEYS = {KEY.id: KEY}
MOMENT = timedelta(microseconds=1)


def signed_content(content: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """Any content, rightly signed."""
    signature = PRIVATE.sign(pre_authentication_encoding(payload_type, content))
    report = envelope_bytes(Envelope(content, KEY.id, signature))
    return report.replace(PAYLOAD_TYPE.encode(), payload_type.encode())


def refusal(kind, report, keys=KEYS):
    with pytest.raises(EvidenceError) as caught:
        verify(report, keys)
    assert type(caught.value) is kind, caught.value
    assert caught.value.message
    assert caught.value.remedy
    return caught.value


def test_a_genuine_report_gives_its_statement():
    verified = verify(signed(), KEYS)
    assert verified.statement == statement()
    assert verified.key == KEY
    assert verified.sha256 == sha256_of_bytes(signed())
    assert verified.statement.issued_at == ISSUED


def test_what_is_signed_is_encoded_as_the_protocol_says():
    """The example of DSSE v1."""
    encoded = pre_authentication_encoding("http://example.com/HelloWorld", b"hello world")
    assert encoded == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert pre_authentication_encoding("ä", b"") == b"DSSEv1 2 \xc3\xa4 0 "


def test_signatures_are_those_of_ed25519():
    """RFC 8032, 7.1, test 1: the key's public part and id are what others compute."""
    secret = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    raw = Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
    assert raw.hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert key_id_of(raw) == "21fe31dfa154a261626bf854046fd2271b7bed4b6abe45aa58877ef47f9721b9"


def test_the_statement_is_in_toto():
    document = json.loads(statement().to_bytes())
    assert document["_type"] == "https://in-toto.io/Statement/v1"
    assert document["predicateType"] == "https://privacy-risk.dev/evidence/verdict/v1"
    assert document["subject"][0] == {"name": "dataset/members", "digest": {"sha256": "d" * 64}}


# --- signatures and keys -----------------------------------------------------------------------------------


def test_a_report_of_an_unknown_key_is_refused():
    other = Ed25519PrivateKey.generate()
    key = PublicKey(other.public_key().public_bytes_raw(), BEGIN)
    report = sealed(statement(), Signer(key, other.sign))
    refusal(UnknownKey, report)
    refusal(UnknownKey, signed(), {})
    assert verify(report, {key.id: key})


def test_a_signature_of_another_key_under_a_known_id_is_refused():
    other = Ed25519PrivateKey.generate()
    refusal(WrongSignature, sealed(statement(), Signer(KEY, other.sign)))


def test_other_content_under_the_same_signature_is_refused():
    report = json.loads(signed())
    other = json.loads(signed(statement("assessment")))
    refusal(WrongSignature, canonical_json(report | {"payload": other["payload"]}))


@pytest.mark.parametrize(
    ("begin", "end", "believed"),
    [
        (ISSUED, None, True),
        (ISSUED + MOMENT, None, False),
        (BEGIN, ISSUED, True),
        (BEGIN, ISSUED - MOMENT, False),
    ],
)
def test_a_key_is_believed_from_its_begin_to_its_end(begin, end, believed):
    key = PublicKey(KEY.raw, begin, end)
    if believed:
        assert verify(signed(), {key.id: key})
    else:
        refusal(OutsideKeyValidity, signed(), {key.id: key})


def test_another_type_is_refused_even_if_it_is_rightly_signed():
    refusal(WrongPayloadType, signed_content(statement().to_bytes(), "application/json"))
    refusal(WrongPayloadType, signed_content(statement().to_bytes(), ""))


def test_the_type_is_signed_with_the_content():
    """A signature over the same content under another type is none over this one."""
    content = statement().to_bytes()
    signature = PRIVATE.sign(pre_authentication_encoding("application/json", content))
    refusal(WrongSignature, envelope_bytes(Envelope(content, KEY.id, signature)))


@pytest.mark.parametrize(
    ("proves", "signed_by", "known"),
    [
        (True, "service", True),
        (True, "pipeline", True),
        (True, "temporary", False),
        (False, "service", False),
        (False, "temporary", False),
    ],
)
def test_who_signed_is_known_only_of_a_lasting_key_that_did_not_come_with_the_report(
    proves, signed_by, known
):
    said = changed(predicate=PREDICATE | {"signed_by": signed_by})
    verified = verify(signed_content(said), {KEY.id: replace(KEY, proves_origin=proves)})
    assert verified.proves_origin is known


# --- statements --------------------------------------------------------------------------------------------


def changed(**members):
    return canonical_json(json.loads(statement().to_bytes()) | members)


PREDICATE = statement().predicate
RESULT = PREDICATE["result"]
STATEMENTS = {
    "not JSON": b"hello world",
    "with spaces": json.dumps(json.loads(statement().to_bytes())).encode(),
    "with a repeated member": statement().to_bytes()[:-1] + b',"subject":[]}',
    "with NaN": b'{"x":NaN}',
    "a list": b"[]",
    "of another type": changed(_type="https://in-toto.io/Statement/v0.1"),
    "of another predicate": changed(predicateType="https://slsa.dev/provenance/v1"),
    "of the other predicate": changed(predicateType="https://privacy-risk.dev/evidence/assessment/v1"),
    "with a further member": changed(more=1),
    "without subjects": changed(subject=[]),
    "with subjects by name only": changed(subject=[{"name": "x", "digest": {}}]),
    "with subjects by another hash": changed(subject=[{"name": "x", "digest": {"md5": "0" * 32}}]),
    "with a hash in capitals": changed(subject=[{"name": "x", "digest": {"sha256": "A" * 64}}]),
    "with two subjects alike": changed(subject=[{"name": "x", "digest": {"sha256": "a" * 64}}] * 2),
    "without a predicate": changed(predicate=None),
    "with a further member of the predicate": changed(predicate=PREDICATE | {"more": 1}),
    "of another version": changed(predicate=PREDICATE | {"version": 2}),
    "of a version that is no number": changed(predicate=PREDICATE | {"version": True}),
    "about nothing": changed(predicate=PREDICATE | {"resource": None}),
    "about something without a name": changed(predicate=PREDICATE | {"resource": {"name": 5}}),
    "without a result": changed(predicate=PREDICATE | {"result": []}),
    "of inputs that are none": changed(predicate=PREDICATE | {"inputs": ["dataset"]}),
    "of parameters that are none": changed(predicate=PREDICATE | {"parameters": None}),
    "of another verdict than there are": changed(
        predicate=PREDICATE | {"result": RESULT | {"verdict": "pass\nGenuine: pass"}}
    ),
    "of no policy": changed(predicate=PREDICATE | {"result": RESULT | {"policy": None}}),
    "of a policy without its hash": changed(
        predicate=PREDICATE | {"result": RESULT | {"policy": RESULT["policy"] | {"sha256": "b"}}}
    ),
    "issued at no time": changed(predicate=PREDICATE | {"issued_at": None}),
    "issued at a time in another form": changed(predicate=PREDICATE | {"issued_at": "2026-11-20T12:00:00Z"}),
    "issued on no day": changed(predicate=PREDICATE | {"issued_at": "2026-13-20T12:00:00.000000Z"}),
}


@pytest.mark.parametrize("content", STATEMENTS.values(), ids=STATEMENTS)
def test_a_rightly_signed_statement_of_another_kind_is_refused(content):
    refusal(MalformedStatement, signed_content(content))


def test_what_is_no_report_is_named_so():
    assert refusal(MalformedReport, b"{}").code == "malformed-report"


# --- key sets ----------------------------------------------------------------------------------------------


def test_a_key_set_reads_back():
    old = PublicKey(Ed25519PrivateKey.generate().public_key().public_bytes_raw(), BEGIN, ISSUED)
    assert read_keys(keys_bytes([KEY, old])) == {KEY.id: KEY, old.id: old}
    assert read_keys(json.dumps(keys_document([KEY]), indent=2).encode()) == KEYS


def entry(**members):
    return {"format": "privacy-risk/keys/1", "keys": [KEY.document() | members]}


KEY_SETS = {
    "of another format": {"format": "privacy-risk/keys/2", "keys": []},
    "with a further member": {"format": "privacy-risk/keys/1", "keys": [], "more": 1},
    "keys that are no list": {"format": "privacy-risk/keys/1", "keys": {}},
    "a key that is no object": {"format": "privacy-risk/keys/1", "keys": [1]},
    "a key twice": {"format": "privacy-risk/keys/1", "keys": [KEY.document()] * 2},
    "the id of another key": entry(id="0" * 64),
    "another algorithm": entry(algorithm="rsa"),
    "a short key": entry(public_key="AAAA"),
    "a key in no base64": entry(public_key="…"),
    "a key in base64 with stray bits": entry(
        public_key=KEY.document()["public_key"][:-2] + chr(ord(KEY.document()["public_key"][-2]) + 1) + "="
    ),
    "a begin without time": entry(valid_from="2026-11-20"),
    "no begin": entry(valid_from=None),
    "an end before the begin": entry(valid_until=instant_text(BEGIN - MOMENT)),
    "a further member of a key": entry(comment="ours"),
    "a list": [],
}


@pytest.mark.parametrize("document", KEY_SETS.values(), ids=KEY_SETS)
def test_a_key_set_that_is_not_right_is_refused(document):
    with pytest.raises(MalformedKeys) as caught:
        read_keys(json.dumps(document).encode())
    assert caught.value.remedy


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"not json",
        b"[" * 99_999,
        b'{"format":"privacy-risk/keys/1","keys":[],"format":"privacy-risk/keys/1"}',
    ],
)
def test_a_file_that_is_no_key_set_is_refused(content):
    with pytest.raises(MalformedKeys):
        read_keys(content)


# --- canonical JSON and points in time ---------------------------------------------------------------------


def test_canonical_json_has_one_form_and_exact_numbers():
    value = {"b": [1.0, 1, 2**70, -0.0, 1e300], "a": 'ä\n"\\/\u2028\x7f', "é": None, "z": True}
    assert canonical_json(value).decode() == (
        '{"a":"ä\\n\\"\\\\/\u2028\x7f","b":[1.0,1,1180591620717411303424,-0.0,1e+300],"z":true,"é":null}'
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {1, 2}])
def test_what_is_no_json_has_no_canonical_form(value):
    with pytest.raises((ValueError, TypeError)):
        canonical_json(value)


def test_a_point_in_time_has_one_text():
    assert instant_text(ISSUED) == "2026-11-20T12:00:00.000000Z"
    assert instant_of("2026-11-20T12:00:00.000000Z") == ISSUED
    for text in ("2026-11-20T12:00:00.0Z", "2026-11-20 12:00:00.000000Z", "", None, 5):
        with pytest.raises(ValueError, match=r"time|form|match"):
            instant_of(text)
    with pytest.raises(ValueError, match="zone"):
        instant_text(ISSUED.replace(tzinfo=None))


# --- pages -------------------------------------------------------------------------------------------------


def test_a_page_belongs_to_one_report():
    verified = verify(signed(), KEYS)
    check_page(render_page(signed()), verified.sha256)
    for page in (render_page(signed(statement("assessment"))), "", render_page(signed()) * 2):
        with pytest.raises(OtherReport):
            check_page(page, verified.sha256)


def test_a_withdrawal_is_told_beside_a_report_that_stays_as_it_was():
    later = ISSUED + timedelta(days=1)
    verified = verify(withdrawn_report(later), KEYS)
    assert verified.withdrawal is not None
    assert (verified.withdrawal.withdrawn_at, verified.withdrawal.release.name) == (later, "release/drawn")
    alone = envelope_bytes(replace(opened(withdrawn_report()), withdrawal=None))
    assert verify(alone, KEYS).withdrawal is None
    assert verify(alone, KEYS).sha256 == verified.sha256 == sha256_of_bytes(alone)


@pytest.mark.parametrize(
    ("report", "kind"),
    [
        (lambda: withdrawn_report(report_sha256="0" * 64), OtherReport),
        (lambda: withdrawn_report(release=Subject("release/other", "b" * 64)), OtherReport),
        (lambda: withdrawn_report(issued_at=BEGIN - MOMENT), OutsideKeyValidity),
        (lambda: withdrawn_report(signer=Signer(OTHER_KEY, OTHER_PRIVATE.sign)), UnknownKey),
        (lambda: withdrawn_report(signer=Signer(KEY, OTHER_PRIVATE.sign)), WrongSignature),
        (lambda: envelope_bytes(replace(opened(signed()), withdrawal=signed())), MalformedStatement),
        (lambda: envelope_bytes(replace(opened(signed()), withdrawal=b"null")), MalformedReport),
        (lambda: withdrawn_report().replace(b'"withdrawal":', b' "withdrawal":'), MalformedReport),
    ],
)
def test_a_statement_of_withdrawal_is_checked_as_the_report_is(report, kind):
    refusal(kind, report())
