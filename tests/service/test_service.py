"""The service over real HTTP on loopback, with an engine that judges at once: what it takes, what it refuses, what survives whom."""

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn

from popcorn.agents.place import Place
from popcorn.client import CARRIED, MAX_BATCH, MAX_SOURCE, Client, NotAnswered, RemoteEngine
from popcorn.errors import BadService
from popcorn.records.store import Store
from popcorn.service import asked
from popcorn.service.asked import Question, bounded, find_shipped, request_of
from popcorn.service.jobs import Jobs
from popcorn.service.serving import build, line
from popcorn.worker.remembering import RememberingEngine
from tests.sweep.pretend import PretendEngine

DOCS = Path(__file__).parents[2] / "docs" / "rewards.md"
TOKEN = "a-token-for-tests"
HEAD = {"Authorization": f"Bearer {TOKEN}"}
KERNEL = '#include "popcorn_kernel.h"\nint popcorn_forward(void) { return 0; }\n'
ASK = {"problem": "original/L1/36", "source": KERNEL, "language": "c"}


class Served:
    def __init__(self, folder, seconds: float = 0.01, **limits):
        self.store, self.log = Store(folder / "records"), folder / "evaluations.log"
        self.places = []
        for _ in range(2):
            engine = PretendEngine(self.store, self.log, seconds)
            self.places.append(Place(RememberingEngine(engine, self.store, engine.machine), "cpu"))
        apart = Store(folder / "unofficial")
        engine = PretendEngine(apart, folder / "unofficial.log", seconds)
        outside = Place(RememberingEngine(engine, apart, engine.machine), "cpu")
        app, self.jobs = build(self.places, [self.store, apart], TOKEN, [outside], **limits)
        self.app = app
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=self.port, log_level="error"))
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> "Served":
        self._thread.start()
        while not self._server.started:
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self.jobs.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("served"), per_minute=1_000_000, burst=100_000) as made:
        yield made


def test_a_reward_is_the_speedup_with_its_bounded_form_beside_it(served):
    client = Client(served.url, TOKEN)
    reward = client.evaluate("original/L1/36", KERNEL, language="c")
    assert reward == reward.speedup > 0 and reward.outcome == "correct"
    assert reward.bounded == pytest.approx(max(0.0, 1 - 1.05 / reward.speedup))
    assert client.record(reward.record).subject.problem == "original/L1/36"
    again = client.evaluate("original/L1/36", KERNEL, language="c")
    assert again.record == reward.record
    assert served.jobs.statistics().remembered >= 1 and "an hour and device" in line(served.jobs)


@pytest.mark.parametrize(("speedup", "reward"), [(0.0, 0.0), (0.5, 0.0), (1.05, 0.0), (2.1, 0.5), (1e9, 1.0)])
def test_the_bounded_reward_begins_at_five_percent_and_ends_at_one(speedup, reward):
    assert bounded(speedup) == pytest.approx(reward, abs=1e-6)


def test_bad_requests_have_a_status_and_a_sentence_and_harm_nobody(served):
    def ask(**changes) -> httpx.Response:
        return httpx.post(f"{served.url}/v1/evaluations", headers=HEAD, json=ASK | changes)

    assert ask(problem="original/L9/999").status_code == 404
    assert ask(problem="../../etc/passwd").status_code == 422
    for half in ('"source": "\\ud800"', '"source": "x", "\\ud800": 1'):
        text = f'{{"problem": "original/L1/36", "language": "c", {half}}}'
        assert httpx.post(f"{served.url}/v1/evaluations", headers=HEAD, content=text.encode()).status_code == 422
    for wrong in ({"nonsense": "x" * 9999}, {"trials": 1}):
        refused = ask(**wrong)
        assert refused.status_code == 422 and next(iter(wrong)) in refused.json()["detail"] and len(refused.text) < 600
    assert ask(nonsense=1).status_code == 422
    assert httpx.post(f"{served.url}/v1/evaluations", headers=HEAD, content=b"{").status_code == 422
    body = json.dumps(ASK | {"budget_s": float("nan")})
    said = httpx.post(f"{served.url}/v1/evaluations", headers=HEAD | {"Content-Type": "application/json"}, content=body)
    assert said.status_code == 422 and said.json()["detail"].startswith("budget_s: ")
    for head in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
        refused = httpx.post(f"{served.url}/v1/evaluations", headers=head, json=ASK)
        assert refused.status_code == 401 and "token" in refused.json()["detail"]
    assert httpx.get(f"{served.url}/v1/evaluations/{'0' * 16}", headers=HEAD).status_code == 404
    assert httpx.get(f"{served.url}/healthz").json()["status"] == "ok"


