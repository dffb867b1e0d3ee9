"""Messages of webhooks: signed as the standard says, and sent to nowhere that they may not go."""

from __future__ import annotations

import base64
import contextlib
import datetime
import hashlib
import hmac
import ipaddress
import json
import socket
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import certifi
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from standardwebhooks import Webhook, WebhookVerificationError

from app.services.runs.webhook_values import Attempt, Message
from app.workers.webhook_sender import WebhookSender, signed_headers
from tests.processes import HANG_SECONDS

pytestmark = pytest.mark.anyio

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
LOOPBACK = [ipaddress.ip_network("127.0.0.0/8")]
BODY = '{"type":"run.failed","data":{}}'


def message(url, *secrets):
    return Message("msg_1", url, secrets or (SECRET,), BODY, 0)


@contextlib.asynccontextmanager
async def receiver(status=204, tls=None, *, is_silent=False):
    """A server that keeps what it is sent, and answers each request alike; a silent one when it is left."""
    received, may_answer = [], threading.Event()
    if not is_silent:
        may_answer.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.requestline, {k.lower(): v for k, v in self.headers.items()}, body))
            may_answer.wait(HANG_SECONDS)
            with contextlib.suppress(ConnectionError):
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "http://127.0.0.1:1/")
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_):
            """A client that does not like the certificate leaves; that is what is tested."""

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.server_address[1], received
    finally:
        may_answer.set()
        server.shutdown()
        server.server_close()
        thread.join()


def test_the_signature_is_that_of_the_standards_own_example():
    # From the specification of Standard Webhooks: this id, time, secret and payload have this signature.
    example = Message(
        "msg_p5jXN8AQM9LWM0D4loKWxJek", "https://x.example", (SECRET,), '{"test": 2432232314}', 0
    )
    headers = signed_headers(example, 1614265330)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_while_secrets_overlap_either_of_them_verifies():
    other = "whsec_" + base64.b64encode(b"another secret of some bytes....").decode()
    signatures = signed_headers(message("https://x.example", SECRET, other), 7)["webhook-signature"].split()
    assert len(signatures) == 2
    for secret, signature in zip((SECRET, other), signatures, strict=True):
        key = base64.b64decode(secret.removeprefix("whsec_"))
        expected = hmac.new(key, f"msg_1.7.{BODY}".encode(), hashlib.sha256).digest()
        assert signature == "v1," + base64.b64encode(expected).decode()


def test_the_standards_library_verifies_a_message_and_no_changed_one():
    other = "whsec_" + base64.b64encode(b"another secret of some bytes....").decode()
    headers = signed_headers(message("https://x.example", SECRET, other), int(time.time()))
    for secret in (SECRET, other):
        assert Webhook(secret).verify(BODY, headers) == json.loads(BODY)
        for body, changed in (
            (BODY.replace("failed", "done"), {}),
            (BODY, {"webhook-id": "msg_2"}),
            (BODY, {"webhook-timestamp": str(int(time.time()) + 1)}),
            (BODY, {"webhook-timestamp": str(int(time.time()) - 3600)}),
        ):
            with pytest.raises(WebhookVerificationError):
                Webhook(secret).verify(body, {**headers, **changed})


async def test_a_message_arrives_as_it_was_signed():
    async with receiver() as (port, received):
        url = f"http://localhost:{port}/hook?x=1"
        assert await WebhookSender(LOOPBACK).send(message(url), 7) == Attempt(204)
    ((line, headers, body),) = received
    assert (line, body.decode()) == ("POST /hook?x=1 HTTP/1.1", BODY)
    assert headers["host"] == f"localhost:{port}"
    assert headers["content-type"] == "application/json"
    assert {name: headers[name] for name in headers if name.startswith("webhook-")} == signed_headers(
        message(url), 7
    )


