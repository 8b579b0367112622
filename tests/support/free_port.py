# SPDX-License-Identifier: Apache-2.0
"""Ports of 127.0.0.1 for programs that want a number instead of 0."""
import socket

held = []  # until this process ends


def free_port():
    """A port on which nobody listens, for one program after the other that binds it with SO_REUSEADDR, as servers do.  It stays
    bound here: the kernel gives it neither to another server nor to a client until this process ends."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 0))
    held.append(s)
    return s.getsockname()[1]
