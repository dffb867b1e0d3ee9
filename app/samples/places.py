"""The places of the sample: cities with their counties, states and regions, zip codes and sizes."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """One city; ``size`` is its weight among all cities."""

    city: str
    county: str
    state: str
    region: str
    zips: tuple[str, ...]
    size: float


def _state(state: str, region: str, *rows: tuple[str, str, str, float]) -> tuple[Place, ...]:
    return tuple(
        Place(city, f"{county} County", state, region, tuple(zips.split()), size)
        for city, county, zips, size in rows
    )


PLACES: tuple[Place, ...] = (
    *_state(
        "Indiana",
        "Midwest",
        ("West Lafayette", "Tippecanoe", "47906 47907 47996", 4.0),
        ("Lafayette", "Tippecanoe", "47901 47904 47905 47909", 5.0),
        ("Indianapolis", "Marion", "46201 46202 46204 46208 46220 46227", 14.0),
        ("Speedway", "Marion", "46224", 1.5),
        ("Bloomington", "Monroe", "47401 47403 47404 47408", 5.0),
        ("Ellettsville", "Monroe", "47429", 1.0),
    ),
    *_state(
        "Illinois",
        "Midwest",
        ("Chicago", "Cook", "60601 60607 60608 60614 60622 60637 60647 60657", 22.0),
        ("Evanston", "Cook", "60201 60202", 4.0),
        ("Oak Park", "Cook", "60301 60302 60304", 3.0),
        ("Champaign", "Champaign", "61820 61821 61822", 4.5),
        ("Urbana", "Champaign", "61801 61802", 2.5),
    ),
    *_state(
        "Ohio",
        "Midwest",
        ("Dayton", "Montgomery", "45402 45403 45405 45406", 6.0),
        ("Kettering", "Montgomery", "45409 45419 45429", 3.0),
        ("Columbus", "Franklin", "43201 43203 43206 43214 43229", 12.0),
        ("Dublin", "Franklin", "43016 43017", 2.5),
    ),
    *_state(
        "New York",
        "Northeast",
        ("New York City", "Manhattan", "10001 10003 10011 10019 10025 10027 10032 10128", 20.0),
        ("Ithaca", "Tompkins", "14850 14853", 3.0),
        ("Lansing", "Tompkins", "14882", 1.0),
        ("Buffalo", "Erie", "14201 14207 14213 14215", 7.0),
        ("Amherst", "Erie", "14221 14226 14228", 3.5),
    ),
    *_state(
        "Massachusetts",
        "Northeast",
        ("Boston", "Suffolk", "02108 02114 02115 02118 02130", 11.0),
        ("Chelsea", "Suffolk", "02150", 2.0),
        ("Cambridge", "Middlesex", "02138 02139 02140 02141 02142", 5.0),
        ("Somerville", "Middlesex", "02143 02144 02145", 4.0),
        ("Newton", "Middlesex", "02458 02459 02460", 3.5),
    ),
    *_state(
        "Pennsylvania",
        "Northeast",
        ("Pittsburgh", "Allegheny", "15203 15206 15213 15217 15232", 8.0),
        ("Monroeville", "Allegheny", "15146", 1.5),
        ("State College", "Centre", "16801 16803", 3.5),
        ("Bellefonte", "Centre", "16823", 1.0),
    ),
    *_state(
        "Texas",
        "South",
        ("Austin", "Travis", "78701 78703 78704 78723 78745 78751", 12.0),
        ("Pflugerville", "Travis", "78660", 2.0),
        ("Houston", "Harris", "77002 77004 77007 77019 77025 77063", 18.0),
        ("Pasadena", "Harris", "77502 77503 77506", 4.0),
    ),
    *_state(
        "Georgia",
        "South",
        ("Atlanta", "Fulton", "30303 30306 30309 30312 30318", 10.0),
        ("Roswell", "Fulton", "30075 30076", 2.5),
        ("Athens", "Clarke", "30601 30605 30606", 4.0),
        ("Winterville", "Clarke", "30683", 0.8),
    ),
    *_state(
        "North Carolina",
        "South",
        ("Raleigh", "Wake", "27601 27605 27607 27609", 7.0),
        ("Cary", "Wake", "27511 27513 27518", 4.0),
        ("Durham", "Durham", "27701 27703 27705 27707", 6.0),
        ("Bahama", "Durham", "27503", 0.5),
    ),
    *_state(
        "California",
        "West",
        ("Los Angeles", "Los Angeles", "90004 90012 90019 90026 90034 90042 90057", 21.0),
        ("Santa Monica", "Los Angeles", "90401 90403 90405", 3.0),
        ("Berkeley", "Alameda", "94702 94703 94704 94709", 4.0),
        ("Oakland", "Alameda", "94601 94606 94607 94610 94618", 7.0),
    ),
    *_state(
        "Washington",
        "West",
        ("Seattle", "King", "98101 98103 98105 98115 98122 98144", 11.0),
        ("Bellevue", "King", "98004 98006 98007", 4.0),
        ("Pullman", "Whitman", "99163 99164", 2.0),
        ("Colfax", "Whitman", "99111", 0.5),
    ),
    *_state(
        "Colorado",
        "West",
        ("Denver", "Denver", "80202 80205 80206 80210 80220", 10.0),
        ("Boulder", "Boulder", "80301 80302 80303 80304", 4.0),
        ("Longmont", "Boulder", "80501 80503 80504", 3.0),
    ),
)
