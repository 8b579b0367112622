#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The provider local from a Service to packets: trimtab and trimtab-sim as they are, curl as a client, nft and ip as judges.

    local_test.py TRIMTAB_SIM TRIMTAB [TEST…]      (TAP; skipped only where `unshare -Urnm` is not allowed)

The tests run one after the other on one world (product.py); each takes its Services away again.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import product  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position
from product import curl, elements, held, tidy  # noqa: E402  pylint: disable=wrong-import-position

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "local", "web.yaml")
MARK = "TRIMTAB_LOCAL_TEST"
FIRST, FIRST6 = "192.0.2.48", "2001:db8:2::30"
ALL = {"n1", "n2", "n3"}
FOREIGN = ["table inet keep { chain c { type filter hook input priority 0; policy accept; tcp dport 9 drop; }; }",
           ("ip", "route", "add", "local", "192.0.2.55/32", "dev", "lo", "table", "local", "proto", "99")]


def expect(got, wanted):
    assert got == wanted, f"{got}, not {wanted}"


def nodes_at(address, port=80, times=8):
    """Which nodes answer."""
    return set(curl(address, port, times))


def until_nodes(cluster, wanted, *where):
    cluster.until(f"{sorted(wanted)} answer", lambda: nodes_at(*where) == wanted)


def expect_nothing():
    expect(elements(), {})
    expect(held(), [])


def test_service__made__curl_reaches_all_nodes_in_turn(c):
    expect(c.serve("web"), [FIRST])
    counts = curl(FIRST, times=32)
    expect((set(counts), sorted(counts.values())), (ALL, [10, 10, 12]))  # 16 slots for three nodes
    expect(held(), [FIRST])
    service = c.must("GET", c.path("web"))
    expect(c.ingress("web")[0].get("ipMode"), "Proxy")
    expect(service["metadata"]["annotations"].get("local.trimtab.io/ip-allocated-from-pool"), "public")
    expect(service["metadata"]["finalizers"], ["service.kubernetes.io/load-balancer-cleanup"])
    expect(curl(FIRST, port=81), {"refused": 1})
    c.remove("web")
    expect_nothing()


def test_plan__of_a_manifest__says_the_address_that_it_would_get(c):
    code, text = c.run_command("plan", "-f", EXAMPLE)
    expect(code, 2)
    for word in ("pool public", f"frontend       {FIRST}:80/tcp", f"hold           {FIRST}", "Nothing has been changed"):
        assert word in text, f"no {word} in:\n{text}"
    expect_nothing()


def test_plan_and_explain__nothing_to_do_and_the_way_of_a_packet(c):
    c.serve("web")
    code, text = c.run_command("plan")
    expect(code, 0)
    assert f"demo/web  {FIRST}  up to date" in text, text
    code, text = c.run_command("explain", "demo/web")
    expect(code, 0)
    for word in (FIRST, "pool public", "3 targets of port 80", "node, port 30080", "announced on                 eth0"):
        assert word in text, f"no {word} in:\n{text}"
    c.remove("web")


def test_source_ranges__changed__let_in_whom_they_name(c):
    c.serve("web", loadBalancerSourceRanges=[f"{world.CLIENT_TOO}/32"])
    expect(curl(FIRST, source=world.CLIENT), {"refused": 1})
    assert set(curl(FIRST, source=world.CLIENT_TOO)) < ALL
    c.edit("web", loadBalancerSourceRanges=[f"{world.CLIENT}/32"])
    c.until("the other client alone", lambda: (set(curl(FIRST, source=world.CLIENT)) < ALL, curl(FIRST, source=world.CLIENT_TOO)) ==
            (True, {"refused": 1}))
    c.edit("web", loadBalancerSourceRanges=None)
    c.until("both", lambda: nodes_at(FIRST) == ALL and set(curl(FIRST, source=world.CLIENT_TOO)) < ALL)
    c.remove("web")
    expect_nothing()


def test_second_port__comes_and_goes__the_first_serves_on(c):
    c.serve("web")
    c.edit("web", ports=product.ports_of([(80, world.TCP_PORT), (8080, SECOND)]))
    c.until("the second port", lambda: curl(FIRST, 8080) == {"second": 1})
    expect(nodes_at(FIRST), ALL)
    c.edit("web", ports=product.ports_of([(80, world.TCP_PORT)]))
    c.until("one port", lambda: curl(FIRST, 8080) == {"refused": 1})
    expect(nodes_at(FIRST), ALL)
    c.remove("web")


