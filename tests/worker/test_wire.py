"""Frames: what is sent arrives, and what a hostile end sends is Malformed, Closed or TimedOut within the deadline."""

import json
import socket
import struct
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.worker.wire import MAX_FRAME_BYTES, Channel, Closed, Malformed, TimedOut


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    yield Channel(ours), theirs
    ours.close()
    theirs.close()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=4), max_size=4))
@settings(max_examples=60, deadline=None)
def test_messages_arrive_as_sent_and_in_order(messages):
    ours, theirs = map(Channel, socket.socketpair())
    for message in messages:
        ours.send(message)
    assert [theirs.receive(time.monotonic() + 5) for _ in messages] == messages
    ours.close()
    with pytest.raises(Closed):
        theirs.receive()
    theirs.close()


def frame(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


MALFORMED = {
    "longer than allowed": struct.pack(">I", MAX_FRAME_BYTES + 1),
    "four gigabytes": b"\xff\xff\xff\xff",
    "not JSON": frame(b"hello"),
    "not UTF-8": frame(b"\xff\xfe{}"),
    "empty": frame(b""),
    "a list": frame(b"[1]"),
    "a number": frame(b"1"),
    "NaN": frame(b'{"a": NaN}'),
    "Infinity": frame(b'{"a": -Infinity}'),
    "a number beyond all floats": frame(b'{"a": 1e999}'),
    "an integer of a million digits": frame(b'{"a": ' + b"9" * 1_000_000 + b"}"),
    "nested without end": frame(b'{"a":' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}"),
    "a pickle": frame(b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94."),
}


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED.keys())
def test_what_is_no_message_is_malformed(ends, sent):
    ours, theirs = ends
    threading.Thread(target=theirs.sendall, args=(sent,), daemon=True).start()
    with pytest.raises(Malformed):
        ours.receive(time.monotonic() + 10)


def test_half_a_frame_and_silence_is_a_timeout(ends):
    ours, theirs = ends
    theirs.sendall(struct.pack(">I", 100) + b"{")
    start = time.monotonic()
    with pytest.raises(TimedOut):
        ours.receive(start + 0.2)
    assert time.monotonic() - start < 20


def test_half_a_frame_and_a_closed_end_is_closed(ends):
    ours, theirs = ends
    theirs.sendall(struct.pack(">I", 100) + b"{")
    theirs.close()
    with pytest.raises(Closed):
        ours.receive(time.monotonic() + 5)


def test_a_frame_that_drips_does_not_outlive_the_deadline(ends):
    ours, theirs = ends
    stop = threading.Event()

    def drip() -> None:
        theirs.sendall(struct.pack(">I", MAX_FRAME_BYTES))
        while not stop.is_set():
            theirs.send(b" ")

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    start = time.monotonic()
    with pytest.raises(TimedOut):
        ours.receive(start + 0.3)
    assert time.monotonic() - start < 20
    stop.set()
    thread.join(5)


def test_an_end_that_never_reads_does_not_hold_the_sender_up(ends):
    ours, _ = ends
    start = time.monotonic()
    with pytest.raises(TimedOut):
        ours.send({"a": "x" * (8 << 20)}, start + 0.3)
    assert time.monotonic() - start < 20


def test_too_long_a_message_is_not_sent_and_the_conversation_goes_on(ends):
    ours, theirs = ends
    with pytest.raises(Malformed):
        ours.send({"a": "x" * MAX_FRAME_BYTES})
    ours.send({"next": 1})
    assert Channel(theirs).receive(time.monotonic() + 5) == {"next": 1}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"bytes", object()])
def test_what_json_cannot_say_is_not_sent(ends, value):
    with pytest.raises((ValueError, TypeError)):
        ends[0].send({"a": value})


def test_half_a_surrogate_pair_becomes_text_that_can_be_written(ends):
    ours, theirs = ends
    theirs.sendall(frame(b'{"a": "x\\ud800y", "b": "\\uD83D\\uDE00"}'))
    message = ours.receive(time.monotonic() + 5)
    assert message == {"a": "x?y", "b": "😀"} and json.dumps(message, ensure_ascii=False).encode()


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_random_bytes_never_do_more(noise):
    ours, theirs = socket.socketpair()
    theirs.sendall(noise)
    theirs.close()
    channel = Channel(ours)
    try:
        while True:
            assert isinstance(channel.receive(time.monotonic() + 1), dict)
    except (Closed, Malformed):
        pass
    finally:
        ours.close()
