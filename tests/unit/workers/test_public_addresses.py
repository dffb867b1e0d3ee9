"""Every line of IANA's special-purpose registries with its edges, whatever this Python's own tables say."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.workers.public_addresses import carried, is_public
from app.workers.webhook_sender import WebhookSender

IPV4_REGISTRY = [
    "0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
    "172.16.0.0/12", "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32",
    "192.0.0.170/32", "192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
    "192.88.99.0/24", "192.88.99.2/32", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "255.255.255.255/32",
]  # fmt: skip
"""The IANA IPv4 Special-Purpose Address Registry, line by line."""

IPV6_REGISTRY = [
    "::1/128", "::/128", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23",
    "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32",
    "2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16",
    "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10",
]  # fmt: skip
"""The IANA IPv6 Special-Purpose Address Registry, but ::ffff:0:0/96 and 64:ff9b::/96, which carry others."""

ELSEWHERE = [
    "224.0.0.0/4", "ff00::/8", "fec0::/10", "::/96", "::ffff:0:0:0/96", "168.63.129.16/32", "192.0.0.192/32",
    "4000::/2", "8000::/1", "200::/7", "400::/6",
]  # fmt: skip
"""Multicast, site-local, compatible and translated addresses, metadata of clouds, unassigned space."""


@pytest.mark.parametrize("block", [*IPV4_REGISTRY, *IPV6_REGISTRY, *ELSEWHERE])
def test_no_address_of_a_special_block_is_public(block):
    network = ipaddress.ip_network(block)
    middle = network[network.num_addresses // 2]
    assert [is_public(own) for own in (network[0], middle, network[-1])] == [False] * 3


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1.0.0.0", "9.255.255.255"), ("11.0.0.0", "100.63.255.255"), ("100.128.0.0", "126.255.255.255"),
        ("128.0.0.0", "168.63.129.15"), ("168.63.129.17", "169.253.255.255"),
        ("169.255.0.0", "172.15.255.255"), ("172.32.0.0", "191.255.255.255"), ("192.0.1.0", "192.0.1.255"),
        ("192.0.3.0", "192.31.195.255"), ("192.31.197.0", "192.52.192.255"),
        ("192.52.194.0", "192.88.98.255"), ("192.88.100.0", "192.167.255.255"),
        ("192.169.0.0", "192.175.47.255"), ("192.175.49.0", "198.17.255.255"),
        ("198.20.0.0", "198.51.99.255"), ("198.51.101.0", "203.0.112.255"),
        ("203.0.114.0", "223.255.255.255"),
        ("2001:200::", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2001:db9::", "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2003::", "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff"),
        ("2620:4f:8001::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("3fff:1000::", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ],
)  # fmt: skip
def test_what_lies_between_the_blocks_is_public_to_its_edges(before, after):
    assert is_public(ipaddress.ip_address(before))
    assert is_public(ipaddress.ip_address(after))


@pytest.mark.parametrize(
    ("address", "inner"),
    [
        ("::ffff:8.8.8.8", "8.8.8.8"),
        ("::ffff:192.0.0.192", "192.0.0.192"),
        ("64:ff9b::8.8.8.8", "8.8.8.8"),
        ("64:ff9b::a01:203", "10.1.2.3"),
    ],
)
def test_a_mapped_or_translated_address_is_what_it_carries(address, inner):
    assert carried(ipaddress.ip_address(address)) == ipaddress.ip_address(inner)
    assert is_public(ipaddress.ip_address(address)) == is_public(ipaddress.ip_address(inner))


@pytest.mark.parametrize(
    "address",
    [
        "::127.0.0.1", "::8.8.8.8", "::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8", "64:ff9b:1::7f00:1",
        "2002:808:808::", "2001:0:808:808::", "fec0::1", "3fff::1", "192.0.0.192",
    ],
)  # fmt: skip
def test_the_sender_refuses_what_leads_inside_by_another_spelling(address):
    assert not WebhookSender()._allows(ipaddress.ip_address(address), "https")


def test_networks_that_the_operator_allows_are_allowed_in_every_spelling_that_leads_there():
    sender = WebhookSender([ipaddress.ip_network("10.0.0.0/8")])
    for spelling in ("10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::a01:203"):
        assert sender._allows(ipaddress.ip_address(spelling), "http")
    assert not sender._allows(ipaddress.ip_address("::10.1.2.3"), "http")


NEAR = [ipaddress.ip_network(block) for block in (*IPV4_REGISTRY, *IPV6_REGISTRY, *ELSEWHERE)]


def near(network):
    """Addresses in and around a block."""
    first, last = int(network[0]), int(network[-1])
    kind, most = type(network[0]), 2**network.max_prefixlen - 1
    return st.integers(max(0, first - 300), min(most, last + 300)).map(kind)


ADDRESSES = (
    st.ip_addresses() | st.ip_addresses(network="2000::/3") | st.one_of([near(network) for network in NEAR])
)


@given(ADDRESSES)
def test_what_is_public_here_is_global_by_python_too(address):
    """Not the other way round: this list refuses more, and does not change with the interpreter."""
    inner = carried(address)
    if is_public(address):
        assert (inner or address).is_global
        assert not address.is_multicast