def test_node__deleted__open_connections_stay_and_new_ones_go_elsewhere(c):
    c.serve("web")
    opened = []
    while "n3" not in [said for _, said in opened]:
        connection = world.Connection(FIRST, 80)
        opened.append((connection, connection.ask()[0]))
    c.must("DELETE", "/sim/nodes/n3")
    until_nodes(c, {"n1", "n2"}, FIRST)
    for connection, said in opened:
        expect(connection.ask()[0], said)
        connection.close()
    c.must("POST", "/api/v1/nodes", product.node("n3"))
    until_nodes(c, ALL, FIRST)
    c.remove("web")


def test_node__gets_another_address_or_loses_it__followed_without_an_edit_of_the_service(c):
    """As a machine that starts with an address of DHCP, or whose addresses come after its registration."""
    c.serve("web")
    addresses = product.node("n3")["status"]["addresses"]
    for now, nodes in ([a for a in addresses if ":" in a["address"]], {"n1", "n2"}), (addresses, ALL):
        c.must("PATCH", "/api/v1/nodes/n3/status", {"status": {"addresses": now}}, content_type="application/merge-patch+json")
        until_nodes(c, nodes, FIRST)
    c.remove("web")


def kind_of_slots():
    """How the map of the one port chooses: {"rr"}, {"hash"}, or two kinds between two transactions that should be one."""
    return {name.split("_")[1] for name, found in elements().items() if name.startswith("f4_") and found}


def ended(connection):
    try:
        return not connection.ask()
    except ConnectionResetError:
        return True


def test_scheduler_and_affinity__edited__open_connections_go_on(c):
    c.serve("web")
    opened = [world.Connection(FIRST, 80) for _ in range(4)]
    said = [x.ask()[0] for x in opened]
    scheduler, rr = "local.trimtab.io/scheduler", {"sessionAffinity": "None", "sessionAffinityConfig": None}
    edits = [({"metadata": {"annotations": {scheduler: "sh"}}}, "hash"), ({"metadata": {"annotations": {scheduler: "mh"}}}, "hash"),
             ({"metadata": {"annotations": {scheduler: None}}}, "rr"),
             ({"spec": {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}}}, "hash"),
             ({"spec": {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 90}}}}, "hash"), ({"spec": rr}, "rr")]
    for body, kind in edits:
        c.until_edited("demo/web", lambda body=body: c.must("PATCH", c.path("web"), body, content_type="application/merge-patch+json"))
        expect(kind_of_slots(), {kind})
        expect([x.ask()[0] for x in opened], said)
        expect(len(nodes_at(FIRST)), 1 if kind == "hash" else 3)
    exclude = "node.kubernetes.io/exclude-from-external-load-balancers"
    for value, wanted in (("true", {"refused"}), (None, ALL)):
        for n in ALL:
            c.must("PATCH", f"/api/v1/nodes/{n}", {"metadata": {"labels": {exclude: value}}}, content_type="application/merge-patch+json")
        until_nodes(c, wanted, FIRST)
        while opened:
            expect(ended(opened.pop()), True)  # the port is closed for all
    c.remove("web")
    expect_nothing()


def test_policy_local__follows_the_pods(c):
    c.serve("web", externalTrafficPolicy="Local")
    for pods, wanted in (({"n1": 1}, {"n1"}), ({"n2": 2, "n3": 1}, {"n2", "n3"}), ({"n3": 1}, {"n3"})):
        c.must("PUT", "/sim/pods/demo/web", pods)
        until_nodes(c, wanted, FIRST)
    c.must("PUT", "/sim/pods/demo/web", {})
    until_nodes(c, {"refused"}, FIRST, 80, 1)
    c.remove("web")
    expect_nothing()


def test_type__changed_to_cluster_ip__gives_the_address_back(c):
    c.serve("web")
    c.edit("web", type="ClusterIP")
    c.until("no address and no finalizer", lambda: not c.ingress("web") and "finalizers" not in c.must("GET", c.path("web"))["metadata"])
    expect_nothing()
    c.remove("web")


def test_dual_stack__both_addresses_answer(c):
    expect(c.serve("web", ipFamilyPolicy="RequireDualStack", ipFamilies=["IPv4", "IPv6"]), [FIRST, FIRST6])
    expect(nodes_at(FIRST), ALL)
    expect(nodes_at(FIRST6), ALL)
    expect(curl(FIRST6, 81), {"refused": 1})
    c.remove("web")
    expect_nothing()
    assert FIRST6 not in world.command("ip", "-6", "addr"), "the address is still on an interface"


def test_shared_address__each_service_takes_its_own_ports_away(c):
    key = {"local.trimtab.io/share": "k"}
    expect(c.serve("a", key), [FIRST])
    expect(c.serve("b", key, ports=((81, SECOND),)), [FIRST])
    expect((nodes_at(FIRST), curl(FIRST, 81)), (ALL, {"second": 1}))
    c.remove("a")
    expect((curl(FIRST), curl(FIRST, 81)), ({"refused": 1}, {"second": 1}))
    c.remove("b")
    expect_nothing()


