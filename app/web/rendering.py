"""The templates: everything that is put into them is escaped unless it is a picture made here."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined

from app.web import words

_SHARED: Final = Path(__file__).parents[1] / "reports" / "templates" / "shared"
"""Parts that reports for people show as well, by names that begin with ``shared/``."""

TEMPLATES: Final = Environment(
    loader=ChoiceLoader(
        [
            FileSystemLoader(Path(__file__).parent / "templates"),
            PrefixLoader({"shared": FileSystemLoader(_SHARED)}),
        ]
    ),
    autoescape=True,
    undefined=StrictUndefined,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {
    "number": words.number,
    "share": words.share,
    "moment": words.moment,
    "words": words.words,
    "levels": words.levels_in_words,
    "objective": words.objective,
}
TEMPLATES.globals["address"] = words.address