def test_a_body_of_100_mb_is_refused_before_it_is_read(served):
    began = time.monotonic()

    def body() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * (1 << 20)

    with socket.create_connection(("127.0.0.1", served.port)) as plain:
        plain.sendall(
            f"POST /v1/evaluations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {100 << 20}\r\n\r\n".encode()
        )
        assert b" 413 " in plain.recv(4096)
    try:
        assert httpx.post(f"{served.url}/v1/evaluations", headers=HEAD, content=body()).status_code == 413
    except httpx.WriteError:  # it hung up after its answer, while more was being sent
        pass
    assert time.monotonic() - began < 20
    assert httpx.get(f"{served.url}/healthz").status_code == 200


def test_too_many_requests_are_told_when_to_come_back(tmp_path):
    with Served(tmp_path, per_minute=60, burst=3) as small:
        answers = [httpx.get(f"{small.url}/v1/statistics", headers=HEAD) for _ in range(6)]
        assert [one.status_code for one in answers[:3]] == [200] * 3
        assert answers[-1].status_code == 429 and int(answers[-1].headers["retry-after"]) >= 1


def test_a_client_that_hangs_up_loses_nothing(tmp_path):
    with Served(tmp_path, seconds=0.5) as slow:
        with socket.create_connection(("127.0.0.1", slow.port)) as plain:
            text = json.dumps(ASK).encode()
            plain.sendall(
                f"POST /v1/evaluations?wait_s=30 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n".encode()
                + text
            )
            time.sleep(0.2)
        reward = Client(slow.url, TOKEN).evaluate(**ASK)
        assert reward.outcome == "correct"
        assert len(slow.log.read_text().splitlines()) == 1, "the question was judged once"


def test_64_clients_lose_and_double_nothing(tmp_path, seconds: float = 6.0):
    with Served(tmp_path, seconds=0.005, per_minute=10_000_000, burst=1_000_000) as busy:
        asked: dict[str, str] = {}
        answers: dict[str, int] = {}

        async def one(http: httpx.AsyncClient, number: int, until: float) -> None:
            step = 0
            while time.monotonic() < until:
                source = f"{KERNEL}/* {number if step % 3 else 'shared'} {step} */"
                answer = await http.post("/v1/evaluations", params={"wait_s": 30}, json=ASK | {"source": source})
                assert answer.status_code == 200, answer.text
                told = answer.json()
                assert told["state"] == "done" and asked.setdefault(source, told["id"]) == told["id"]
                answers[source] = answers.get(source, 0) + 1
                step += 1

        async def all_of_them() -> None:
            async with httpx.AsyncClient(base_url=busy.url, headers=HEAD, timeout=60, limits=httpx.Limits(max_connections=64)) as http:
                until = time.monotonic() + seconds
                await asyncio.gather(*(one(http, number, until) for number in range(64)))

        asyncio.run(all_of_them())
        judged = [text.split()[0] for text in busy.log.read_text().splitlines()]
        assert len(judged) == len(set(judged)) == len(asked), "every question was judged once, none was lost"
        assert sum(answers.values()) > len(asked) > 64


def test_events_tell_the_end(served):
    asked = httpx.post(f"{served.url}/v1/evaluations", headers=HEAD, json=ASK | {"source": KERNEL + "/* events */"}).json()
    with httpx.stream("GET", f"{served.url}/v1/evaluations/{asked['id']}/events", headers=HEAD) as told:
        events = [json.loads(text[6:]) for text in told.iter_lines() if text.startswith("data: ")]
    assert events[-1]["state"] == "done" and told.headers["content-type"].startswith("text/event-stream")


def test_batches_keep_their_order(served):
    questions = [ASK | {"source": f"{KERNEL}/* {number} */"} for number in range(8)]
    rewards = Client(served.url, TOKEN).evaluate_all(questions)
    assert len({one.record for one in rewards}) == 8
    assert httpx.post(f"{served.url}/v1/batches", headers=HEAD, json={"questions": questions * 20}).status_code == 422


def test_a_batch_of_any_size_gets_an_answer_for_each_whatever_its_texts_are(served):
    torch = "import torch\nclass ModelNew(torch.nn.Module):\n    pass\n"
    odd = ["", "x" * 300_000, "x" * 3_000_000, "hello", "half a character: \ud800", torch]
    questions = [ASK | {"source": text, "language": "triton"} for text in odd] + [
        ASK | {"source": f"{KERNEL}/* {n % 5} of many */"} for n in range(140)
    ]
    rewards = Client(served.url, TOKEN).evaluate_all(questions)
    assert [one.outcome for one in rewards] == ["rejected"] * 4 + ["correct", "rejected"] + ["correct"] * 140, [
        one.reason for one in rewards[:6]
    ]
    assert all(one == 0 and one.record is None and one.reason for one in rewards[:4])
    assert len({one.record for one in rewards[6:]}) == 5
    assert Client(served.url, TOKEN).evaluate("original/L1/36", torch).outcome == "correct", "a Python text tells its language"


