#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Swaps of all targets of a Service, and of its source ranges, under load, by the whole product: no client is refused.

    swaps_test.py TRIMTAB_SIM TRIMTAB [TEST…]      (TAP; skipped only where `unshare -Urnm` is not allowed)

Each test changes what the Service asks for again and again, so that every target it had goes and others come, while a client connects
without a pause.  One of the tests runs, in turn by commit; with TRIMTAB_SAMPLE=all each of them makes SWAPS_OF_ALL swaps, and ranges are
edited RANGES_OF_ALL times.
"""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import product  # noqa: E402  pylint: disable=wrong-import-position
import sample  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position

MARK = "TRIMTAB_SWAPS_TEST"
SECOND = 30081
FIRST, FIRST6 = "192.0.2.48", "2001:db8:2::30"
SWAPS_OF_ALL = 3500
RANGES_OF_ALL = 5000
# Each holds the client, 192.0.2.10: within the ones before, around them, with others beside them, everybody.
RANGES = (["192.0.2.0/24"], ["192.0.2.0/25"], ["192.0.2.0/26", "203.0.113.0/24"], ["192.0.2.0/25", "203.0.113.0/25"], None,
          ["192.0.2.0/28"], ["192.0.2.10/32", "198.51.100.0/24"], ["192.0.2.8/29"], ["192.0.0.0/12"], None)
RANGES6 = (["2001:db8:2::/48"], ["2001:db8:2::/64"], ["2001:db8::/32"], ["2001:db8:2::10/128"], None)


def swap(c, address, change, swaps=60):
    """change(i) asks for the targets of the i-th swap; each is awaited, and then that a connection has come through."""
    wanted = SWAPS_OF_ALL if CHOSEN.parts == 1 else swaps
    clients = world.Clients(address, 80)
    for i in range(wanted):
        before, done = product.generation(), clients.done
        c.carry_out("web", lambda: change(i))  # pylint: disable=cell-var-from-loop
        assert product.generation() != before, f"swap {i} wrote nothing"
        c.until(f"a connection after swap {i}", lambda: clients.done > done)  # pylint: disable=cell-var-from-loop
    seen = clients.stop()
    print(f"# {wanted} swaps, {clients.done} connections: {dict(seen)}")
    assert clients.done >= wanted, clients.done
    assert set(seen) <= set(world.NODES), f"lost: {dict(seen)}"
    c.remove("web")
    assert product.elements() == {}, product.elements()


def node_port(c):
    return lambda i: c.edit("web", ports=product.ports_of([(80, (SECOND, world.TCP_PORT)[i % 2])]))


def test_node_port__swapped__no_connection_is_lost(c):
    c.serve("web")
    swap(c, FIRST, node_port(c))


def test_node_port_ipv6__swapped__no_connection_is_lost(c):
    c.serve("web", ipFamilies=["IPv6"])
    swap(c, FIRST6, node_port(c))


def test_pods_of_policy_local__move_to_another_node__no_connection_is_lost(c):
    c.serve("web", externalTrafficPolicy="Local")
    c.must("PUT", "/sim/pods/demo/web", {"n1": 1})
    c.until("n1 answers", lambda: set(product.curl(FIRST)) == {"n1"})
    swap(c, FIRST, lambda i: c.must("PUT", "/sim/pods/demo/web", {world.NODES[(i + 1) % 3]: 1}), swaps=20)


def test_slots__move_to_another_map__no_connection_is_lost(c):
    c.serve("web")
    swap(c, FIRST, lambda i: c.edit("web", sessionAffinity=("ClientIP", "None")[i % 2]))


def edit_ranges(c, address, ranges, **spec):
    wanted = RANGES_OF_ALL if CHOSEN.parts == 1 else 100
    c.serve("web", ports=[(53, world.UDP_PORT, "UDP")], **spec)
    flood = world.Flood(address, 53)
    for i in range(wanted):
        before, sent = product.generation(), flood.sent
        c.carry_out("web", lambda: c.edit("web", loadBalancerSourceRanges=ranges[i % len(ranges)]))  # pylint: disable=cell-var-from-loop
        assert product.generation() != before, f"edit {i} wrote nothing"
        c.until(f"datagrams after edit {i}", lambda: flood.sent > sent + 100)  # pylint: disable=cell-var-from-loop
    seen = flood.stop()
    print(f"# {wanted} edits, {seen[0]} datagrams sent, {seen[1]} refused")
    assert seen[1] == 0, f"{seen[1]} of {seen[0]} datagrams refused"
    c.remove("web")
    assert product.elements() == {}, product.elements()


def test_source_ranges__edited__no_client_of_old_and_new_ones_is_refused(c):
    edit_ranges(c, FIRST, RANGES)


def test_source_ranges_ipv6__edited__no_client_of_old_and_new_ones_is_refused(c):
    edit_ranges(c, FIRST6, RANGES6, ipFamilies=["IPv6"])


def main():
    programs, wanted = sys.argv[1:3], sys.argv[3:]
    if not world.here(MARK):
        for program in ("unshare", "nft", "ip", "curl"):
            if not shutil.which(program):
                return tap.skip(f"{program} is absent")
        status = world.reexec_unshared(os.path.abspath(__file__), sys.argv[1:], MARK)
        return tap.skip(status) if isinstance(status, str) else status
    print(CHOSEN.line())
    tests = [t for t in tap.tests_of(globals(), wanted) if wanted or takes(t[0])]
    world.build()
    world.Servers(more=[(n, SECOND, n) for n in world.NODES])
    with tempfile.TemporaryDirectory() as folder, product.Cluster(programs, folder) as cluster:
        cluster.start()
        return tap.run(tests, cluster)


def takes(name):
    """Returns whether this run plays the test: the turn counts, not the name's hash, so that each turn has exactly one."""
    names = sorted(n for n in globals() if n.startswith("test_"))
    return CHOSEN.parts == 1 or names.index(name) == CHOSEN.turn % len(names)


CHOSEN = sample.from_env(ci=6, quick=6)
if __name__ == "__main__":
    sys.exit(main())
