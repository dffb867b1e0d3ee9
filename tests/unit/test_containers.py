"""What the files for containers promise: bounds of memory, processes and disk, and a start in order."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from app import __version__
from app.settings import Settings

ROOT = Path(__file__).parents[2]
COMPOSE = (ROOT / "docker-compose.yml").read_text()
FILE: dict[str, Any] = yaml.safe_load(COMPOSE)
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
OURS = ("migrate", "api", "worker", "cluster-worker", "scheduler", "dask-worker")
SECRETS = {"POSTGRES_PASSWORD", "OWNER_PASSWORD", "RUNTIME_PASSWORD", "PRIVACY_RISK_MASTER_KEY"}
SPOOL = "/var/lib/privacy-risk/spool"
MIB = 1024**2


def usual(value: Any) -> str:
    """A value as it is where .env names no other."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", str(value))


def mebibytes(size: Any) -> int:
    number, unit = re.fullmatch(r"(\d+)([mg])", usual(size)).groups()
    return int(number) * {"m": 1, "g": 1024}[unit]


def default(name: str) -> Any:
    return Settings.model_fields[name].default


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_has_bounds(name):
    assert mebibytes(SERVICES[name]["mem_limit"]) > 0
    assert 0 < SERVICES[name]["pids_limit"] <= 4096


def test_a_run_fits_into_the_worker_and_the_api_knows_what_fits():
    told = [SERVICES[name]["environment"]["PRIVACY_RISK_RUN_MEMORY_MIB"] for name in ("api", "worker")]
    assert told[0] == told[1]
    assert int(usual(told[0])) == default("run_memory_mib")
    assert default("worker_concurrency") == 1
    assert mebibytes(SERVICES["worker"]["mem_limit"]) >= int(usual(told[0])) + 1024


def test_what_an_api_process_may_use_fits_into_its_container():
    children = default("uploads_at_once") * 1024
    direct = default("direct_at_once") * default("direct_mib")
    assert default("processes") == 1
    assert mebibytes(SERVICES["api"]["mem_limit"]) >= children + direct + default("table_cache_mib") + 1024


@pytest.mark.parametrize("name", OURS)
def test_what_is_in_memory_is_bounded(name):
    (mount,) = SERVICES[name]["tmpfs"]
    assert re.fullmatch(r"/tmp:size=\d+m", mount)
    assert mebibytes(mount.partition("size=")[2]) < mebibytes(SERVICES[name]["mem_limit"])
    assert SERVICES[name]["read_only"] is True


def test_the_cluster_is_optional_and_on_a_network_of_its_own():
    added = {name for name, service in SERVICES.items() if service.get("profiles") == ["cluster"]}
    assert added == {"cluster-worker", "scheduler", "dask-worker"}
    assert {name for name, service in SERVICES.items() if "cluster" in service.get("networks", ())} == added
    assert FILE["networks"]["cluster"] == {"internal": True}
    for name in ("scheduler", "dask-worker"):
        assert SERVICES[name]["networks"] == ["cluster"]
        assert not {"DATABASE_URL", "PRIVACY_RISK_MASTER_KEY"} & SERVICES[name]["environment"].keys()
        assert SERVICES[name]["environment"]["DASK_DISTRIBUTED__WORKER__MEMORY__SPILL"] == "false"
    worker = SERVICES["cluster-worker"]
    assert worker["mem_limit"] == SERVICES["worker"]["mem_limit"]
    assert SERVICES["worker"]["environment"].items() <= worker["environment"].items()


def test_uploads_that_are_being_read_are_on_disk_and_their_size_can_be_set():
    api = SERVICES["api"]
    assert api["volumes"] == [f"spool:{SPOOL}"]
    assert api["environment"]["TMPDIR"] == SPOOL
    assert FILE["volumes"]["spool"] is None, "a volume of Docker's own, which is on disk"
    assert {"PRIVACY_RISK_UPLOAD_MAX_BYTES", "PRIVACY_RISK_UPLOADS_AT_ONCE"} <= api["environment"].keys()
    docker = (ROOT / "Dockerfile").read_text()
    assert f"install -d -o 10001 -g 10001 -m 0700 {SPOOL}" in docker
    assert "USER 10001:10001" in docker


