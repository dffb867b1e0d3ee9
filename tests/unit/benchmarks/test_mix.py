"""The mixed load has a request of every kind that it weighs, and new questions enough for every load."""

from types import SimpleNamespace

import pytest

from tests.benchmarks.service import load
from tests.benchmarks.service.mix import WEIGHTS, Mix
from tests.benchmarks.service.sample import QUESTIONS_A_PROFILE, assessments


@pytest.fixture
def client():
    def create(body):
        return SimpleNamespace(id="a1", document=body)

    return SimpleNamespace(
        assessments=SimpleNamespace(create=create), sensitivity_profiles=SimpleNamespace(create=create)
    )


@pytest.fixture
def mix(client, monkeypatch):
    monkeypatch.setattr("tests.benchmarks.service.mix.session_cookie", lambda service: "session=s")
    monkeypatch.setattr("tests.benchmarks.service.mix._gates", lambda loaded: [])
    loaded = SimpleNamespace(service=None, client=client, question={"dataset": "members"})
    return Mix(loaded, assessments(client, loaded.question, 1))


def test_no_two_questions_are_the_same(client):
    asked = assessments(client, {"dataset": "members"}, 2)
    assert len(asked) == len({str(one) for one in asked}) == 2 * QUESTIONS_A_PROFILE


def test_every_kind_has_requests_and_what_is_sent_once_is_dealt_out_once(mix):
    first, second = mix.kinds(10), mix.kinds(10)
    assert [kind.name for kind in first] == list(WEIGHTS)
    assert all(kind.requests for kind in first if kind.name != "gate")
    for one, other in zip(first, second, strict=True):
        if not one.is_repeated:
            assert not {str(asking) for asking in one.requests} & {str(asking) for asking in other.requests}


def test_there_are_new_questions_for_every_load(monkeypatch, mix):
    dealt = []
    real = mix.kinds

    def kinds(new, names=tuple(WEIGHTS)):
        dealt.append(new if "new assessment" in names else 0)
        return real(0, names)

    class Sending(load.Loads):
        def send(self, kinds, seconds, clients=1, rate=0.0):
            told = load.Told(seconds=1.0)
            spent = dict.fromkeys(("api", "postgres", "worker", "worker_children"), 0.0)
            return load.Sent(told, 1, spent, [(0.0, 0.0)])

    monkeypatch.setattr(mix, "kinds", kinds)
    loads = Sending(None, mix, 1, None)
    for rows in (load._alone(loads), load._many_clients(loads, 2.0), load._mixed(loads, 2.0)):
        assert list(rows)
    load._offered(loads, 2.0)
    assert sum(dealt) <= load._new_questions(2.0)
