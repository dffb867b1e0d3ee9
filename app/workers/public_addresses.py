"""Which addresses are public: a list of our own, so that it changes with this file and with nothing else.

Allowed are IPv4 addresses outside the table below, and of IPv6 only 2000::/3, the space assigned as global
unicast, outside its own table. Both follow the IANA IPv4 and IPv6 Special-Purpose Address Registries
(https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry) of 9 October
2025. Every block that stands there is refused, also those that can be reached (anycast relays, AS112): nobody
receives messages on them. IPv4 addresses inside IPv6 ones are judged as what they are where the network leads
to them: mapped, and translated by the well-known prefix of RFC 6052. 6to4, Teredo, compatible addresses and
those translated by other prefixes are refused.
"""

from __future__ import annotations

import ipaddress
from typing import Final

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

REFUSED_IPV4: Final = tuple(
    ipaddress.IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network (RFC 791)
        "10.0.0.0/8",  # private use (RFC 1918)
        "100.64.0.0/10",  # shared address space (RFC 6598)
        "127.0.0.0/8",  # loopback (RFC 1122)
        "169.254.0.0/16",  # link local (RFC 3927); metadata of clouds
        "172.16.0.0/12",  # private use (RFC 1918)
        "192.0.0.0/24",  # protocol assignments (RFC 6890), with all that lies inside; metadata of a cloud
        "192.0.2.0/24",  # documentation (RFC 5737)
        "192.31.196.0/24",  # AS112 (RFC 7535)
        "192.52.193.0/24",  # AMT (RFC 7450)
        "192.88.99.0/24",  # 6to4 relay anycast, deprecated (RFC 7526), and 6a44 relay (RFC 6751)
        "192.168.0.0/16",  # private use (RFC 1918)
        "192.175.48.0/24",  # AS112 (RFC 7534)
        "198.18.0.0/15",  # benchmarking (RFC 2544)
        "198.51.100.0/24",  # documentation (RFC 5737)
        "203.0.113.0/24",  # documentation (RFC 5737)
        "224.0.0.0/4",  # multicast (RFC 5771)
        "240.0.0.0/4",  # reserved (RFC 1112), and limited broadcast (RFC 8190)
        "168.63.129.16/32",  # public by its number, but a cloud's own host answers there to its machines
    )
)

GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")

REFUSED_IPV6: Final = tuple(
    ipaddress.IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments (RFC 2928): Teredo, ORCHID, benchmarking, AMT, DRIP and others
        "2001:db8::/32",  # documentation (RFC 3849)
        "2002::/16",  # 6to4 (RFC 3056)
        "2620:4f:8000::/48",  # AS112 (RFC 7534)
        "3fff::/20",  # documentation (RFC 9637)
    )
)
"""Those inside 2000::/3; whatever is outside is refused without a table."""

_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")
_TRANSLATED: Final = ipaddress.IPv6Network("64:ff9b::/96")


def carried(address: Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 one leads to: mapped (RFC 4291) or translated (RFC 6052); else None."""
    if isinstance(address, ipaddress.IPv6Address) and (address in _MAPPED or address in _TRANSLATED):
        return ipaddress.IPv4Address(address.packed[-4:])
    return None


def is_public(address: Address) -> bool:
    """Whether the address is one of the public network, by the tables of this module alone."""
    inner = carried(address)
    if inner is not None:
        return is_public(inner)
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in block for block in REFUSED_IPV4)
    return address in GLOBAL_UNICAST and not any(address in block for block in REFUSED_IPV6)