def test_the_database_is_waited_for_until_the_real_server_answers():
    check = SERVICES["postgres"]["healthcheck"]["test"]
    assert check[check.index("--host") + 1] == "127.0.0.1"
    assert SERVICES["migrate"]["depends_on"]["postgres"] == {"condition": "service_healthy"}
    assert SERVICES["migrate"]["command"] == ["migrate", "--wait", "60"]


def test_the_script_for_the_roles_may_be_read_into_another_shell():
    (mounted,) = SERVICES["postgres"]["configs"]
    assert "mode" not in mounted, "Compose ignores it"
    script = FILE["configs"]["roles"]["content"]
    # These would change or end the entry point's own shell.
    assert not re.search(r"^\s*(set|exit|exec)\b", script, re.MULTILINE)
    assert "--set ON_ERROR_STOP=1" in script


def test_the_migration_is_repeated_a_few_times_and_waited_for():
    assert re.fullmatch(r"on-failure:[1-9]", SERVICES["migrate"]["restart"])
    for name in ("api", "worker"):
        assert SERVICES[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


def examples() -> dict[str, tuple[bool, str, str]]:
    """Of every variable in .env.example: whether it is set there, its value, and the line above it."""
    lines = (ROOT / ".env.example").read_text().splitlines()
    found = {}
    for before, line in zip(["", *lines], lines, strict=False):
        if match := re.fullmatch(r"(#?)([A-Z_]+)=(.*)", line):
            found[match[2]] = (not match[1], match[3], before)
    return found


def test_the_example_of_settings_names_exactly_what_the_compose_file_takes():
    passed_on = {
        name
        for service in SERVICES.values()
        for name, value in service.get("environment", {}).items()
        if value is None
    }
    assert set(examples()) == set(re.findall(r"\$\{(\w+)", COMPOSE)) | passed_on


def test_every_setting_of_the_identity_provider_is_passed_on():
    settings = {f"PRIVACY_RISK_{name.upper()}" for name in Settings.model_fields if name.startswith("oidc_")}
    assert settings <= SERVICES["api"]["environment"].keys()


def test_the_example_explains_every_variable_and_holds_no_secret():
    for name, (is_set, value, before) in examples().items():
        assert re.match(r"# \w", before), f"{name} is not explained"
        assert is_set == (name in SECRETS), name
        assert not (is_set and value), name
        needed = re.search(rf"\$\{{{name}:\?", COMPOSE) is not None
        assert needed == is_set, name


def test_the_example_shows_the_defaults():
    for name, written in re.findall(r"\$\{(\w+):-([^}]+)\}", COMPOSE):
        assert examples()[name][1] == written
    for name in ("processes", "upload_max_bytes", "uploads_at_once", "run_memory_mib"):
        assert int(examples()[f"PRIVACY_RISK_{name.upper()}"][1]) == default(name)


def test_filled_in_settings_are_kept_out_of_git_and_the_image():
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()
    assert "!.env" not in (ROOT / ".dockerignore").read_text()


@pytest.mark.deep  # the licences of all packages are read
def test_the_bill_of_materials_names_every_package_of_the_environment_with_its_licence(tmp_path):
    command = [sys.executable, ROOT / ".ci/bill_of_materials.py", tmp_path]
    subprocess.run(command, check=True, capture_output=True)
    made = json.loads((tmp_path / "sbom.cdx.json").read_text())
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert made["metadata"]["component"]["version"] == __version__
    urls = [own["purl"] for own in made["components"]]
    assert len(set(urls)) == len(urls)
    told = {own["name"]: own for own in made["components"] if own["purl"].startswith("pkg:pypi/")}
    assert not [name for name in told if "_" in name], "a package URL has hyphens"
    locked = re.findall(r"^([a-z0-9._-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    here = {own.name.lower().replace("_", "-") for own in metadata.distributions()}
    names = {name.replace("_", "-").replace(".", "-"): own for name, own in told.items()}
    for name in here & set(locked):
        assert names[name.replace(".", "-")].get("licenses"), name
    assert (tmp_path / "licences/fastapi").is_dir()
    assert {own["name"] for own in made["components"]} >= {"fastapi", "psycopg", "swagger-ui-dist"}
