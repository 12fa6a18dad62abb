"""A fill's rows over HTTP: what a follower gets, who gets nothing, and that everything ends with the command."""

import http.client
import threading
import time

import pytest

from popcorn.errors import MissingFile, UnwritableStore
from popcorn.site.live import Event, follow
from popcorn.site.streaming import FOLLOWERS, Stream
from tests.test_dispatch import row

ROWS = [row("popcorn", speedup) for speedup in (2.0, 3.0, 4.0)]


def ask(port, method="GET", path="/events", host=None, origin=None):
    """(status, headers, first line of the answer)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{port}")
    if origin:
        connection.putheader("Origin", origin)
    connection.endheaders()
    answer = connection.getresponse()
    line = answer.readline()
    connection.close()
    return answer.status, dict(answer.getheaders()), line


def test_a_follower_gets_the_rows_before_it_and_after_it_and_the_end():
    got: list[Event] = []
    with Stream(0) as stream:
        stream.send(ROWS[0])
        follower = threading.Thread(target=lambda: got.extend(follow(stream.port)))
        follower.start()
        stream.send(ROWS[1])
        while stream.followers == 0:
            time.sleep(0.01)
        stream.send(ROWS[2])
    follower.join(10)
    assert [event.kind for event in got] == ["hello", "record", "record", "record", "done"]
    assert [event.record.id for event in got if event.record] == [one.id for one in ROWS]


def test_texts_and_raw_samples_stay_in_the_store():
    got: list[Event] = []
    with Stream(0) as stream:
        follower = threading.Thread(target=lambda: got.extend(follow(stream.port)))
        follower.start()
        stream.send(ROWS[0].model_copy(update={"subject": ROWS[0].subject.model_copy(update={"source": "long", "reference": "text"})}))
        while stream.followers == 0:
            time.sleep(0.01)
    follower.join(10)
    (record,) = [event.record for event in got if event.record]
    assert record.subject.source is None and record.subject.reference is None
    assert record.measurement.timing.candidate.blocks_s == ()
    assert record.measurement.timing.speedup == ROWS[0].measurement.timing.speedup


@pytest.mark.parametrize(
    ("request_of", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "evil.example:{port}"}, 403),
        ({"host": "127.0.0.1:1"}, 403),
        ({"host": "127.0.0.1.evil.example:{port}"}, 403),
        ({"host": "localhost:{port}"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://127.0.0.1.evil.example"}, 403),
        ({"origin": "http://[broken"}, 403),
        ({"origin": "null"}, 200),
        ({"origin": "http://localhost:8764"}, 200),
        ({"path": "/"}, 404),
        ({"path": "/../../etc/passwd"}, 404),
        ({"method": "POST"}, 405),
        ({"method": "DELETE"}, 405),
        ({"method": "OPTIONS"}, 204),
        ({"method": "OPTIONS", "origin": "https://evil.example"}, 403),
    ],
    ids=str,
)
def test_only_this_machine_may_read_and_nobody_may_write(request_of, status):
    with Stream(0) as stream:
        told = {key: value.format(port=stream.port) if key == "host" else value for key, value in request_of.items()}
        assert ask(stream.port, **told)[0] == status


def test_it_listens_on_this_machine_alone():
    with Stream(0) as stream:
        assert stream._server.server_address[0] == "127.0.0.1"


def test_a_browser_is_told_that_it_may_read():
    with Stream(0) as stream:
        _, headers, line = ask(stream.port)
    assert headers["Content-Type"].startswith("text/event-stream") and headers["Access-Control-Allow-Private-Network"] == "true"
    assert line == b"event: hello\n"


def test_silence_is_broken_by_a_comment_line():
    with Stream(0, beat_s=0.05) as stream:
        connection = http.client.HTTPConnection("127.0.0.1", stream.port, timeout=60)
        connection.request("GET", "/events")
        answer = connection.getresponse()
        lines = [answer.readline() for _ in range(4)]
        connection.close()
    assert lines[3] == b": still here\n"


def test_nobody_is_served_beyond_the_limit_or_after_the_end():
    with Stream(0) as stream:
        port = stream.port
        assert [stream.admit() for _ in range(FOLLOWERS)] == [True] * FOLLOWERS
        assert ask(port)[0] == 503
        for _ in range(FOLLOWERS):
            stream.leave()
    with pytest.raises(MissingFile, match="no fill listens"):
        next(follow(port, timeout_s=2))


def test_a_port_in_use_is_said_and_names_the_option():
    with Stream(0) as stream, pytest.raises(UnwritableStore, match="--live PORT"):
        Stream(stream.port)
