"""Generators of data that look like the real thing and belong to nobody."""

from typing import Final

DEFAULT_MEMBERS: Final = 20_000
DEFAULT_ENTITIES: Final = 50_000
DEFAULT_PATIENTS: Final = 5_000
JOURNEY: Final = "journey.toml"
PATIENTS: Final = "patients.csv"
