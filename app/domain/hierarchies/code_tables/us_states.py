"""The states of the United States with the divisions and regions of the Census Bureau."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

_TABLE: Final = """
New England < Northeast: CT Connecticut, ME Maine, MA Massachusetts, NH New Hampshire, RI Rhode Island, VT Vermont
Middle Atlantic < Northeast: NJ New Jersey, NY New York, PA Pennsylvania
East North Central < Midwest: IL Illinois, IN Indiana, MI Michigan, OH Ohio, WI Wisconsin
West North Central < Midwest: IA Iowa, KS Kansas, MN Minnesota, MO Missouri, NE Nebraska, ND North Dakota
West North Central < Midwest: SD South Dakota
South Atlantic < South: DE Delaware, DC District of Columbia, FL Florida, GA Georgia, MD Maryland
South Atlantic < South: NC North Carolina, SC South Carolina, VA Virginia, WV West Virginia
East South Central < South: AL Alabama, KY Kentucky, MS Mississippi, TN Tennessee
West South Central < South: AR Arkansas, LA Louisiana, OK Oklahoma, TX Texas
Mountain < West: AZ Arizona, CO Colorado, ID Idaho, MT Montana, NV Nevada, NM New Mexico, UT Utah, WY Wyoming
Pacific < West: AK Alaska, CA California, HI Hawaii, OR Oregon, WA Washington
"""  # noqa: E501 - a line per division


def _entries() -> Iterator[tuple[str, tuple[str, str]]]:
    """Code and name of every state in lower case with its division and region."""
    for line in _TABLE.strip().splitlines():
        above, states = line.split(": ")
        division, region = above.split(" < ")
        for state in states.split(", "):
            for spelling in state.split(" ", 1):
                yield spelling.casefold(), (division, region)


US_STATES: Final[Mapping[str, tuple[str, str]]] = dict(_entries())
"""Postal code or name of a state, or of the District of Columbia, in lower case → its division and region."""
