#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An allocator and several directors of the provider local, with real packets: who holds an address, and that two never do.

    directors_test.py TRIMTAB_SIM TRIMTAB [TEST…]      (TAP; skipped only where `unshare -Urnm` is not allowed)

Without names a run plays the first test and a share of the others (tests/support/sample.py).
"""
import os
import shutil
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sample  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
import directors  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position
from directors import addresses, exported, inside, owner  # noqa: E402  pylint: disable=wrong-import-position

MARK = "TRIMTAB_LOCAL_DIRECTORS_TEST"
PARTS = 8
VIP = "192.0.2.64"


def cluster(*args):
    return directors.Cluster(PROGRAMS, *args)


def test_roles__allocator_writes_statuses__directors_program_them_and_write_no_service():
    with cluster() as c:
        [vip] = c.serve("web", ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"])
        assert vip == VIP
        service = c.must("GET", c.path("web"))
        assert service["metadata"]["annotations"]["local.trimtab.io/ip-allocated-from-pool"] == "public"
        assert service["metadata"]["finalizers"], service
        c.direct("d1", "d2")
        c.until_owners([vip], ["d1", "d2"])
        assert world.tcp(vip, 80)[0] in world.NODES
        for d in ("d1", "d2"):  # the one that waits has everything but the address
            c.until(f"{d} has the frontend", lambda d=d: directors.elements(d, "set", "all4"))
            assert directors.elements(d, "set", "vip4"), d
        assert directors.lifetime(owner(vip, ["d1", "d2"]), vip) <= directors.LEASE_S
        assert c.must("GET", c.path("web")) == service
        holder = owner(vip, ["d1", "d2"])
        code, said = c.run_command("explain", "demo/web", "--local-role=director")
        assert code == 0 and "held by" in said and holder in said, said
        code, said = c.run_command("explain", "demo/web", "--local-role=allocator")
        assert code == 0 and f"has the address {vip}; directors forward its traffic." in said, said
        code, said = c.run_command("plan", "demo/web", "--local-role=allocator")
        assert code == 0 and "up to date" in said, said
        c.remove("web")
        c.until_held({})
        c.until("nobody has the address", lambda: not c.holders(vip))
        c.until("nobody has the frontend", lambda: not any(directors.elements(d, "set", "vip4") for d in ("d1", "d2")))


def test_kill__holder__the_other_serves_after_the_lease_and_never_two():
    with cluster() as c:
        [vip] = c.serve("web", ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"])
        c.direct("d1", "d2")
        c.until_owners([vip], ["d1", "d2"])
        first = owner(vip, ["d1", "d2"])
        [second] = {"d1", "d2"} - {first}
        asker = directors.Asker(vip)
        c.until("the holder answers", lambda: asker.last == directors.mac_of(first))
        c.end(first, signal.SIGKILL)
        c.until_held({vip: second})
        c.until("the other answers", lambda: asker.last == directors.mac_of(second))
        assert world.tcp(vip, 80)[0] in world.NODES
        c.direct(first)  # it comes back, and gets its address back without a gap of a lease
        c.until_held({vip: first})
        c.until("the first answers", lambda: asker.last == directors.mac_of(first))
        asker.stop()
        assert not asker.doubles(), asker.doubles()
        print(f"# {asker.asked} questions, {len(asker.answers)} answered, none twice")


def ends(connection):
    """The next question is not answered: a reset, or silence."""
    connection.socket.settimeout(1)
    try:
        connection.ask()
        return False
    except (ConnectionResetError, BrokenPipeError, TimeoutError):
        return True


def test_r10__holder_ends__open_connections_of_nft_end_as_the_docs_say():
    with cluster() as c:
        [vip] = c.serve("web", ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"])
        c.direct("d1", "d2")
        c.until_owners([vip], ["d1", "d2"])
        first = owner(vip, ["d1", "d2"])
        [second] = {"d1", "d2"} - {first}
        opened = [world.Connection(vip, 80) for _ in range(4)]
        assert all(x.ask()[0] in world.NODES for x in opened)
        assert c.end(first) == 0
        c.until_held({vip: second})
        asker = directors.Asker(vip)
        c.until("the other answers", lambda: asker.last == directors.mac_of(second))
        asker.stop()
        c.until("new connections come about", lambda: world.tcp(vip, 80)[0] in world.NODES)
        assert all(ends(x) for x in opened)
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "providers", "local.md"), encoding="utf-8") as f:
            assert "With `nft` and the NAT modes they end" in f.read()


def test_sigterm__holder__hands_over_at_once_and_never_two():
    with cluster() as c:
        vips = c.serve_many(8)
        c.direct("d1", "d2")
        c.until_owners(vips, ["d1", "d2"])
        mine = next(v for v in vips if owner(v, ["d1", "d2"]) == "d1")
        open_ones = [world.Connection(v, 80) for v in vips]
        assert all(x.ask()[0] in world.NODES for x in open_ones)
        asker = directors.Asker(mine)
        c.until("d1 answers", lambda: asker.last == directors.mac_of("d1"))
        assert c.end("d1") == 0
        assert not addresses("d1") & set(vips)  # nothing waits for a lifetime
        c.until_held({v: "d2" for v in vips})
        c.until("d2 answers", lambda: asker.last == directors.mac_of("d2"))
        assert c.leases()["d1"]["spec"]["holderIdentity"] == ""
        asker.stop()
        assert not asker.doubles(), asker.doubles()
        assert all(world.tcp(v, 80)[0] in world.NODES for v in vips)
        for v, x in zip(vips, open_ones):  # those of d2 were not touched
            if owner(v, ["d1", "d2"]) == "d2":
                assert x.ask()[0] in world.NODES
            x.close()
        silent = max(gaps(asker), default=0)
        print(f"# at most {silent} questions in a row, 30 ms apart, without an answer")


def gaps(asker):
    """Lengths of runs of questions without an answer, between answered ones."""
    asked = sorted(asker.answers)
    return [b - a - 1 for a, b in zip(asked, asked[1:])]


def test_join__third_director__takes_its_share_and_no_other_moves():
    with cluster() as c:
        vips = c.serve_many(directors.MANY_N)
        c.direct("d1", "d2")
        c.until_owners(vips, ["d1", "d2"])
        before = {v: c.holders(v) for v in vips}
        c.direct("d3")
        c.until_owners(vips, directors.DIRECTORS)
        moved = [v for v in vips if c.holders(v) != before[v]]
        assert moved and all(c.holders(v) == ["d3"] for v in moved), moved
        print(f"# {len(moved)} of {len(vips)} addresses moved, all to d3")
        c.label("d3", "please")
        c.until_owners(vips, ["d1", "d2"])
        c.label("d3", None)
        c.until_owners(vips, directors.DIRECTORS)


def test_rest__two_directors__renew_and_list_nothing():
    with cluster() as c:
        vips = c.serve_many(6)
        c.direct("d1", "d2")
        c.until_owners(vips, ["d1", "d2"])

        def window():
            """Requests about Leases while 20 renewals were written."""
            before = c.calls()["kubernetes"]
            c.until("both renew", lambda: c.calls()["kubernetes"]["leases.patch"] >= before["leases.patch"] + 20)
            return {k: n - before.get(k, 0) for k, n in c.calls()["kubernetes"].items() if k.startswith("leases.")}

        windows = []

        def rests():
            windows.append(window())
            return windows[-1].get("leases.list", 0) == 0  # a busy machine makes a watch late, and then it is listed

        c.until("nothing is listed", rests)
        print(f"# {windows}")


def test_api__away_for_all__nobody_moves():
    with cluster() as c:
        vips = c.serve_many(6)
        c.direct("d1", "d2")
        c.until_owners(vips, ["d1", "d2"])
        before = {v: c.holders(v) for v in vips}
        c.sim.process.send_signal(signal.SIGSTOP)
        try:
            # Two renewals are half a second apart at least.
            renewals = {d: directors.Renewals(d) for d in ("d1", "d2")}
            c.until("lifetimes were renewed beyond two leases", lambda: all(
                renewals[d].count(v) >= 4 * directors.LEASE_S for v, [d] in before.items()))
            assert {v: c.holders(v) for v in vips} == before
            c.until("both say that they keep what they hold", lambda: all(
                "this director keeps what it holds" in c.director_log(d) for d in ("d1", "d2")))
            assert all(world.tcp(v, 80)[0] in world.NODES for v in vips)
        finally:
            c.sim.process.send_signal(signal.SIGCONT)
        leases = c.leases()
        c.until("both renew again", lambda: all(c.leases()[d]["spec"]["renewTime"] != leases[d]["spec"]["renewTime"] for d in ("d1", "d2")))
        assert {v: c.holders(v) for v in vips} == before


def test_sigterm__api_server_silent__lets_go_and_ends():
    with cluster() as c:
        vips = c.serve_many(4)
        c.direct("d1")
        c.until_owners(vips, ["d1"])
        c.sim.process.send_signal(signal.SIGSTOP)
        try:
            c.until("d1 knows it", lambda: "this director keeps what it holds" in c.director_log("d1"))
            assert c.end("d1") == 0
            assert not addresses("d1") & set(vips)
        finally:
            c.sim.process.send_signal(signal.SIGCONT)


def test_api__cut_off_alone__the_other_takes_over_and_the_first_hears_it():
    with cluster() as c:
        vips = c.serve_many(6)
        c.direct("d1", "d2")
        c.until_owners(vips, ["d1", "d2"])
        c.forwarders["d1"].cut()
        c.until_held({v: "d2" for v in vips})
        c.until("d1 says so", lambda: "does not reach the API server and lets it go" in c.director_log("d1"))
        assert all(world.tcp(v, 80)[0] in world.NODES for v in vips)
        c.forwarders["d1"].mend()
        c.until_owners(vips, ["d1", "d2"])


def test_stop__for_longer_than_the_lease__wakes_up_without_addresses():
    with cluster() as c:
        vips = c.serve_many(6)
        c.direct("d1", "d2")
        c.until_owners(vips, ["d1", "d2"])
        askers = [directors.Asker(v) for v in vips if owner(v, ["d1", "d2"]) == "d1"][:2]
        c.directors["d1"].send_signal(signal.SIGSTOP)
        c.until_held({v: "d2" for v in vips})
        c.directors["d1"].send_signal(signal.SIGCONT)
        c.until_owners(vips, ["d1", "d2"])
        for asker in askers:
            asker.stop()
            assert not asker.doubles(), asker.doubles()


def route_of_client(vip, names):
    """The routes that a routing daemon would have announced to the client's router."""
    hops = [w for d in names for w in ("nexthop", "via", directors.address_of(d))]
    inside("client", "ip", "route", "replace", vip, *hops)