def test_tcp_and_udp_of_one_number__both_answer(c):
    c.must("POST", "/api/v1/namespaces/demo/services", {"metadata": {"name": "dns"}, "spec": {"type": "LoadBalancer", "ports": [
        {"name": "t", "port": 53, "nodePort": world.TCP_PORT, "protocol": "TCP"},
        {"name": "u", "port": 53, "nodePort": world.UDP_PORT, "protocol": "UDP"}]}})
    expect(c.addresses("dns"), [FIRST])
    assert world.tcp(FIRST, 53)[0] in ALL and world.udp(FIRST, 53)[0] in ALL
    c.remove("dns")
    expect_nothing()


def test_changed_by_hand__while_trimtab_is_not_there__plan_tells_it_and_the_start_mends_it(c):
    c.serve("web")
    c.stop()
    world.command("nft", "delete", "element", "inet", "trimtab", "all4", "{ %s . tcp . 80 }" % FIRST)
    code, text = c.run_command("plan")
    expect(code, 2)
    assert f"source ranges  {FIRST}:80/tcp" in text, text
    c.start()
    until_nodes(c, ALL, FIRST)
    expect(held(), [FIRST])
    c.remove("web")
    expect_nothing()


def test_state_dump__beside_a_running_trimtab__is_json_of_what_the_kernel_has(c):
    c.serve("web")
    done = subprocess.run([c.trimtab_exe, *c.flags(), f"--kubeconfig={c.kubeconfig}", "--local-state-dump"], capture_output=True, text=True,
                          env=c.environment(), check=False)
    assert done.returncode == 0, done
    state = json.loads(done.stdout)
    expect(state["table"]["whole"], True)
    [address] = state["addresses"]
    expect((address["address"], address["service"], address["held"]), (FIRST, "demo/web", True))
    [front] = address["frontends"]
    expect((front["frontend"], front["sourceRanges"], len(front["slots"])), (f"{FIRST}:80/tcp", ["0.0.0.0/0"], 16))
    c.remove("web")


def test_restart_after_kill_or_sigterm__writes_nothing(c):
    c.serve("web")
    c.serve("six", ports=((80, SECOND),), ipFamilies=["IPv6"], ipFamilyPolicy="SingleStack")
    c.until("all is written", lambda: c.run_command("plan")[0] == 0)
    for end in (c.kill, c.stop):
        end()
        before, elements_before, writes = product.generation(), elements(), product.RouteWrites()
        expect(nodes_at(FIRST), ALL)
        c.start()
        c.until("all is synced", lambda: len([s for s in ("web", "six") if c.logged("Synced", f"demo/{s}")]) == 2)
        expect((product.generation(), writes.count(), elements()), (before, 0, elements_before))
    expect((c.addresses("web"), c.addresses("six")), ([FIRST], [FIRST6]))
    expect(nodes_at(FIRST), ALL)
    c.remove("web", "six")
    expect_nothing()


def test_forwarding_off__says_which_sysctl(c):
    for path, name in (("ipv4/ip_forward", "net.ipv4.ip_forward"), ("ipv6/conf/all/forwarding", "net.ipv6.conf.all.forwarding")):
        world.sysctl(path, 0)
        try:
            c.must("POST", "/api/v1/namespaces/demo/services", {"metadata": {"name": "web"}, "spec": {
                "type": "LoadBalancer", "ipFamilyPolicy": "RequireDualStack", "ports": product.ports_of([(80, world.TCP_PORT)])}})
            c.until("an event", lambda name=name: [e for e in c.must("GET", "/api/v1/namespaces/demo/events")["items"] if
                                                   f"{name} is 0: this machine forwards nothing (sysctl -w {name}=1)" in e["message"]])
            expect(c.ingress("web"), [])
            expect_nothing()
        finally:
            world.sysctl(path, 1)
        expect(c.addresses("web"), [FIRST, FIRST6])  # soon, and without a change of the Service
        c.remove("web")


def test_service_gone_while_trimtab_was_not_there__is_an_orphan(c):
    c.serve("web")
    c.kill()
    c.must("PATCH", c.path("web"), {"metadata": {"finalizers": None}}, content_type="application/merge-patch+json")
    c.must("DELETE", c.path("web"))
    code, text = c.run_command("plan")
    expect(code, 2)
    for word in ("Service demo/web", "the cluster has no such Service any more", "0 to create, 0 to change"):
        assert word in text, text
    assert f"- frontend       {FIRST}:80/tcp" in text, text
    code, text = c.run_command("orphans")
    expect(code, 2)
    for word in ("Service demo/web", f"frontend  {FIRST}:80/tcp", f"guard     {FIRST}"):
        assert word in text, text
    expect(held(), [FIRST])
    code, text = c.run_command("orphans", "--delete", "--yes")
    expect(code, 0)
    assert "No orphans are left" in text, text
    expect_nothing()
    c.start()


