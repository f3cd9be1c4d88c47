"""The OpenAPI document is true: whatever is sent, what comes back is what it says."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from regard.api import Translator
from regard.serve.answers import RoadAnswer
from regard.serve.app import API_VERSION
from regard.serve.limits import Limits
from tests.serve.running import Running, running

# The server's thread draws random numbers while hypothesis does.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module")

OPERATIONS = (
    "POST /attend",
    "POST /detect",
    "GET /frontend/settings",
    "GET /health",
    "POST /ideas/by-hand",
    "POST /ideas/contexts",
    "POST /ideas/heads",
    "POST /ideas/masks",
    "GET /ideas/positions",
    "GET /ideas/road",
    "POST /ideas/weather",
    "GET /languages",
    "GET /metrics",
    "GET /models",
    "GET /runs",
    "GET /runs/{name}",
    "POST /translate",
    "POST /translate/stream",
)
# A word that stands in both sentences, or the name of a run, is not found by chance.
SELDOM = ("POST /ideas/contexts", "GET /runs/{name}")
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def small(translator: Translator) -> Iterator[Running]:
    """A server that refuses long texts, so that a thousand cases take minutes."""
    limits = Limits(max_characters=300, max_looked=100, max_beam=3, linger=0.0)
    with running({"mine": translator}, limits=limits) as found:
        yield found


@pytest.fixture(scope="module")
def document(small: Running) -> Any:
    return schemathesis.openapi.from_url(f"{small.address}/openapi.json")


def fuzz(document: Any, operation: str, num_cases: int) -> None:
    """Send requests that fit the document, and as many that do not."""
    method, path = operation.split()
    statuses: set[int] = set()
    cases = [document[path][method].as_strategy(generation_mode=mode) for mode in GenerationMode]

    @settings(
        max_examples=num_cases,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of(cases))
    def answer(case: Any) -> None:
        statuses.add(case.call_and_validate(checks=CHECKS, timeout=60).status_code)

    answer()
    assert 200 in statuses or operation in SELDOM
    assert max(statuses) < 500


def test_the_document_has_every_operation_with_its_version(small: Running) -> None:
    document = small.get("/openapi.json").json
    found = {f"{m.upper()} {path}" for path, each in document["paths"].items() for m in each}
    assert found == set(OPERATIONS)
    assert document["info"]["version"] == API_VERSION


def test_the_road_s_example_is_an_answer(small: Running) -> None:
    schemas = small.get("/openapi.json").json["components"]["schemas"]
    (example,) = schemas["RoadAnswer"]["examples"]
    assert RoadAnswer.model_validate(example).model_dump(exclude_unset=True) == example
    assert all(
        set(system) <= set(schemas["RoadSystem"]["properties"]) for system in example["systems"]
    )


def test_every_body_has_an_example_that_is_answered(server: Running) -> None:
    document = server.get("/openapi.json").json
    num_examples = 0
    for path, methods in document["paths"].items():
        body = methods.get("post", {}).get("requestBody")
        if body:
            schema = body["content"]["application/json"]["schema"]
            for example in schema["examples"]:
                assert server.post(path, **example).status == 200, (path, example)
                num_examples += 1
    assert num_examples >= 10


@pytest.mark.parametrize("operation", OPERATIONS)
def test_fifty_requests_of_any_kind_are_answered_as_documented(
    document: Any, operation: str
) -> None:
    fuzz(document, operation, 50)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_thousand_requests_of_any_kind_are_answered_as_documented(
    document: Any, operation: str
) -> None:
    fuzz(document, operation, 1000)