@pytest.mark.parametrize("status", [200, 302, 410, 500])
async def test_the_status_is_told_and_no_redirect_is_followed(status):
    async with receiver(status) as (port, received):
        attempt = await WebhookSender(LOOPBACK).send(message(f"http://127.0.0.1:{port}/"), 7)
    assert attempt == Attempt(status)
    assert attempt.succeeded == (status == 200)
    assert len(received) == 1


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "10.1.2.3", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[fd00::1]", "[fe80::1]", "224.0.0.1", "2130706433",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "0x7f000001", "017700000001", "127.1", "0x7f.0x0.0x0.0x1", "0", "[::ffff:7f00:1]", "LOCALHOST",
    ],
)  # fmt: skip
@pytest.mark.parametrize("scheme", ["https", "http"])
async def test_addresses_that_are_not_public_are_refused(scheme, host):
    async with receiver() as (port, received):
        attempt = await WebhookSender().send(message(f"{scheme}://{host}:{port}/"), 7)
    assert attempt == Attempt(None, "address-not-allowed")
    assert received == []


@pytest.mark.parametrize(
    "host",
    [
        "0177.0.0.1", "127.0.0.1.", "127%2e0.0.1", "127.0.0.1%00.example.org", "[fe80::1%25lo]", "[::1%lo]",
        "8.8.8.8@127.0.0.1", "127.0.0.1\\@8.8.8.8", "127.0.0.1\u3002", "\uff11\uff12\uff17.0.0.1",
    ],
)  # fmt: skip
async def test_odd_spellings_of_inner_addresses_lead_nowhere(host):
    async with receiver() as (port, received):
        attempt = await WebhookSender().send(message(f"http://{host}:{port}/"), 7)
    assert attempt.status is None
    assert received == []


async def test_a_name_is_refused_if_any_of_its_addresses_is(monkeypatch):
    def both(host, port, **_):
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in ("93.184.215.14", "127.0.0.1")
        ]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    attempt = await WebhookSender().send(message("https://rebinding.example/"), 7)
    assert attempt == Attempt(None, "address-not-allowed")


async def test_the_address_that_was_checked_is_called_wherever_the_name_leads_then(monkeypatch):
    known, asked = socket.getaddrinfo, []

    def rebinding(host, port, **options):
        if host != "rebinding.example":
            return known(host, port, **options)
        asked.append(host)
        address = "127.0.0.1" if len(asked) == 1 else "127.0.0.2"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    async with receiver() as (port, received):
        attempt = await WebhookSender(LOOPBACK).send(message(f"http://rebinding.example:{port}/"), 7)
    assert attempt == Attempt(204)
    assert len(asked) == len(received) == 1
    assert received[0][1]["host"] == f"rebinding.example:{port}"


async def test_a_public_address_is_not_called_without_tls():
    assert await WebhookSender().send(message("http://93.184.215.14/"), 7) == Attempt(
        None, "address-not-allowed"
    )


async def test_a_silent_receiver_costs_no_more_than_its_time():
    async with receiver(is_silent=True) as (port, _):
        attempt = await WebhookSender(LOOPBACK, seconds=0.2).send(message(f"http://127.0.0.1:{port}/"), 7)
    assert attempt == Attempt(None, "timeout")


async def test_nobody_there_and_no_such_name_are_told_without_the_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/?token=secret"
        assert await WebhookSender(LOOPBACK).send(message(url), 7) == Attempt(None, "unreachable")
    sent = await WebhookSender(LOOPBACK).send(message("https://nobody.invalid/"), 7)
    assert sent == Attempt(None, "unknown-host")


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "expected"), [("localhost", Attempt(204)), ("other", Attempt(None, "unreachable"))]
)
async def test_the_certificate_is_that_of_the_name_though_the_address_is_called(
    name, expected, tmp_path, monkeypatch
):
    context = certificate_of(name, tmp_path)
    monkeypatch.setattr(certifi, "where", lambda: str(tmp_path / "certificate.pem"))
    async with receiver(tls=context) as (port, _):
        assert await WebhookSender(LOOPBACK).send(message(f"https://localhost:{port}/"), 7) == expected


def certificate_of(name, folder):
    """A server's context with a certificate of this name, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    (folder / "certificate.pem").write_bytes(pem)
    held = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(held)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context
