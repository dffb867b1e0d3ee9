"""The files of the examples, and what sends them."""

from __future__ import annotations

from typing import Any, Final

from app.services.datasets.ingest.dialect import MEDIA_TYPES, UploadFormat

CITY_CSV: Final = """\
West Lafayette;Tippecanoe;Indiana;Midwest
Lafayette;Tippecanoe;Indiana;Midwest
Gary;Lake;Indiana;Midwest
Chicago;Cook;Illinois;Midwest
Evanston;Cook;Illinois;Midwest
Boston;Suffolk;Massachusetts;Northeast
Cambridge;Middlesex;Massachusetts;Northeast
Albany;Albany County;New York;Northeast
"""

MEMBERS_CSV: Final = """\
member_id,city,race,birth_date,income
m-01,West Lafayette,White,1975-05-10,52000
m-02,West Lafayette,White,1975-08-21,61000
m-03,Lafayette,White,1975-03-02,48000
m-04,Lafayette,Black,1971-11-30,45000
m-05,Gary,Black,1971-02-14,39000
m-06,Chicago,White,1978-07-04,83000
m-07,Chicago,Chinese,1978-12-09,97000
m-08,Evanston,Japanese,1979-01-17,120000
m-09,Boston,White,1970-06-25,74000
m-10,Cambridge,Chinese,1973-09-12,105000
m-11,Cambridge,White,1973-10-01,68000
m-12,Albany,Black,1976-04-18,
"""

CENSUS_CSV: Final = """\
person_id,age,gender,zip,race,education
p-001,44,female,47906,White,Bachelor
p-002,44,male,47906,White,Master
p-003,44,female,47906,White,High school
p-004,45,male,47901,White,High school
p-005,45,female,47901,White,Bachelor
p-006,48,female,47901,Black,Bachelor
p-007,48,male,47901,Black,High school
p-008,49,male,46402,Black,High school
p-009,49,female,46402,Black,Bachelor
p-010,41,male,60601,White,Master
p-011,41,female,60601,White,Doctorate
p-012,41,female,60601,Chinese,Master
p-013,41,male,60201,Japanese,Doctorate
p-014,49,female,02108,White,Bachelor
p-015,49,male,02108,White,Master
p-016,46,female,02139,Chinese,Doctorate
p-017,46,male,02139,White,Bachelor
p-018,46,female,02139,White,Master
p-019,43,male,12207,Black,Bachelor
p-020,43,female,12207,Black,High school
"""

REGISTER_CSV: Final = """\
member_id,place,race
m-01,Tippecanoe,White
m-02,Tippecanoe,White
m-03,Tippecanoe,White
m-04,Indiana,Black
m-05,Indiana,Black
m-06,Chicago,
m-07,Cook,Chinese
m-08,Illinois,Asian
m-09,Massachusetts,White
m-10,Cambridge,Chinese
m-11,Middlesex,White
m-12,New York,Black
r-13,Tippecanoe,Asian
r-14,Cook,White
r-15,Northeast,
"""

FRIENDSHIPS_CSV: Final = """\
member,friend,city,race
m-01,m-02,4,2
m-02,m-01,4,2
m-02,m-03,2,0
m-09,m-10,4,0
"""


def _raw_body(description: str, contents: dict[str, dict[str, Any]], *binary: str) -> dict[str, Any]:
    text = {
        media_type: {"schema": {"type": "string"}, "examples": examples}
        for media_type, examples in contents.items()
    }
    files = {media_type: {"schema": {"type": "string", "format": "binary"}} for media_type in binary}
    return {"requestBody": {"required": True, "description": description, "content": text | files}}


CSV_HIERARCHY_BODY: Final = _raw_body(
    "One line per leaf.",
    {"text/csv": {"city-by-csv": {"value": CITY_CSV}}},
    "application/octet-stream",
)

UPLOAD_BODY: Final = _raw_body(
    "The file itself. The examples are CSV; to choose one fills in its name.",
    {
        "text/csv": {
            "members": {"value": MEMBERS_CSV},
            "census": {"value": CENSUS_CSV},
            "register": {"value": REGISTER_CSV},
            "friendships": {"value": FRIENDSHIPS_CSV},
        }
    },
    *(MEDIA_TYPES[own] for own in UploadFormat if own is not UploadFormat.CSV),
    "application/octet-stream",
)

SAMPLE_BODY: Final = _raw_body(
    "The first lines of the file.",
    {"text/csv": {"members": {"value": MEMBERS_CSV}}},
    "application/octet-stream",
)

FORM_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The file as the form's only part.",
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "string", "format": "binary", "description": "The file to upload."}
                    },
                },
                "examples": {"members-by-form": {"value": {"file": MEMBERS_CSV}}},
            }
        },
    }
}
