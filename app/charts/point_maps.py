"""Maps of the same places, one for each of several counts of them: circles whose areas are the counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from app.charts.drawing import Caption, picture

MOST_CIRCLES: Final = 1_500
"""Of one map so many places are drawn, those of the greatest counts."""

_WIDTH, _GAP, _TITLE, _LEAST_HEIGHT, _MOST_HEIGHT = 960, 20, 34, 220, 620
_RADIUS, _LEAST_RADIUS = 16.0, 0.8


@dataclass(frozen=True)
class Place:
    """A place at finite coordinates: x grows to the right, y upwards."""

    name: str
    x: float
    y: float


def draw_point_maps(caption: Caption, places: Sequence[Place], maps: Mapping[str, Sequence[float]]) -> str:
    """The maps side by side, with one scale of places and one of counts.

    Places and maps are not empty. A map has a title, and a count ≥ 0 for each place in their order; a
    place with a count of 0 is not drawn in it.
    """
    left, right = min(place.x for place in places), max(place.x for place in places)
    low, high = min(place.y for place in places), max(place.y for place in places)
    width = (_WIDTH - _GAP * (len(maps) - 1)) / len(maps)
    extents = (width - 2 * _RADIUS, right - left), (_MOST_HEIGHT - 2 * _RADIUS, high - low)
    scale = min((space / extent for space, extent in extents if extent > 0), default=1.0)
    height = max((high - low) * scale + 2 * _RADIUS, _LEAST_HEIGHT)
    greatest = max(count for counts in maps.values() for count in counts) or 1.0

    def parts() -> Iterator[str]:
        for number, (title, counts) in enumerate(maps.items()):
            start, bottom = number * (width + _GAP), _TITLE + height
            yield f'<text class="label" x="{start:.1f}" y="20">{escape(title)}</text>'
            yield f'<path class="axis" d="M{start:.1f} {_TITLE}h{width:.1f}V{bottom:.1f}H{start:.1f}Z"/>'
            counted = [(count, place) for count, place in zip(counts, places, strict=True) if count > 0]
            # The greatest first: they lie below the others.
            for count, place in sorted(counted, key=lambda pair: -pair[0])[:MOST_CIRCLES]:
                x = start + width / 2 + (place.x - (left + right) / 2) * scale
                y = _TITLE + height / 2 - (place.y - (low + high) / 2) * scale
                radius = max(_RADIUS * math.sqrt(count / greatest), _LEAST_RADIUS)
                said = f"<title>{escape(place.name)}: {count:,.10g}</title>"
                yield f'<circle class="place" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">{said}</circle>'

    return picture(caption, _WIDTH, _TITLE + height + 2, parts())
