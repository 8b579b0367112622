#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Vectors of the provider's specification that need real packets or the whole program; each test carries the vector's name.

    vectors_test.py TRIMTAB_SIM TRIMTAB [TEST…]      (TAP; skipped only where `unshare -Urnm` is not allowed)

The tests run one after the other on one world (product.py); each takes its Services away again.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import product  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position
from product import configured, events, tidy  # noqa: E402  pylint: disable=wrong-import-position

MARK = "TRIMTAB_LOCAL_VECTORS_TEST"
FIRST = "192.0.2.48"
OWN_PORT = 2222  # of a daemon on the director
SORRY_PORT = 30099
SILENT_S = 1  # a client that nobody answers gives up after this; nothing is decided by it


def test_c19__namespace_selector__rbac_lets_namespaces_be_listed(c):
    for role, wanted in (("all", True), ("allocator", True), ("director", False)):
        said = world.command(c.trimtab_exe, "rbac", "--cloud-provider=local", f"--local-role={role}", "-o", "json")
        rules = [r for item in json.loads(said)["items"] for r in item.get("rules", []) if "namespaces" in r["resources"]]
        assert [r["verbs"] for r in rules] == ([["list"]] if wanted else []), (role, rules)


def test_c19__namespace_gets_its_label__the_waiting_service_gets_an_address(c):
    """The Service itself is not edited, nor is any other one."""
    pool = "pools:\n- name: public\n  addresses: [192.0.2.48/29]\n  namespaceSelector: {matchLabels: {tier: gold}}\n"
    with configured(c, pool):
        c.start()
        c.post("web")
        c.until("an event", lambda: [m for _, m in events(c, "web") if "no free address" in m or "is not for namespace demo" in m])
        assert not c.ingress("web")
        c.must("PATCH", "/api/v1/namespaces/demo", {"metadata": {"labels": {"tier": "gold"}}}, content_type="application/merge-patch+json")
        assert c.addresses("web") == [FIRST]
        c.must("PATCH", "/api/v1/namespaces/demo", {"metadata": {"labels": {"tier": None}}}, content_type="application/merge-patch+json")
        c.remove("web")


def test_g07__port_that_no_service_has__refused_over_tcp_and_udp(c):
    c.serve("web")
    for source in (world.CLIENT, world.CLIENT_TOO):
        assert world.tcp(FIRST, 81, source=source) == "refused"
    assert world.udp(FIRST, 81) == "refused"
    assert world.tcp(FIRST, 80)[0] in world.NODES
    c.remove("web")


def test_g08__closed_ports_drop__silence(c):
    with configured(c, "pools:\n- {name: public, addresses: [192.0.2.48/29]}\ndirector: {closedPorts: drop}\n"):
        c.start()
        c.serve("web")
        c.until("it is served", lambda: world.tcp(FIRST, 80, limit_s=SILENT_S) not in ("silent", "refused"))
        assert world.tcp(FIRST, 81, limit_s=SILENT_S) == "silent"
        c.remove("web")


def test_g09__ping__answered_while_the_address_is_held(c):
    c.serve("web")
    c.until("it is held", lambda: product.held() == [FIRST])
    world.ping(FIRST)
    c.remove("web")
    assert product.held() == []


def test_g10__daemon_of_the_director__not_reachable_at_the_address(c):
    with socket.socket() as daemon:
        daemon.bind(("0.0.0.0", OWN_PORT))
        daemon.listen(10)
        assert world.tcp("192.0.2.1", OWN_PORT, limit_s=SILENT_S) == "silent"  # taken, and not answered
        c.serve("web")
        c.until("it is held", lambda: product.held() == [FIRST])
        assert world.tcp(FIRST, OWN_PORT) == "refused"
        c.remove("web")


def hairpin(on):
    for n in world.NODES:
        world.command("bridge", "link", "set", "dev", f"to-{n}", "hairpin", "on" if on else "off")


def filtered_bridge():
    """Frames on bridges pass nftables: br_netfilter is there, and on."""
    try:
        with open("/proc/sys/net/bridge/bridge-nf-call-iptables", encoding="ascii") as f:
            return f.read().strip() != "0"
    except FileNotFoundError:
        return False


def explained(c, name):
    """The output of explain, its lines joined."""
    return " ".join(c.run_command("explain", f"demo/{name}")[1].split())


def test_g12__node_is_its_own_client__works_with_hairpin_mode_and_explain_says_without(c):
    c.serve("web")
    text = "targets are on bridge br0 of this machine"
    c.until("n1 reaches itself as the director", lambda: world.tcp(FIRST, 80, name="n1") == ["n1", "10.1.0.254"])
    assert text not in explained(c, "web"), explained(c, "web")
    hairpin(False)
    try:
        said = explained(c, "web")
        if filtered_bridge():
            assert f"{text}, and hairpin mode is off on its ports to-n1, to-n2, to-n3: a target that is a client of this address loses " \
                   "connections that come to itself (bridge link set dev to-n1 hairpin on)" in said, said
            c.until("a SYN is lost", lambda: world.tcp(FIRST, 80, name="n1", limit_s=SILENT_S) == "silent")
        else:
            assert text not in said, said
            c.until("n1 reaches itself", lambda: world.tcp(FIRST, 80, name="n1") == ["n1", "10.1.0.254"])
        assert world.tcp(FIRST, 80)[0] in world.NODES  # other clients do not notice
    finally:
        hairpin(True)
    c.remove("web")


