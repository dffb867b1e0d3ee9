"""Which proxies before the service are believed to say who asks, and by which scheme."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Final

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

OWN_MACHINE: Final = ("127.0.0.1", "::1")


def believed_proxies(networks: Sequence[Network]) -> list[str]:
    """What uvicorn takes as ``forwarded_allow_ips``: these networks, or else the machine's own addresses.

    From them alone X-Forwarded-For and X-Forwarded-Proto are read; FORWARDED_ALLOW_IPS is not heeded.
    """
    return [str(network) for network in networks] or list(OWN_MACHINE)
