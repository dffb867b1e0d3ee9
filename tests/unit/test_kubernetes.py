"""What the manifests for Kubernetes promise; they and the Compose file are what their readers take."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from app.api.metrics import QueueMetrics
from app.settings import Settings

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "tests" / "schemas"
DEFINITIONS: dict[str, Any] = json.loads((SCHEMAS / "kubernetes-1.37.json").read_text())["$defs"]
BY_KIND = {
    (own["group"], own["version"], own["kind"]): name
    for name, definition in DEFINITIONS.items()
    for own in definition.get("x-kubernetes-group-version-kind", ())
}
FILES = ("privacy-risk", "cluster")
TEXTS = {name: (ROOT / f"docs/kubernetes/{name}.yaml").read_text() for name in FILES}
OBJECTS: list[dict[str, Any]] = [own for text in TEXTS.values() for own in yaml.safe_load_all(text)]
LABELLED = {f"{own['kind']} {own['metadata']['name']}": own for own in OBJECTS}
PODS = {
    own["metadata"]["name"]: own["spec"]["template"]
    for own in OBJECTS
    if own["kind"] in ("Deployment", "Job")
}
SECRETS = {"privacy-risk", "privacy-risk-owner", "privacy-risk-cluster-tls"}


def faults(own: dict[str, Any]) -> list[str]:
    """What Kubernetes would refuse of an object."""
    group, _, version = own["apiVersion"].rpartition("/")
    schema = {"$ref": f"#/$defs/{BY_KIND[group, version, own['kind']]}", "$defs": DEFINITIONS}
    return [
        f"{list(e.instance_path)}: {e.message}" for e in jsonschema_rs.validator_for(schema).iter_errors(own)
    ]


@pytest.mark.parametrize("name", LABELLED)
def test_an_object_is_what_kubernetes_takes(name):
    assert faults(LABELLED[name]) == []


def test_a_misspelt_field_and_a_wrong_type_are_found():
    own = copy.deepcopy(LABELLED["Deployment privacy-risk-api"])
    container = own["spec"]["template"]["spec"]["containers"][0]
    container["readynessProbe"] = container.pop("readinessProbe")
    container["ports"][0]["containerPort"] = "8000"
    assert len(faults(own)) == 2


def test_the_compose_file_is_what_compose_takes():
    validator = jsonschema_rs.validator_for(json.loads((SCHEMAS / "compose-spec.json").read_text()))
    file = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert [error.message for error in validator.iter_errors(file)] == []
    file["services"]["api"]["memory_limit"] = file["services"]["api"].pop("mem_limit")
    assert not validator.is_valid(file)


@pytest.mark.parametrize("name", PODS)
def test_a_pod_runs_as_nobody_and_writes_nowhere_but_into_its_bounded_folders(name):
    pod = PODS[name]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert f"USER {pod['securityContext']['runAsUser']}:" in (ROOT / "Dockerfile").read_text()
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
    assert "memory" in container["resources"]["limits"]
    folders = {own["name"]: own for own in pod["volumes"]}
    assert {own["name"] for own in container["volumeMounts"]} == folders.keys()
    for own in folders.values():
        assert "secret" in own or "sizeLimit" in own["emptyDir"]


@pytest.mark.parametrize("name", PODS)
def test_no_variable_of_a_service_is_taken_for_a_setting(name):
    """Kubernetes would name the address of the service privacy-risk PRIVACY_RISK_PORT."""
    assert PODS[name]["spec"]["enableServiceLinks"] is False


@pytest.mark.parametrize("name", sorted(set(PODS) - {"privacy-risk-migrate", "privacy-risk-worker"}))
def test_what_listens_is_probed_at_a_port_that_it_has(name):
    (container,) = PODS[name]["spec"]["containers"]
    ports = {own["name"] for own in container["ports"]}
    for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[kind]["httpGet"]["port"] in ports


def test_secrets_are_named_and_never_written():
    for text in TEXTS.values():
        assert "kind: Secret" not in text
    named = re.findall(r"(?:secretKeyRef: \{ name|secretName): ([\w-]+)", "".join(TEXTS.values()))
    assert set(named) == SECRETS
    page = (ROOT / "docs/operating.md").read_text()
    for name in SECRETS:
        assert f"create secret generic {name} " in page
    for pod in PODS.values():
        for variable in pod["spec"]["containers"][0].get("env", ()):
            if "DATABASE_URL" in variable["name"] or "KEY" in variable["name"]:
                assert "value" not in variable


def test_the_cluster_has_neither_the_database_nor_the_master_key():
    for name in ("privacy-risk-scheduler", "privacy-risk-dask-worker"):
        text = json.dumps(PODS[name])
        assert "DATABASE_URL" not in text
        assert "master-key" not in text


def test_variables_are_settings_and_maps_are_there():
    known = {f"PRIVACY_RISK_{name.upper()}" for name in Settings.model_fields}
    maps = {own["metadata"]["name"]: own["data"] for own in OBJECTS if own["kind"] == "ConfigMap"}
    told = set(maps["privacy-risk"])
    for pod in PODS.values():
        (container,) = pod["spec"]["containers"]
        told |= {own["name"] for own in container.get("env", ())}
        assert {own["configMapRef"]["name"] for own in container.get("envFrom", ())} <= maps.keys()
    assert {name for name in told if name.startswith("PRIVACY_RISK_")} <= known
    run_bytes = int(maps["privacy-risk"]["PRIVACY_RISK_RUN_MEMORY_MIB"])
    assert run_bytes == Settings.model_fields["run_memory_mib"].default
    assert PODS["privacy-risk-worker"]["spec"]["containers"][0]["resources"]["limits"]["memory"] == "9Gi"


def chosen(selector: dict[str, Any]) -> set[str]:
    """The components that a selector of labels chooses."""
    wanted = selector["matchLabels"].items()
    return {
        pod["metadata"]["labels"]["component"]
        for pod in PODS.values()
        if wanted <= pod["metadata"]["labels"].items()
    }


def test_only_the_workers_speak_to_the_scheduler():
    policies = [own["spec"] for own in OBJECTS if own["kind"] == "NetworkPolicy"]
    of_all = [own for own in policies if len(chosen(own["podSelector"])) == len(PODS)]
    assert [own.get("ingress") for own in of_all] == [None], "nobody speaks to anybody without a policy"
    (scheduler,) = [own for own in policies if chosen(own["podSelector"]) == {"scheduler"}]
    (rule,) = scheduler["ingress"]
    speakers = [chosen(own["podSelector"]) for own in rule["from"] if own.keys() == {"podSelector"}]
    assert len(speakers) == len(rule["from"])
    assert sorted(map(sorted, speakers)) == [["dask-worker"], ["worker"]]
    port = LABELLED["Service privacy-risk-scheduler"]["spec"]["ports"][0]["port"]
    assert rule["ports"] == [{"protocol": "TCP", "port": port}]
    address = LABELLED["ConfigMap privacy-risk-cluster"]["data"]["PRIVACY_RISK_CLUSTER"]
    assert address == f"tls://privacy-risk-scheduler:{port}"


def test_every_selector_chooses_pods_and_every_port_of_a_service_is_one_of_theirs():
    for own in OBJECTS:
        if own["kind"] == "Service":
            (name,) = [
                name for name, pod in PODS.items()
                if own["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
            ]  # fmt: skip
            ports = {port["name"] for port in PODS[name]["spec"]["containers"][0]["ports"]}
            assert {port["targetPort"] for port in own["spec"]["ports"]} <= ports
        if own["kind"] in ("NetworkPolicy", "PodDisruptionBudget"):
            assert chosen(own["spec"].get("podSelector") or own["spec"]["selector"])


def test_workers_are_scaled_by_a_metric_that_the_service_shows():
    scaled = LABELLED["HorizontalPodAutoscaler privacy-risk-worker"]["spec"]
    assert f"Deployment {scaled['scaleTargetRef']['name']}" in LABELLED
    assert "replicas" not in LABELLED["Deployment privacy-risk-worker"]["spec"], "it would undo the scaling"
    metric = scaled["metrics"][0]["external"]["metric"]["name"]
    assert f'"{metric}"' in Path(QueueMetrics.__init__.__code__.co_filename).read_text()


@pytest.mark.parametrize("role", ["scheduler", "worker"])
def test_what_starts_the_cluster_is_what_dask_takes(role):
    command = pytest.importorskip(f"distributed.cli.dask_{role}").main
    pod = PODS["privacy-risk-scheduler" if role == "scheduler" else "privacy-risk-dask-worker"]
    (container,) = pod["spec"]["containers"]
    service = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"][
        "scheduler" if role == "scheduler" else "dask-worker"
    ]
    for program, arguments in (
        (container["command"], container["args"]), (service["entrypoint"], service["command"])
    ):  # fmt: skip
        assert program[1:] == ["-m", "dask", role]
        command.make_context(role, list(arguments))