def sorry_and_nodes():
    """(sorry server has slots, nodes that have)"""
    listed = world.command("nft", "list", "table", "inet", "trimtab")
    return f". {SORRY_PORT}" in listed, {n for n in world.NODES if f"{world.node_address(n)} . {world.TCP_PORT}" in listed}


def test_l04_l05__all_checks_fail__sorry_answers_alone_until_a_node_is_back(c):
    pool = "pools:\n- {name: public, addresses: [192.0.2.48/29]}\ndirector: {drainTimeout: 1s, checks: {interval: 500ms, timeout: 400ms}}\n"
    with configured(c, pool):
        c.start()
        c.serve("web", {"local.trimtab.io/sorry": f"{world.node_address('n3')}:{SORRY_PORT}"})
        c.until("all nodes have slots", lambda: sorry_and_nodes() == (False, set(world.NODES)))
        clients = world.Clients(FIRST, 80)
        SERVERS.sick.update(world.NODES)
        c.until("the sorry server alone has slots", lambda: sorry_and_nodes() == (True, set()))
        c.until("it answers", lambda: world.tcp(FIRST, 80)[0] == "sorry")
        apology = world.Connection(FIRST, 80)
        assert apology.ask()[0] == "sorry"
        SERVERS.sick.discard("n1")
        c.until("n1 alone has slots", lambda: sorry_and_nodes() == (False, {"n1"}))
        c.until("the sorry server has drained", lambda: has_ended(apology))
        c.until("n1 answers", lambda: world.tcp(FIRST, 80)[0] == "n1")
        SERVERS.sick.clear()
        c.until("all nodes have slots", lambda: sorry_and_nodes() == (False, set(world.NODES)))
        seen = clients.stop()
        print(f"# {dict(seen)}")
        assert set(seen) <= {*world.NODES, "sorry"}, seen  # nobody was refused on the way
        c.remove("web")


def has_ended(connection):
    try:
        connection.ask()
        return False
    except ConnectionResetError:
        return True


def test_connections_of_a_service_that_is_deleted__end_all(c):
    """With its targets, with one that left and drains, and with the sorry server; the next Service at the address has none of them."""
    pool = "pools:\n- {name: public, addresses: [192.0.2.48/29]}\ndirector: {checks: {interval: 500ms, timeout: 400ms}}\n"
    with configured(c, pool):
        c.start()
        c.serve("web", {"local.trimtab.io/sorry": f"{world.node_address('n3')}:{SORRY_PORT}"})
        SERVERS.sick.update(world.NODES)
        c.until("the sorry server alone has slots", lambda: sorry_and_nodes() == (True, set()))
        held = {"sorry": world.Connection(FIRST, 80)}
        SERVERS.sick.clear()
        c.until("all nodes have slots", lambda: sorry_and_nodes() == (False, set(world.NODES)))
        while len(held) < 1 + len(world.NODES):
            more = world.Connection(FIRST, 80)
            held.setdefault(more.ask()[0], more)
        c.carry_out("web", lambda: c.edit("web", ports=product.ports_of([(80, 30081)])))
        assert all(connection.ask()[0] == name for name, connection in held.items()), "open ones go on while they drain"
        c.remove("web")
        left = world.command("conntrack", "-L", "-p", "tcp", "--orig-dst", FIRST).splitlines()
        assert not [line for line in left if any(f"src={world.node_address(n)} " in line for n in world.NODES)], left
        assert c.serve("other", ports=[(80, world.TCP_PORT)]) == [FIRST]
        assert [name for name, connection in held.items() if not has_ended(connection)] == []
        c.remove("other")


def told(c, name, reason, words):
    c.until(f"{reason} of {name}", lambda: [m for r, m in events(c, name) if r == reason and words in m])


V4 = "pools:\n- {name: public, addresses: [192.0.2.48/29]}\n"
BOTH = 'pools:\n- {name: public, addresses: [192.0.2.48/29, "2001:db8:2::30/125"]}\n'


