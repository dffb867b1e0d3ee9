"""Sends one message of a webhook, signed as Standard Webhooks says, to where it may be sent.

A tenant chooses the address, so this is where the service could be made to call what only it can reach. The
host's name is resolved here, every address that it has must be allowed, and the connection goes to the
address that was checked, whatever the name leads to a moment later. No redirect is followed, no proxy asked,
and of the answer only the status is read.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ipaddress
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import httpx

from app.services.runs.webhook_values import Attempt, Message
from app.services.runs.webhooks import SECRET_PREFIX
from app.workers.public_addresses import Address, Network, carried, is_public

SECONDS: Final = 10.0
MOST_LOOKUPS: Final = 64


class WebhookSender:
    """Sends messages; ``inside`` are networks that are allowed beside the public ones, also without TLS."""

    def __init__(self, inside: Sequence[Network] = (), seconds: float = SECONDS) -> None:
        self._inside = tuple(inside)
        self._seconds = seconds
        # Look-ups cannot be cut short: those of one receiver must not keep others from theirs.
        self._resolvers = ThreadPoolExecutor(MOST_LOOKUPS, thread_name_prefix="webhook-names")

    async def send(self, message: Message, timestamp: int) -> Attempt:
        """Send it; the status that was answered, or a word for why there is none."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._send(message, timestamp)
        except TimeoutError:
            return Attempt(None, "timeout")
        except _Refused as refused:
            return Attempt(None, str(refused))
        except (httpx.HTTPError, httpx.InvalidURL, OSError):
            # The error's own text may repeat the address, and with it a secret of the receiver.
            return Attempt(None, "unreachable")

    async def _send(self, message: Message, timestamp: int) -> Attempt:
        url = httpx.URL(message.url)
        address = await self._allowed_address(url)
        host = url.netloc.decode("ascii")
        headers = {"Host": host, "Content-Type": "application/json", "User-Agent": "privacy-risk"}
        headers |= signed_headers(message, timestamp)
        async with httpx.AsyncClient(
            trust_env=False, follow_redirects=False, timeout=self._seconds
        ) as client:
            request = client.build_request(
                "POST",
                url.copy_with(host=str(address)),
                content=message.body.encode(),
                headers=headers,
                extensions={"sni_hostname": url.host},
            )
            response = await client.send(request, stream=True)
            await response.aclose()
        return Attempt(response.status_code)

    async def _allowed_address(self, url: httpx.URL) -> Address:
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            look_up = partial(socket.getaddrinfo, url.host, port, type=socket.SOCK_STREAM)
            found = await asyncio.get_running_loop().run_in_executor(self._resolvers, look_up)
        except (OSError, UnicodeError):
            raise _Refused("unknown-host") from None
        addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
        if not addresses or not all(self._allows(address, url.scheme) for address in addresses):
            raise _Refused("address-not-allowed")
        return addresses[0]

    def _allows(self, address: Address, scheme: str) -> bool:
        if any(address in network for network in self._inside):
            return True
        inner = carried(address)
        if inner is not None:
            return self._allows(inner, scheme)
        return scheme == "https" and is_public(address)


def signed_headers(message: Message, timestamp: int) -> dict[str, str]:
    """The three headers of Standard Webhooks: a signature by each secret that holds."""
    content = f"{message.id}.{timestamp}.{message.body}".encode()
    keys = [base64.b64decode(secret.removeprefix(SECRET_PREFIX)) for secret in message.secrets]
    signatures = [base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode() for key in keys]
    return {
        "webhook-id": message.id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{own}" for own in signatures),
    }


class _Refused(Exception):
    """The address may not be called; the text is a word for why."""
