"""The templates: everything that is put into them is escaped unless it is a picture made here."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.web import words

TEMPLATES: Final = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
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