def test_orphans__of_two_services_and_of_nobody__all_go_at_once(c):
    """The three have nothing in common but that no deletion of a Service would take them along any more."""
    c.serve("a")
    c.serve("b", ports=((80, SECOND),))
    c.serve("kept", ports=((81, SECOND + 1),))
    addresses = sorted(a for n in ("a", "b", "kept") for a in c.addresses(n) if "." in a)
    [kept] = [a for a in c.addresses("kept") if "." in a]
    c.kill()
    for name in ("a", "b"):
        c.must("PATCH", c.path(name), {"metadata": {"finalizers": None}}, content_type="application/merge-patch+json")
        c.must("DELETE", c.path(name))
    world.command("nft", "add", "element", "inet", "trimtab", "vip4", "{ 192.0.2.54 }")
    world.command("ip", "route", "add", "local", "192.0.2.53", "dev", "lo", "table", "local", "proto", "116")
    code, text = c.run_command("orphans")
    expect(code, 2)
    for word in ("Service demo/a", "Service demo/b", "guard     192.0.2.54", "hold      192.0.2.53"):
        assert word in text, text
    assert "by hand" not in text and kept not in text, text
    code, text = c.run_command("orphans", "--delete", "--yes")
    expect(code, 0)
    assert "No orphans are left" in text, text
    expect(held(), [kept])
    expect([e["elem"]["val"] if isinstance(e, dict) else e for e in elements()["vip4"]], [kept])
    assert len(addresses) == 3
    c.start()
    c.remove("kept")
    expect_nothing()


def test_second_trimtab__says_which_process_has_the_instance(c):
    said = c.start_fails()
    assert f'another trimtab with instance "trimtab" runs here (pid {c.trimtab.pid})' in said, said
    assert "end it, or give this one another name (instance: NAME in its cloud config)" in said, said


def test_no_capability__says_which_one(c):
    said = c.start_fails("setpriv", "--bounding-set=-net_admin,-net_raw", "--inh-caps=-all")
    assert "CAP_NET_ADMIN" in said, said


def other_config(c, old, new):
    """A cloud-config of its own for what follows."""
    path = os.path.join(c.folder, "other.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(product.CONFIG.replace(old, new))
    return path


def test_config__two_machines_would_answer_arp__is_refused_by_check_and_start(c):
    config = c.config
    try:
        for old, new, words in (("pools:", "role: director\ndirector: {redundancy: ecmp}\npools:", "two machines would answer ARP for one address"),):
            c.config = other_config(c, old, new)
            said = c.start_fails()
            assert words in said, said
            done = subprocess.run([c.trimtab_exe, "check-config", "--cloud-provider=local", f"--cloud-config={c.config}"], capture_output=True,
                                  text=True, check=False)
            assert done.returncode == 1 and words in done.stderr, done
    finally:
        c.config = config


def test_foreign_table__is_left_alone(c):
    config = c.config
    try:
        c.config = other_config(c, "pools:", "instance: keep\npools:")
        said = c.start_fails()
        assert "table inet keep exists and is not ours; choose another instance" in said, said
    finally:
        c.config = config


def test_outside__is_as_before(c):
    expect_nothing()
    expect(product.outside(), BEFORE)
    assert c.trimtab.poll() is None


def main():
    global BEFORE  # pylint: disable=global-statement
    programs, chosen = sys.argv[1:3], sys.argv[3:]
    if not world.here(MARK):
        for program in ("unshare", "nft", "ip", "curl"):
            if not shutil.which(program):
                return tap.skip(f"{program} is absent")
        status = world.reexec_unshared(os.path.abspath(__file__), sys.argv[1:], MARK)
        return tap.skip(status) if isinstance(status, str) else status
    world.build()
    world.Servers(more=[(n, SECOND, "second") for n in world.NODES])
    world.command("nft", "-f", "-", text=FOREIGN[0])
    world.command(*FOREIGN[1])
    BEFORE = product.outside()
    with tempfile.TemporaryDirectory() as folder, product.Cluster(programs, folder) as cluster:
        cluster.start()
        return tap.run([(name, tidy(test)) for name, test in tap.tests_of(globals(), chosen)], cluster)


SECOND, BEFORE = 30081, None
if __name__ == "__main__":
    sys.exit(main())