def test_ecmp__all_hold__sigterm_withdraws_the_route_first():
    with cluster(directors.ECMP) as c:
        [vip] = c.serve("web", ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"])
        c.direct("d1", "d2")
        for d in ("d1", "d2"):
            c.until(f"{d} has the route", lambda d=d: vip in exported(d) and vip in addresses(d))
        route_of_client(vip, ["d1", "d2"])
        assert {world.tcp(vip, 80)[0] for _ in range(20)} <= set(world.NODES)
        routes = directors.RouteDeletions("d1")
        process = c.directors.pop("d1")
        process.send_signal(signal.SIGTERM)
        c.until("d1 withdraws its route", lambda: vip not in exported("d1"))
        route_of_client(vip, ["d2"])
        assert process.wait(directors.controller_world.LIMIT_S) == 0
        assert vip not in addresses("d1")
        assert routes.seen() == [(vip, "blackhole"), (vip, "local")]  # R11: neighbours first
        assert {world.tcp(vip, 80)[0] for _ in range(20)} <= set(world.NODES)
        assert vip in exported("d2") and not c.leases()
        inside("client", "ip", "route", "flush", vip)


def test_role_all__two_with_an_election__the_leader_holds_and_never_two():
    with cluster(directors.ALL) as c:
        [vip] = c.serve_later("web")
        flags = ["--local-role=all", "--leader-elect=true", "--leader-elect-resource-name=trimtab", "--leader-elect-lease-duration=6s",
                 "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=1s"]
        c.direct("d1", flags=flags, account="trimtab")
        c.until_held({vip: "d1"})
        assert directors.lifetime("d1", vip) <= 3  # others lead three seconds after this one may not write any more
        asker = directors.Asker(vip)
        c.direct("d2", flags=flags, account="trimtab")
        c.until("d2 waits", lambda: "Attempting to acquire" in c.director_log("d2"))
        c.end("d1", signal.SIGKILL)
        c.until_held({vip: "d2"})
        c.until("d2 answers", lambda: asker.last == directors.mac_of("d2"))
        c.direct("d1", flags=flags, account="trimtab")
        c.until("d1 waits", lambda: "Attempting to acquire" in c.director_log("d1"))
        assert c.end("d2") == 0
        c.until_held({vip: "d1"})
        c.until("d1 answers", lambda: asker.last == directors.mac_of("d1"))
        asker.stop()
        assert not asker.doubles(), asker.doubles()
        assert world.tcp(vip, 80)[0] in world.NODES


def test_name__of_another_machine__holds_nothing():
    with cluster() as c:
        [vip] = c.serve("web", ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"])
        c.direct("d1")
        c.until_held({vip: "d1"})
        c.direct("d2", name="d1", machine="another-machine")
        c.until("d2 says so", lambda: 'director \\"d1\\" runs on another machine' in c.director_log("d2"))
        assert c.holders(vip) == ["d1"]
        c.end("d1", signal.SIGKILL)  # the name is free when it was not heard of for as long as a Lease
        c.until_held({vip: "d2"})


def main():
    global PROGRAMS  # pylint: disable=global-statement
    PROGRAMS, chosen = sys.argv[1:3], sys.argv[3:]
    if not world.here(MARK):
        for program in ("unshare", "nft", "ip", "sysctl"):
            if not shutil.which(program):
                return tap.skip(f"{program} is absent")
        status = world.reexec_unshared(os.path.abspath(__file__), sys.argv[1:], MARK)
        return tap.skip(status) if isinstance(status, str) else status
    directors.build()
    directors.servers()
    part = sample.from_env(ci=PARTS, quick=PARTS)
    if not chosen:
        print(part.line())
    tests = tap.tests_of(globals(), chosen)
    return tap.run([t for i, t in enumerate(tests) if chosen or i == 0 or part.parts == 1 or i % part.parts == part.turn % part.parts])


PROGRAMS = None
if __name__ == "__main__":
    sys.exit(main())
