import json
import tomllib
from pathlib import Path

import pytest

from app.cli.journey import load_journey
from app.domain.errors import InvalidInput
from app.samples import JOURNEY
from app.samples.files import write_sample
from app.samples.members import WEIGHTS


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    write_sample(folder, 20, 40)
    return folder


def faults_of(path, content):
    path.write_text(content)
    with pytest.raises(InvalidInput) as caught:
        load_journey(path)
    return [fault.pointer for fault in caught.value.faults]


def test_the_samples_journey_names_files_that_exist_and_the_weights_of_the_case_study(sample):
    journey = load_journey(sample / JOURNEY)
    assert {a.name: a.weight for a in journey.attributes} == WEIGHTS
    files = [journey.dataset.path, journey.dictionary.path, *(table.path for table in journey.lookups)]
    files += [a.hierarchy for a in journey.attributes if isinstance(a.hierarchy, Path)]
    assert all(file.is_file() for file in files)
    assert [table.format for table in (journey.dataset, journey.dictionary)] == ["csv", "csv"]


def test_a_json_journey_means_the_same_as_a_toml_one(sample, tmp_path):
    document = tomllib.loads((sample / JOURNEY).read_text())
    twin = sample / "journey.json"
    twin.write_text(json.dumps(document))
    assert load_journey(twin) == load_journey(sample / JOURNEY)


def test_own_tables_replace_those_of_the_file(sample, tmp_path):
    journey = load_journey(sample / JOURNEY, tmp_path / "mine.parquet", tmp_path / "theirs.csv.gz")
    assert (journey.dataset.path.name, journey.dataset.format) == ("mine.parquet", "parquet")
    assert (journey.dictionary.path.name, journey.dictionary.format) == ("theirs.csv.gz", "csv.gz")


TABLE = '[dataset]\nname = "t"\nfile = "t.csv"\n'
ATTRIBUTE = "[dataset.attributes.city]\n"
DICTIONARY = '[dictionary]\nname = "d"\nfile = "d.csv"\n'


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        ("", "/dataset"),
        (TABLE + "missing = []\n" + ATTRIBUTE + DICTIONARY + "[dictionary.links]\n", "/dataset/missing"),
        (TABLE + ATTRIBUTE, "/dictionary"),
        (TABLE + DICTIONARY + "[dictionary.links]\n", "/dataset/attributes"),
        (TABLE + "[dataset.attributes]\n" + DICTIONARY + "[dictionary.links]\n", "/dataset/attributes"),
        (TABLE + ATTRIBUTE + DICTIONARY + "[dictionary.links.city]\n", "/dictionary/links/city/column"),
        (TABLE + 'colour = "red"\n' + DICTIONARY + "[dictionary.links]\n", "/dataset/colour"),
        (TABLE + ATTRIBUTE + DICTIONARY + "[dictionary.links]\n[weights]\n", "/weights"),
        ("dataset = 3\n" + DICTIONARY, "/dataset"),
        (TABLE.replace('"t"', "3") + ATTRIBUTE + DICTIONARY + "[dictionary.links]\n", "/dataset/name"),
    ],
)
def test_a_faulty_journey_file_is_refused_with_the_place(tmp_path, content, pointer):
    path = tmp_path / "journey.toml"
    assert faults_of(path, content) == [f"{path}{pointer}"]


def test_a_file_that_cannot_be_read_or_parsed_is_named(tmp_path):
    path = tmp_path / "journey.toml"
    assert faults_of(path, "= nothing") == [str(path)]
    path.unlink()
    with pytest.raises(InvalidInput, match="There is no file"):
        load_journey(path)


def test_a_suffix_that_names_no_format_is_refused(sample, tmp_path):
    with pytest.raises(InvalidInput, match="names no format"):
        _ = load_journey(sample / JOURNEY, tmp_path / "mine.ods").dataset.format
