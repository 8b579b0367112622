#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A port of free_port.py is its caller's alone.

    free_port_test.py     (TAP on stdout)
"""
import errno
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from free_port import free_port  # noqa: E402  pylint: disable=wrong-import-position


def trouble(call, *args):
    """The errno; 0: none."""
    try:
        call(*args)
    except OSError as error:
        return error.errno
    return 0


def test_port__until_its_server_comes__refuses_connections_and_other_sockets():
    place = ("127.0.0.1", free_port())
    with socket.socket() as client, socket.socket() as other:
        got = trouble(client.connect, place), trouble(other.bind, place)
    assert got == (errno.ECONNREFUSED, errno.EADDRINUSE), got


def test_port__one_server_after_the_other__listens():
    place = ("127.0.0.1", free_port())
    for _ in range(2):
        with socket.create_server(place) as server, socket.create_connection(place), server.accept()[0] as accepted:
            assert accepted.getsockname() == place, accepted


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[1:])))