def test_a_restart_in_the_midst_is_asked_again_and_what_does_not_end_is_nobodys_fault(tmp_path):
    class Forgetful(Client):
        def _ask(self, method, path, nothing=(), **what):
            answer = super()._ask(method, path, nothing, **what)
            if path == "/v1/batches":
                slow.jobs._jobs.clear()  # as a restart does
            return answer

    with Served(tmp_path, seconds=1.0) as slow:
        (reward,) = Forgetful(slow.url, TOKEN).evaluate_all([ASK])
        assert reward is not None and reward.outcome == "correct"
        other = ASK | {"source": KERNEL + "/* another */"}
        assert Client(slow.url, TOKEN).evaluate_all([other], timeout_s=0) == [None]
        with pytest.raises(NotAnswered, match="did not end in time"):
            Client(slow.url, TOKEN).evaluate(**(ASK | {"source": KERNEL + "/* a third */"}), timeout_s=0)


def test_the_training_loop_of_the_documents_runs_as_it_stands(served):
    found = re.search(r"<!-- example: a training loop -->\n```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    loop: dict = {}
    exec(found[1], loop)

    class Policy:
        seen: list = []

        def sample(self, prompt, count):
            assert "class Model(nn.Module)" in prompt
            return [
                "import torch\nimport triton\n\n\n@triton.jit\ndef k(x):\n    pass\n" + f"# {n % 4}\n" if n % 2 else "import torch\n"
                for n in range(count)
            ]

        def update(self, prompt, judged):
            self.seen.append(judged)

    policy = Policy()
    loop["train"](policy, served.url, TOKEN, 2)
    assert [len(judged) for judged in policy.seen] == [16, 16]
    assert {round(advantage, 3) for _, advantage in policy.seen[0]} == {1.0, -1.0}


def test_outside_submissions_are_judged_apart_and_said_to_be_unofficial(served):
    reward = Client(served.url, TOKEN).evaluate(**ASK, unofficial=True)
    assert reward.official is False
    assert reward.record not in served.store.ids()


def test_the_client_is_an_engine(served):
    engine = RemoteEngine(Client(served.url, TOKEN))
    request = request_of(Question(**(ASK | {"source": KERNEL + "/* engine */"})), find_shipped("original/L1/36"))
    assert engine.submit(request).result(30).verdict.correct
    assert engine.build(request).result(30).refused is None
    asked = request.model_copy(update={"gradient": "grad", "layout": "transposed", "sizes": "held_out", "track": "custom"})
    question = Question(problem="original/L1/36", source=KERNEL, **{name: getattr(asked, name) for name in CARRIED})
    assert request_of(question, request.problem).model_dump(include=set(CARRIED)) == asked.model_dump(include=set(CARRIED))
    with pytest.raises(BadService, match="carries no world"):
        engine.submit(request.model_copy(update={"world": 2})).result(30)
    engine.close()


def test_a_client_without_a_service_says_so_in_one_sentence(monkeypatch):
    monkeypatch.setattr("popcorn.client.TRIES", 2)
    with pytest.raises(BadService, match="did not answer"):
        Client("http://127.0.0.1:9", TOKEN).evaluate(**ASK)
    monkeypatch.delenv("POPCORN_SERVICE_TOKEN", raising=False)
    with pytest.raises(BadService, match="token"):
        Client("http://127.0.0.1:9")


def test_the_client_keeps_the_services_own_limits():
    assert (asked.MAX_SOURCE, asked.MAX_BATCH) == (MAX_SOURCE, MAX_BATCH)


def test_too_much_that_waits_is_refused(tmp_path):
    store = Store(tmp_path / "records")
    engine = PretendEngine(store, tmp_path / "log", 0.3)
    jobs = Jobs([Place(engine, "cpu")], most_waiting=2)
    from popcorn.service.jobs import Full

    with pytest.raises(Full):
        for number in range(4):
            jobs.submit(Question(**(ASK | {"source": f"{KERNEL}/* {number} */"})))
    jobs.close()


def test_a_device_that_fails_at_once_rests_and_the_others_answer(tmp_path, monkeypatch, capsys):
    judge = PretendEngine._judge

    def dead(self, request):
        if self.device == "1":
            raise RuntimeError("CUDA error: uncorrectable ECC error encountered")
        return judge(self, request)

    monkeypatch.setattr(PretendEngine, "_judge", dead)
    store = Store(tmp_path / "records")
    jobs = Jobs([Place(PretendEngine(store, tmp_path / "log", 0.05, device=str(index)), f"cuda:{index}") for index in range(3)])
    asked = [jobs.submit(Question(**(ASK | {"source": f"{KERNEL}/* {number} */"}))) for number in range(2)]
    for number in range(40):
        asked.append(jobs.submit(Question(**(ASK | {"source": f"{KERNEL}/* one more {number} */"}))))
        time.sleep(0.01)
    assert all(job.ended.wait(30) for job in asked)
    jobs.close()
    assert sum(job.error is not None for job in asked) <= 6, "five, and one that was under way"
    assert "cuda:1: faults of the harness broke off 5 runs in a row (RuntimeError: CUDA error" in capsys.readouterr().err
