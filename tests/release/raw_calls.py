# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls of tracker and servers with any bytes: just enough of HTTP/2 and protobuf for what no client of ours would send; imported by the checks beside it."""
import socket
import ssl
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
LARGEST_FRAME = 16384


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def number(value, bits):
    """HPACK's integers."""
    most = (1 << bits) - 1
    if value < most:
        return bytes((value,))
    text, value = bytes((most,)), value - most
    while value >= 128:
        text, value = text + bytes((value % 128 + 128,)), value // 128
    return text + bytes((value,))


def header(name, value):
    """Literal, never indexed, without Huffman's code."""
    return b"\x10" + b"".join(number(len(text), 7) + text for text in (name.encode(), value.encode()))


def varint(value):
    text = b""
    while value >= 128:
        text, value = text + bytes((value % 128 + 128,)), value // 128
    return text + bytes((value,))


def protobuf(*fields):
    """Fields as (number, value): whole numbers, texts, bytes, or lists of further fields."""
    text = b""
    for field, value in fields:
        if isinstance(value, int):
            text += varint(field << 3) + varint(value)
        else:
            value = protobuf(*value) if isinstance(value, list) else value.encode() if isinstance(value, str) else value
            text += varint(field << 3 | 2) + varint(len(value)) + value
    return text


def parsed(text):
    """Fields of a message by number, the last of each; texts as bytes."""
    fields, at = {}, 0

    def take():
        nonlocal at
        value = shift = 0
        while True:
            byte, at = text[at], at + 1
            value, shift = value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(text):
        tag = take()
        if tag & 7 == 0:
            fields[tag >> 3] = take()
        else:
            size = {1: 8, 5: 4}.get(tag & 7) or take()
            fields[tag >> 3], at = text[at : at + size], at + size
    return fields


def blob_name(blob):
    """core/base/hash.h of a blob, under which servers keep it."""
    whole = (1 << 64) - 1
    state = 0x2D358DCCAA6C78A5

    def mix(a, b):
        product = a * b
        return product & whole ^ product >> 64

    def add(value):
        nonlocal state
        turned = (state << 29 | state >> 35) & whole
        state = mix(state ^ value ^ 0x8BB84B93962EACC9, 0x9E3779B97F4A7C15 ^ turned)

    add(len(blob))
    for at in range(0, len(blob), 8):
        word = blob[at : at + 8]
        add(int.from_bytes(word, "little") ^ (len(word) << 56 if len(word) < 8 else 0))
    return f"{mix(state ^ 0x4B33A62ED433D4A3, 0xD1B54A32D192ED03):016x}"


class Connection:
    """Calls one after the other; streams that were opened before stay open."""

    def __init__(self, address, ca=None, token=None, lease=None, seconds=10):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), seconds)
        if ca:
            context = ssl.create_default_context(cafile=ca)
            context.set_alpn_protocols(["h2"])
            self.socket = context.wrap_socket(self.socket, server_hostname=host)
        self.address, self.scheme = address, "https" if ca else "http"
        self.beside = {"x-tunesmith-token": token, "x-tunesmith-lease": lease}  # of each call
        self.stream = -1  # the youngest
        self.buffer, self.ended = b"", False  # whether the other side has ended that stream
        self.room_all = self.room_first = self.room = 65535  # bytes that may be sent: in all, on a new stream, on the youngest one
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 1 << 30)) + frame(WINDOW, 0, 0, struct.pack(">I", 1 << 30)))

    def receive(self):
        """Stream, kind, flags and payload of the next frame; what concerns the connection is dealt with."""
        while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
            more = self.socket.recv(1 << 16)
            if not more:
                raise ConnectionError("the other side closed the connection")
            self.buffer += more
        end = 9 + int.from_bytes(self.buffer[:3], "big")
        kind, flags, stream, payload = self.buffer[3], self.buffer[4], int.from_bytes(self.buffer[5:9], "big"), self.buffer[9:end]
        self.buffer = self.buffer[end:]
        if kind in (SETTINGS, PING) and not flags & ACK:
            self.socket.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
        if kind == SETTINGS:
            for setting, value in struct.iter_unpack(">HI", payload):
                if setting == 4:
                    self.room, self.room_first = self.room + value - self.room_first, value
        if kind == WINDOW:
            self.room_all += int.from_bytes(payload, "big") if stream == 0 else 0
            self.room += int.from_bytes(payload, "big") if stream == self.stream else 0
        if kind == GOAWAY or (stream == self.stream and (kind == RST_STREAM or (kind in (DATA, HEADERS) and flags & END_STREAM))):
            self.ended = True
        return stream, kind, flags, payload

    def lines(self, method):
        """The headers of a call."""
        lines = [(":method", "POST"), (":scheme", self.scheme), (":path", f"/tunesmith.remote.{method}"), (":authority", self.address), ("te", "trailers"), ("content-type", "application/grpc")]
        return lines + [line for line in self.beside.items() if line[1]]

    def begin(self, method, message, prefix=None, more=()):
        """Sends one message, in `prefix` what stands before it, `more` further headers, and gives the stream."""
        self.stream, self.ended, self.room = self.stream + 2, False, self.room_first
        self.socket.sendall(frame(HEADERS, END_HEADERS, self.stream, b"".join(header(*line) for line in (*self.lines(method), *more))))
        self.pour((struct.pack(">BI", 0, len(message)) if prefix is None else prefix) + message)
        return self.stream

    def pour(self, text):
        """Sends bytes on the youngest stream, as fast as the other side takes them, and ends it."""
        rest = memoryview(text)
        while rest and not self.ended:
            size = min(self.room, self.room_all, LARGEST_FRAME, len(rest))
            if size <= 0:
                self.receive()
                continue
            self.room, self.room_all = self.room - size, self.room_all - size
            self.socket.sendall(frame(DATA, 0 if len(rest) > size else END_STREAM, self.stream, bytes(rest[:size])))
            rest = rest[size:]

    def next_message(self, stream):
        """The next message on a stream; None: it ended without one."""
        text = b""
        while len(text) < 5 or len(text) < 5 + int.from_bytes(text[1:5], "big"):
            if self.ended and stream == self.stream:
                return None
            where, kind, flags, payload = self.receive()
            if where == stream and kind == DATA:
                text += payload
            if kind == GOAWAY or (where == stream and (kind == RST_STREAM or (flags & END_STREAM and kind == HEADERS))):
                return None
        return text[5:]

    def call(self, method, message, prefix=None, more=()):
        """The answer to one message, or None: it was refused."""
        try:
            return self.next_message(self.begin(method, message, prefix, more))
        except (ConnectionError, ssl.SSLError, TimeoutError):
            return None

    def close(self):
        self.socket.close()
