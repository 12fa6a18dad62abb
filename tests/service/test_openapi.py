"""The service keeps its own OpenAPI: schemathesis asks whatever the schema allows, and much that it does not; every answer must be one that the schema names."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import negative_data_rejection

from popcorn.agents.place import Place
from popcorn.records.store import Store
from popcorn.service.app import make_app
from popcorn.service.jobs import Jobs
from popcorn.service.limits import Limits
from popcorn.worker.remembering import RememberingEngine
from tests.sweep.pretend import PretendEngine

TOKEN = "schema"


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schema")
    store = Store(folder / "records")
    engine = PretendEngine(store, folder / "log", 0.0)
    jobs = Jobs([Place(RememberingEngine(engine, store, engine.machine), "cpu")])
    yield schemathesis.openapi.from_asgi(
        "/openapi.json", Limits(make_app(jobs, [store]), TOKEN, body_bytes=64 << 20, per_minute=10**7, burst=10**7)
    )
    jobs.close()


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_every_answer_is_one_that_the_schema_names(schema, mode):
    asked = []
    for found in schema.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(max_examples=12, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        def ask(case):
            # the token is given here, and what a query has more than it needs is nobody's concern: of these two nothing has to be refused
            wrong = {place for place, part in case.meta.components.items() if part.mode is GenerationMode.NEGATIVE} if case.meta else set()
            free = wrong <= {ParameterLocation.HEADER, ParameterLocation.QUERY, ParameterLocation.COOKIE} and case.method == "POST"
            excluded = [negative_data_rejection] if free else []
            case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"}, excluded_checks=excluded)
            asked.append(case.path)

        try:
            ask()
        except Exception as error:
            if type(error).__name__ not in ("Unsatisfiable", "SkipTest"):  # an operation without parameters has nothing to break
                raise
    assert len(set(asked)) >= 4
