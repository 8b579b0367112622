#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node with two pods and a client outside, as network namespaces, for render_kernel_test.py; runs inside `unshare -rnm`.

    kernel_node.py          (one JSON object in, one out)

in:  {"family": 4 | 6, "port": n, "load": [[program, argument…, text], …],
      "tries": [{"from": "client" | "pod-1" | "pod-2" | "node", "to": address, "port": n, "protocol": "tcp" | "udp", "times": n}, …]}
out: {"tries": [[[pod or "", address that the pod saw, or "refused", "silent"], …], …]}

    client 192.168.0.9 ── 192.168.0.1 node ─┬─ 10.244.1.1 ── 10.244.1.10 pod-1
                                            └─ 10.244.2.1 ── 10.244.2.10 pod-2       (twins: 2001:db8::9, fd00:244:1::a …)

The kernel itself says that nobody answers: a connection gives up after one SYN was sent again, so no clock of ours decides.
"""
import concurrent.futures
import ctypes
import errno
import json
import multiprocessing
import os
import socket
import subprocess
import sys

CLIENT, NODE = {4: "192.168.0.9", 6: "2001:db8::9"}, {4: "192.168.0.1", 6: "2001:db8::1"}
PODS = {"pod-1": {4: "10.244.1.10", 6: "fd00:244:1::a"}, "pod-2": {4: "10.244.2.10", 6: "fd00:244:2::a"}}
NETS = {4: "24", 6: "64"}
CLONE_NEWNET = 0x40000000
LIMIT_S = 120  # for what must come; nothing is decided by it
TCP_SYNCNT = 7


def command(*words, text=None):
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def gateway(family, pod):
    return PODS[pod][family].rsplit("." if family == 4 else ":", 1)[0] + (".1" if family == 4 else ":1")


def wire(family, name, inner, outer):
    """A namespace `name` with the address `inner`, and the node's end of its cable with `outer`."""
    flags = ["nodad"] if family == 6 else []
    command("ip", "netns", "add", name)
    command("ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
    command("ip", "addr", "add", f"{outer}/{NETS[family]}", "dev", f"to-{name}", *flags)
    command("ip", "link", "set", f"to-{name}", "up")
    inside = ("ip", "-n", name)
    command(*inside, "addr", "add", f"{inner}/{NETS[family]}", "dev", "eth0", *flags)
    command(*inside, "link", "set", "eth0", "up")
    command(*inside, "link", "set", "lo", "up")
    command(*inside, f"-{family}", "route", "add", "default", "via", outer)


def sysctl(name, value):
    with open("/proc/sys/net/" + name, "w", encoding="ascii") as f:
        f.write(value)


def build(family):
    command("mount", "-t", "tmpfs", "none", "/run")
    command("ip", "link", "set", "lo", "up")
    wire(family, "client", CLIENT[family], NODE[family])
    for pod, addresses in PODS.items():
        wire(family, pod, addresses[family], gateway(family, pod))
    command("ip", f"-{family}", "route", "add", "default", "via", CLIENT[family])
    sysctl("ipv4/ip_forward", "1")
    sysctl("ipv6/conf/all/forwarding", "1")
    sysctl("ipv4/icmp_ratelimit", "0")  # each refusal is sent
    sysctl("ipv6/icmp/ratelimit", "0")


def enter(name):
    if name != "node":
        with open(f"/run/netns/{name}", "rb") as f:
            if ctypes.CDLL(None, use_errno=True).setns(f.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"setns({name})")


def serve(family, pod, port, ready):
    """Each connection to the pod is told its name and the address that it sees."""
    enter(pod)
    with socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6) as listener:
        listener.bind((PODS[pod][family], port))
        listener.listen(1000)
        ready.set()
        while True:  # until the test ends the process
            connection, peer = listener.accept()
            with connection:
                connection.sendall(f"{pod} {peer[0]}".encode())


def echo(family, pod, port, ready):
    """The same for datagrams."""
    enter(pod)
    with socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.bind((PODS[pod][family], port))
        ready.set()
        while True:
            _, peer = s.recvfrom(100)
            s.sendto(f"{pod} {peer[0]}".encode(), peer)


def attempt(family, one):
    """A datagram is only sent where something answers, if only that the port is unreachable."""
    to, port, tcp = one["to"], one["port"], one["protocol"] == "tcp"
    with socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as s:
        s.settimeout(LIMIT_S)
        if not tcp:
            return datagram(s, to, port)
        s.setsockopt(socket.IPPROTO_TCP, TCP_SYNCNT, 1)
        try:
            s.connect((to, port))
            said = b""
            while part := s.recv(200):
                said += part
            return said.decode().split(" ")
        except OSError as error:
            if error.errno in (errno.ECONNREFUSED, errno.ETIMEDOUT):
                return ["", "refused" if error.errno == errno.ECONNREFUSED else "silent"]
            raise RuntimeError(f"{to} port {port}: {error}") from error


def datagram(s, to, port):
    s.connect((to, port))
    try:
        s.send(b"who?")
        return s.recv(200).decode().split(" ")
    except ConnectionRefusedError:
        return ["", "refused"]


def tries_of(family, source, tries, answers):
    """All tries of one source, several at a time: threads are in the namespace in which their process was."""
    enter(source)
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        futures = [[pool.submit(attempt, family, t) for _ in range(t["times"])] for t in tries]
        answers.put((source, [[f.result() for f in row] for row in futures]))


def main():
    asked = json.load(sys.stdin)
    family, tries = asked["family"], asked["tries"]
    build(family)
    for *words, text in asked["load"]:
        command(*words, text=text)
    answers, processes = multiprocessing.Queue(), []
    for pod in PODS:
        for server in (serve, echo):
            ready = multiprocessing.Event()
            processes.append(multiprocessing.Process(target=server, args=(family, pod, asked["port"], ready), daemon=True))
            processes[-1].start()
            if not ready.wait(LIMIT_S):
                raise RuntimeError(f"{pod} does not listen")
    sources = sorted({t["from"] for t in tries})
    for source in sources:
        own = [t for t in tries if t["from"] == source]
        processes.append(multiprocessing.Process(target=tries_of, args=(family, source, own, answers), daemon=True))
        processes[-1].start()
    found = {source: iter(rows) for source, rows in (answers.get(timeout=LIMIT_S) for _ in sources)}
    for process in processes:
        process.terminate()
    json.dump({"tries": [next(found[t["from"]]) for t in tries]}, sys.stdout)


if __name__ == "__main__":
    main()
