"""No single change of an audit chain goes unnoticed: random edits, and its end cut off anywhere."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from app.persistence.records import CHAIN_START, Chain, event_hash

TENANT = "0a5c1f6e-2f0e-4d0e-9b0e-2f6e0a5c1f6e"
EVENTS = 40
EDITS = 1000
START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Event:
    """A row of the chain."""

    number: int
    key_id: str
    action: str
    subject: str
    details: dict[str, Any]
    at: datetime
    previous_sha256: bytes = b""
    sha256: bytes = field(default=b"")


def chain(length: int) -> list[Event]:
    events, previous = [], CHAIN_START
    for number in range(1, length + 1):
        event = Event(
            number, f"key{number % 3}", "rule.create", f"{number:032x}",
            {"sha256": f"{number:064x}", "step": number, "ε": 1e20}, START + timedelta(seconds=number),
        )  # fmt: skip
        content = {own.name: getattr(event, own.name) for own in fields(Event)[:6]}
        digest = event_hash(TENANT, content, previous)
        events.append(replace(event, previous_sha256=previous, sha256=digest))
        previous = digest
    return events


WHOLE = chain(EVENTS)
HEAD = (EVENTS, WHOLE[-1].sha256)


def broken_event(tenant, events, head):
    """What is found if the events come in two lots."""
    found, half = Chain(tenant, head), len(events) // 2
    return found.broken(events[:half]) or found.broken(events[half:]) or found.missing


def flipped(found: bytes, draw: Random) -> bytes:
    place = draw.randrange(len(found))
    return found[:place] + bytes([found[place] ^ 1 << draw.randrange(8)]) + found[place + 1 :]


def edited(event: Event, draw: Random) -> Event:
    """The event with one of its members changed a little."""
    name = draw.choice([own.name for own in fields(Event)])
    value = getattr(event, name)
    match value:
        case bytes():
            value = flipped(value, draw)
        case int():
            value += draw.choice([-1, 1, 1000])
        case datetime():
            value += timedelta(microseconds=draw.choice([-1, 1]))
        case dict():
            key = draw.choice([*value, "new"])
            value = {**value, key: draw.choice([None, "other", 0, True, [], {}])}
        case str():
            place = draw.randrange(len(value) + 1)
            value = value[:place] + draw.choice("x é\0") + value[place:]
    return replace(event, **{name: value})


def edit(draw: Random) -> tuple[list[Event], int]:
    """The chain after one change, and the number of the first event that it touches."""
    events, place = list(WHOLE), draw.randrange(EVENTS)
    kind = draw.choice(["change", "change", "change", "remove", "repeat", "swap", "replace"])
    if kind == "change":
        events[place] = edited(events[place], draw)
    elif kind == "remove":
        del events[place]
    elif kind == "repeat":
        events.insert(place, events[draw.randrange(EVENTS)])
        if events[place] == WHOLE[place]:  # the second of two equal ones is the one too many
            place += 1
    elif kind == "swap":
        place = min(place, EVENTS - 2)
        events[place : place + 2] = reversed(events[place : place + 2])
    else:
        # A forger who computes the hash of what was changed, but of nothing after it.
        event = replace(events[place], action="harmless")
        content = {own.name: getattr(event, own.name) for own in fields(Event)[:6]}
        events[place] = replace(event, sha256=event_hash(TENANT, content, event.previous_sha256))
        if place < EVENTS - 1:
            place += 1
    return events, place + 1


def test_a_whole_chain_is_found_whole_also_if_it_has_grown_since_its_head_was_read():
    assert broken_event(TENANT, WHOLE, HEAD) is None
    assert broken_event(TENANT, chain(EVENTS + 3), HEAD) is None
    assert broken_event(TENANT, [], (0, CHAIN_START)) is None
    assert broken_event("another tenant", WHOLE, HEAD) == 1


def test_each_of_a_thousand_random_edits_is_found_where_it_is():
    draw = Random(20261128)
    found = 0
    for _ in range(EDITS):
        events, number = edit(draw)
        assert broken_event(TENANT, events, HEAD) == number
        found += 1
    assert found == EDITS


@pytest.mark.parametrize("left", range(EVENTS))
def test_a_chain_that_ends_too_early_is_found_wherever_it_was_cut(left):
    assert broken_event(TENANT, WHOLE[:left], HEAD) == left + 1