def test_a24_a25_a28__second_family__told_added_and_taken_away(c):
    with configured(c, V4):
        c.start()
        assert c.serve("web", ipFamilyPolicy="PreferDualStack", ipFamilies=["IPv4", "IPv6"]) == [FIRST]
        told(c, "web", "SecondFamilyMissing", "no address of the second family is free")
        c.stop()
        with open(c.config, "w", encoding="utf-8") as f:
            f.write("apiVersion: local.trimtab.io/v1\nreuseDelay: 0s\n" + BOTH)
        c.start()
        c.until("both", lambda: c.addresses("web") == [FIRST, "2001:db8:2::30"])
        c.until("both are held", lambda: product.held() == [FIRST])
        assert world.tcp("2001:db8:2::30", 80)[0] in world.NODES
        c.edit("web", ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"], clusterIPs=c.must("GET", c.path("web"))["spec"]["clusterIPs"][:1])
        c.until("one", lambda: c.addresses("web") == [FIRST])
        c.until("the other is let go", lambda: "2001:db8:2::30" not in world.command("ip", "-6", "addr", "show"))
        assert world.tcp(FIRST, 80)[0] in world.NODES
        c.remove("web")


def test_a26__dual_stack_required_and_one_family__error_and_no_half(c):
    with configured(c, V4):
        c.start()
        c.post("web", ipFamilyPolicy="RequireDualStack", ipFamilies=["IPv4", "IPv6"])
        told(c, "web", "SyncLoadBalancerFailed", "no free address for IPv6")
        assert not c.ingress("web") and product.held() == [] and product.elements() == {}
        assert c.serve("other", ports=[(80, 30081)]) == [FIRST]  # nothing is kept for the first one
        c.remove("web", "other")


def test_h06_h07__sharers__a_key_taken_away_is_told_and_one_that_goes_takes_its_ports_alone(c):
    key = {"local.trimtab.io/share": "dns"}
    assert c.serve("a", key, ports=[(80, world.TCP_PORT)]) == c.serve("b", key, ports=[(81, 30081)]) == [FIRST]
    c.must("PATCH", c.path("a"), {"metadata": {"annotations": {"local.trimtab.io/share": None}}}, content_type="application/merge-patch+json")
    told(c, "a", "PortsShared", "other Services are at the address under another key")
    assert c.serve("d", key, ports=[(82, 30082)]) != [FIRST]
    assert world.tcp(FIRST, 80)[0] in world.NODES
    clients = world.Clients(FIRST, 80)
    c.remove("b", "d")
    c.until("connections after it", lambda: clients.done > 20)
    seen = clients.stop()
    assert set(seen) <= set(world.NODES), seen
    assert world.tcp(FIRST, 81) == "refused" and product.held() == [FIRST]
    c.remove("a")


def test_a39__ignore_of_a_served_service__all_of_it_goes_and_comes_back(c):
    c.serve("web")

    def ignore(value):
        c.must("PATCH", c.path("web"), {"metadata": {"annotations": {"local.trimtab.io/ignore": value}}}, content_type="application/merge-patch+json")
    ignore("true")
    c.until("no address", lambda: not c.ingress("web"))
    assert product.held() == [] and product.elements() == {}
    ignore(None)
    assert c.addresses("web") == [FIRST]
    c.until("it is served", lambda: world.tcp(FIRST, 80)[0] in world.NODES)
    c.remove("web")


def test_g05__range_of_the_other_family__closed_and_told(c):
    c.serve("web", loadBalancerSourceRanges=["2001:db8::/32"])
    told(c, "web", "SourceRangeIgnored", f"ranges of the other family open nothing at {FIRST}")
    told(c, "web", "LoadBalancerServesNobody", "loadBalancerSourceRanges has no range of the address's family")
    assert "all4" not in product.elements() and "from4" not in product.elements()
    c.remove("web")


def test_l03__all_checks_fail_and_fail_open_is_off__closed_and_told(c):
    with configured(c, V4 + "director: {failOpen: false, checks: {interval: 500ms, timeout: 400ms}}\n"):
        c.start()
        c.serve("web")
        c.until("it is served", lambda: world.tcp(FIRST, 80)[0] in world.NODES)
        SERVERS.sick.update(world.NODES)
        told(c, "web", "NoTargets", "health checks of all targets fail; no client is served (failOpen: false)")
        c.until("it is closed", lambda: world.tcp(FIRST, 80) == "refused")
        SERVERS.sick.clear()
        c.until("it is served again", lambda: world.tcp(FIRST, 80)[0] in world.NODES)
        c.remove("web")


def test_f08__second_process_of_one_instance__names_the_first(c):
    said = c.start_fails()
    assert f'another trimtab with instance "trimtab" runs here (pid {c.trimtab.pid})' in said, said
    done = subprocess.run([c.trimtab_exe, *c.flags(), f"--kubeconfig={c.kubeconfig}", "--local-state-dump"], capture_output=True,
                          env=c.environment(), check=False)
    assert done.returncode == 0, done  # which only reads


def main():
    global SERVERS  # pylint: disable=global-statement
    programs, chosen = sys.argv[1:3], sys.argv[3:]
    if not world.here(MARK):
        for program in ("unshare", "nft", "ip", "bridge"):
            if not shutil.which(program):
                return tap.skip(f"{program} is absent")
        status = world.reexec_unshared(os.path.abspath(__file__), sys.argv[1:], MARK)
        return tap.skip(status) if isinstance(status, str) else status
    world.build()
    SERVERS = world.Servers(more=[("n3", SORRY_PORT, "sorry")])
    with tempfile.TemporaryDirectory() as folder, product.Cluster(programs, folder) as cluster:
        cluster.start()
        return tap.run([(name, tidy(test)) for name, test in tap.tests_of(globals(), chosen)], cluster)


SERVERS = None
if __name__ == "__main__":
    sys.exit(main())
