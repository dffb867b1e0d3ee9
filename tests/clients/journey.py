"""A journey with a generated Python client: upload, describe, plan, assess, search, wait, release, download.

Usage: python tests/clients/journey.py ADDRESS KEY, where the package `generated` can be imported.
"""

from __future__ import annotations

import sys
import time
from io import BytesIO
from typing import Any

from generated import AuthenticatedClient, models
from generated.api.assessments import create_assessment, get_assessment_records, plan_assessment
from generated.api.datasets import create_dataset
from generated.api.dictionaries import create_dictionary
from generated.api.hierarchies import create_hierarchy_from_csv
from generated.api.optimisations import create_optimisation, get_optimisation
from generated.api.releases import create_release, get_release_data
from generated.api.runs import get_run
from generated.api.sensitivity_profiles import create_sensitivity_profile
from generated.api.uploads import create_upload
from generated.types import File

TABLE = b"member,place\n1,Gary\n2,Gary\n3,Chicago\n4,Boston\n5,Boston\n6,Boston\n"
PLACES = b"Gary;Midwest\nChicago;Midwest\nBoston;Northeast\n"


def answered(wanted: type, response: Any) -> Any:
    """What the service answered, of the type that the document promises."""
    assert isinstance(response.parsed, wanted), response.content.decode()
    return response.parsed


def main(address: str, key: str) -> None:
    """Make the journey; AssertionError where an answer is not of its type."""
    client = AuthenticatedClient(address, key)
    uploaded = create_upload.sync_detailed(client=client, name="travellers", body=File(BytesIO(TABLE)))
    assert answered(models.Upload, uploaded).rows == 6
    made = create_hierarchy_from_csv.sync_detailed(client=client, name="places", body=File(BytesIO(PLACES)))
    answered(models.Hierarchy, made)
    dataset = models.NewDataset.from_dict(
        {
            "name": "travellers",
            "upload": "travellers",
            "attributes": [
                {"name": "member", "type": "text", "role": "identifier"},
                {"name": "place", "type": "categorical", "role": "quasi_identifier", "hierarchy": "places"},
            ],
        }
    )
    answered(models.Dataset, create_dataset.sync_detailed(client=client, body=dataset))
    dictionary = models.NewDictionary(name="themselves", from_dataset="travellers")
    answered(models.Dictionary, create_dictionary.sync_detailed(client=client, body=dictionary))
    harm = models.NewSensitivityProfile.from_dict(
        {
            "name": "travellers-harm",
            "dataset": "travellers",
            "family": "multiplicative",
            "attributes": {"place": {"leaves": 0.5}},
        }
    )
    answered(models.SensitivityProfile, create_sensitivity_profile.sync_detailed(client=client, body=harm))
    assess(client)
    search(client)
    release = models.NewRelease(name="travellers-release", dataset="travellers", rule="travellers-best")
    answered(models.Release, create_release.sync_detailed(client=client, body=release))
    table = get_release_data.sync_detailed("travellers-release", client=client)
    assert answered(str, table).count("\n") == 7, table.content


def assess(client: AuthenticatedClient) -> None:
    """The same score three times: estimated, computed, and answered again since it is there."""
    question = models.NewAssessment.from_dict(
        {
            "name": "travellers-as-they-are",
            "dataset": "travellers",
            "rule": {"kind": "identity"},
            "dictionary": "themselves",
            "sensitivity": "travellers-harm",
        }
    )
    plan = answered(models.PlanAnswer, plan_assessment.sync_detailed(client=client, body=question))
    assert plan.missing == []
    for status in (201, 200):
        response = create_assessment.sync_detailed(client=client, body=question)
        assert response.status_code == status, response.content
        assessment = answered(models.Assessment, response)
        assert assessment.result.n_records == 6, assessment
    records = get_assessment_records.sync_detailed("travellers-as-they-are", client=client)
    assert len(records.content.splitlines()) == 6, records.content


def search(client: AuthenticatedClient) -> None:
    """A run that is asked after until it has ended."""
    question = models.NewOptimisation.from_dict(
        {
            "name": "travellers-best",
            "dataset": "travellers",
            "objective": {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}]},
        }
    )
    run = answered(models.StartedRun, create_optimisation.sync_detailed(client=client, body=question))
    while run.state in (models.RunState.QUEUED, models.RunState.RUNNING):
        time.sleep(0.1)
        run = answered(models.Run, get_run.sync_detailed(run.id, client=client, prefer="wait=20"))
    assert run.state is models.RunState.SUCCEEDED, run
    found = get_optimisation.sync_detailed("travellers-best", client=client)
    assert isinstance(answered(models.Optimisation, found).result, models.LossResult), found.content


if __name__ == "__main__":
    main(*sys.argv[1:])
    print("the generated Python client has made its journey")
