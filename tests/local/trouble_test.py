#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The provider local in surroundings that do not fit: pools, interfaces, other programs' addresses, too many Services.

    trouble_test.py TRIMTAB_SIM TRIMTAB [TEST…]      (TAP; skipped only where `unshare -Urnm` is not allowed)

Each test says what trimtab tells about it, and that what works goes on.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import product  # noqa: E402  pylint: disable=wrong-import-position
import controller_world  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position
from product import configured, events, tidy  # noqa: E402  pylint: disable=wrong-import-position

MARK = "TRIMTAB_LOCAL_TROUBLE_TEST"
FIRST = "192.0.2.48"
MANY = 150


def test_pool__has_an_address_of_this_machine__named_with_line_and_interface(c):
    with configured(c, "pools:\n- name: public\n  addresses: [192.0.2.0/28]\n"):
        said = c.start_fails()
        assert 'other.yaml:4: pool "public" contains 192.0.2.1, which this machine has on eth0' in said, said


def test_kube_ipvs0__has_service_addresses__no_reason_not_to_start(c):
    """kube-proxy in mode ipvs binds the address of each Service to this interface, also on the director."""
    c.serve("web")
    c.until("all is written", lambda: c.run_command("plan")[0] == 0)
    world.command("ip", "link", "add", "kube-ipvs0", "type", "veth", "peer", "name", "kube-other")  # dummy there; a host may lack that
    try:
        world.command("ip", "addr", "add", f"{FIRST}/32", "dev", "kube-ipvs0")
        c.kill()
        c.start()
        c.until("the Service is synced", lambda: c.logged("Synced", "demo/web"))
        assert c.addresses("web") == [FIRST]
    finally:
        world.command("ip", "link", "del", "kube-ipvs0")
    c.remove("web")


def test_keepalived__has_addresses_of_the_pool__start_goes_on_and_no_other_service_gets_them(c):
    c.serve("web")
    c.until("all is written", lambda: c.run_command("plan")[0] == 0)
    for address in (FIRST, "192.0.2.49"):
        world.command("ip", "addr", "add", f"{address}/32", "dev", "eth0")
    try:
        c.kill()
        c.start()
        assert c.logged('pool \\"public\\" contains 192.0.2.49, which this machine has on eth0; no other Service gets it'), c.log()
        c.until("the Service is synced", lambda: c.logged("Synced", "demo/web"))
        assert c.addresses("web") == [FIRST] and world.tcp(FIRST, 80)[0] in world.NODES
        assert c.serve("other", ports=((80, 30181),)) == ["192.0.2.50"]
        c.post("asks", {"local.trimtab.io/addresses": "192.0.2.49"}, ports=((80, 30182),))
        c.until("an event", lambda: [m for _, m in events(c, "asks") if "192.0.2.49 is reserved for this machine" in m])
    finally:
        for address in (FIRST, "192.0.2.49"):
            world.command("ip", "addr", "del", f"{address}/32", "dev", "eth0")
    c.kill()
    c.start()
    c.until("it gets the address", lambda: [i["ip"] for i in c.ingress("asks")] == ["192.0.2.49"])
    c.remove("web", "other", "asks")


def test_keepalived__has_an_address_with_the_machines_network__start_goes_on(c):
    """`virtual_ipaddress { 192.0.2.48/24 }`: eth0 has 192.0.2.1 in that network, too."""
    c.serve("web")
    world.command("ip", "addr", "add", f"{FIRST}/24", "dev", "eth0")
    try:
        c.kill()
        c.start()
        assert c.logged(f'pool \\"public\\" contains {FIRST}, which this machine has on eth0; no other Service gets it'), c.log()
        c.until("the Service is synced", lambda: c.logged("Synced", "demo/web"))
        assert c.addresses("web") == [FIRST] and world.tcp(FIRST, 80)[0] in world.NODES
        assert c.serve("other", ports=((80, 30181),)) == ["192.0.2.49"]
    finally:
        world.command("ip", "addr", "del", f"{FIRST}/24", "dev", "eth0")
    c.kill()
    c.start()  # until then the address is kept from others
    c.until("a client is answered", lambda: world.tcp(FIRST, 80)[0] in world.NODES)
    c.remove("web", "other")


def test_ipv6__off_on_the_link__said_and_ipv4_goes_on(c):
    c.serve("web")
    c.until("IPv4 is served", lambda: world.tcp(FIRST, 80)[0] in world.NODES)
    world.command("sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=1")
    try:
        c.post("six", ports=[(81, 30081)], ipFamilies=["IPv6"])
        [six] = c.addresses("six")
        text = f"no interface of this machine has an address in a subnet with {six}: no host asks for it by ARP"
        c.until("an event", lambda: ("NotAnnounced", text) in events(c, "six"))
        assert world.tcp(FIRST, 80)[0] in world.NODES
    finally:
        world.command("sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=0")
        world.command("ip", "addr", "add", "2001:db8:2::1/64", "dev", "eth0", "nodad")

    def refused_by_the_node():
        try:
            return world.tcp(six, 81, limit_s=1) == "refused"
        except OSError:  # no neighbour answers
            return False
    c.until("IPv6 is announced without an edit", refused_by_the_node)
    c.remove("web", "six")


def test_pool_of_no_subnet_here__warned_of_at_the_start_and_told_to_the_service(c):
    with configured(c, "pools:\n- name: public\n  addresses: [198.51.100.8/29]\n- {name: routed, autoAssign: false, addresses: [198.51.100.16/29], "
                       "announce: {by: routes}}\n"):
        c.start()
        assert c.logged('other.yaml:4: pool \\"public\\": no interface has an address in 198.51.100.8/29; no host will ask for it by ARP'), c.log()
        assert not c.logged("routed"), c.log()
        [address] = c.serve("web")
        text = f"no interface of this machine has an address in a subnet with {address}: no host asks for it by ARP"
        c.until("an event", lambda: ("NotAnnounced", text) in events(c, "web"))
        assert text in " ".join(c.run_command("explain", "demo/web")[1].split())
        c.serve("far", {"local.trimtab.io/pool": "routed"}, ports=((80, 30182),))
        c.until("it is served", lambda: "EnsuredLoadBalancer" in [e[0] for e in events(c, "far")])
        assert "NotAnnounced" not in [e[0] for e in events(c, "far")]
        assert "no host asks" not in c.run_command("explain", "demo/far")[1]
        c.remove("web", "far")


def test_interfaces_of_a_service__that_are_not_there__told(c):
    c.serve("web", {"local.trimtab.io/interfaces": "ens*"})
    c.until("an event", lambda: [m for r, m in events(c, "web") if r == "NotAnnounced" and "that annotation local.trimtab.io/interfaces names" in m])
    c.remove("web")


def test_many_services_for_few_addresses__wait_without_a_flood_of_lines(c):
    """And those who have one are served all the time."""
    c.serve("first")
    with world_of_many(c):
        def told():
            return len({e["involvedObject"]["name"] for e in c.must("GET", "/api/v1/namespaces/many/events")["items"]
                        if "no free address for IPv4: public 8 of 8 used" in e["message"]})
        c.until("each was told", lambda: told() == MANY - 7, told)
        assert world.tcp(FIRST, 80)[0] in world.NODES
        warned = len(c.logged("asking again later"))
        assert 0 < warned <= 100 + len(c.logged("Service is not ready yet")), warned
    c.until("all others are gone", lambda: product.held() == [FIRST])
    c.remove("first")


@contextlib.contextmanager
def world_of_many(c):
    c.must("POST", "/api/v1/namespaces", {"metadata": {"name": "many"}})
    path = "/api/v1/namespaces/many/services"
    for i in range(MANY):
        c.must("POST", path, {"metadata": {"name": f"s{i}"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}})
    try:
        yield
    finally:
        for i in range(MANY):
            c.must("DELETE", f"{path}/s{i}")
        c.until("they are gone", lambda: not c.must("GET", path)["items"], lambda: len(c.must("GET", path)["items"]))


def test_stopped_for_a_while__edits_come_afterwards_and_packets_go_on(c):
    c.serve("web")
    c.trimtab.send_signal(signal.SIGSTOP)
    try:
        c.edit("web", ports=product.ports_of([(80, world.TCP_PORT), (81, 30181)]))
        c.must("DELETE", "/api/v1/nodes/n3")
        assert world.tcp(FIRST, 80)[0] in world.NODES
    finally:
        c.trimtab.send_signal(signal.SIGCONT)
    c.until("two nodes and two ports", lambda: "10.1.0.3" not in str(product.elements()) and len(product.elements()["all4"]) == 2)
    c.must("POST", "/api/v1/nodes", product.node("n3"))
    c.remove("web")


def test_route_of_somebody_else__for_an_address_of_the_pool__told_and_left_alone(c):
    world.command("ip", "route", "add", "local", "192.0.2.50/32", "dev", "lo", "table", "local", "proto", "99")
    try:
        c.must("POST", "/api/v1/namespaces/demo/services", {"metadata": {"name": "web", "annotations": {"local.trimtab.io/addresses": "192.0.2.50"}},
                                                            "spec": {"type": "LoadBalancer", "ports": product.ports_of([(80, world.TCP_PORT)])}})
        c.until("an event", lambda: [m for _, m in events(c, "web") if "192.0.2.50: another program has a route for it" in m])
        assert "192.0.2.50" not in product.held()
    finally:
        world.command("ip", "route", "del", "local", "192.0.2.50/32", "table", "local", "proto", "99")
    c.until("it is served", lambda: "192.0.2.50" in product.held())
    c.remove("web")


@contextlib.contextmanager
def link_down_as(name):
    """eth0 has no carrier, and this name when it is back; afterwards its own."""
    world.command("ip", "link", "set", "eth0", "down")
    now = "eth0"

    def back():
        nonlocal now
        world.command("ip", "link", "set", "eth0", "name", name)
        now = name
        world.command("ip", "link", "set", name, "up")
    try:
        yield back
    finally:
        world.command("ip", "link", "set", now, "down")
        if now != "eth0":
            world.command("ip", "link", "set", now, "name", "eth0")
        world.command("ip", "link", "set", "eth0", "up")


def test_link__down_then_renamed__address_stays_and_is_announced_under_the_new_name(c):
    [address] = c.serve("web")
    c.until("all is written", lambda: c.run_command("plan")[0] == 0)
    with link_down_as("lan9") as back:
        c.until("an event", lambda: ("InterfaceDown", f"{address} is not announced on eth0: it has no carrier") in events(c, "web"))
        assert address in product.held()
        back()
        assert world.tcp(address, 80)[0] in world.NODES
        c.edit("web", ports=product.ports_of([(80, world.TCP_PORT), (81, 30181)]))
        c.until("the new port", lambda: len(product.elements()["all4"]) == 2)
        c.until("the new name", lambda: "lan9" in c.run_command("explain", "demo/web")[1])
    c.until("the client reaches it", lambda: world.tcp(address, 80)[0] in world.NODES)
    c.remove("web")


PAIR = ["--leader-elect=true", "--leader-elect-resource-name=trimtab", "--leader-elect-lease-duration=6s", "--leader-elect-renew-deadline=4s",
        "--leader-elect-retry-period=1s"]


def pair(c):
    """Two processes with an election; returns the one that leads.  The cluster's own is then the other one, which waits."""
    c.stop()
    first = c.start(*PAIR).trimtab
    c.until("the first serves", lambda: c.logged("Synced", "demo/web"))
    c.runs += 1
    c.trimtab = subprocess.Popen([c.trimtab_exe, *c.flags(), f"--kubeconfig={c.kubeconfig}", "-v=2", *PAIR],  # pylint: disable=consider-using-with
                                 stderr=c.file(f"run-{c.runs}"), env=c.environment())
    c.until("the second waits", lambda: c.logged("this replica opens when it leads", f"runs here (pid {first.pid})") or c.trimtab.poll() is not None)
    return first


def test_pair_on_one_machine__leader_is_stopped__second_says_so_and_gives_the_lease_back(c):
    """One kernel has one writer: a process that is stopped could go on in the middle of a write."""
    [address] = c.serve("web")
    first = pair(c)
    first.send_signal(signal.SIGSTOP)
    try:
        assert c.trimtab.wait(controller_world.LIMIT_S) == 1
        assert c.logged("error: ", f"(pid {first.pid}, which is stopped: kill -CONT {first.pid}, or kill -KILL {first.pid})"), c.log()
        lease = c.must("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/trimtab")
        assert not lease["spec"].get("holderIdentity"), lease
    finally:
        first.kill()
        first.wait(controller_world.LIMIT_S)
    c.start(*PAIR)
    c.until("the next one serves", lambda: c.logged("Synced", "demo/web"))
    c.until("a client is answered", lambda: answered(address))
    c.stop()
    c.start()
    c.remove("web")


def answered(address):
    """Also right after the address was in no kernel, when no host has answered for it yet."""
    try:
        return world.tcp(address, 80)[0] in world.NODES
    except OSError:
        return False


def test_pair_on_one_machine__second_waits_for_the_lease_and_takes_over(c):
    """As while a Deployment replaces its pod: the instance's lock is the first one's meanwhile."""
    [address] = c.serve("web")
    first = pair(c)
    try:
        assert c.trimtab.poll() is None, c.log()
        assert world.tcp(address, 80)[0] in world.NODES
    finally:
        first.terminate()
        first.wait(controller_world.LIMIT_S)
    c.until("the second serves", lambda: c.logged("Synced", "demo/web"))
    c.until("a client is answered", lambda: world.tcp(address, 80)[0] in world.NODES)
    c.stop()
    c.start()
    c.remove("web")


def test_program_that_undoes__in_a_loop__is_put_right_and_told_of_with_words_of_its_own(c):
    [address] = c.serve("web")

    def undone():
        subprocess.run(["nft", "delete", "element", "inet", "trimtab", "vip4", f"{{ {address} }}"], capture_output=True, check=False)
        return [m for r, m in events(c, "web") if r == "LoadBalancerDrift" and "times within a minute: a program on this machine works" in m]
    c.until("it is told of", undone)
    c.until("it is put right", lambda: "vip4" in product.elements())
    assert world.tcp(address, 80)[0] in world.NODES
    c.remove("web")


def test_pool__shrinks_while_an_address_is_in_use__served_and_told(c):
    [address] = c.serve("web")
    c.until("all is written", lambda: c.run_command("plan")[0] == 0)
    with configured(c, "pools:\n- name: public\n  addresses: [192.0.2.52/30]\n"):
        c.start()
        text = f'{address} is in no pool any more; it is kept until annotation local.trimtab.io/move is "true"'
        c.until("an event", lambda: ("AddressOutsidePools", text) in events(c, "web"))
        c.until("a first sync", lambda: c.logged("Synced", "demo/web"))
        assert (c.addresses("web"), product.held()) == ([address], [address])
        assert world.tcp(address, 80)[0] in world.NODES
    c.remove("web")


def test_pool__edited_to_another_range__kept_then_moved_without_a_gap(c):
    """The old address serves until the status shows the new one; the plan says so, and what follows."""
    [old] = c.serve("web")
    c.until("all is written", lambda: c.run_command("plan")[0] == 0)
    with configured(c, "pools:\n- name: public\n  addresses: [192.0.2.52/30]\n"):
        clients = world.Clients(old, 80)
        c.start()
        c.until("a first sync", lambda: c.logged("Synced", "demo/web"))
        code, text = c.run_command("plan")
        assert code == 0 and "up to date" in text, text
        c.stop()  # what is planned and what is done must not run into each other
        c.must("PATCH", c.path("web"), {"metadata": {"annotations": {"local.trimtab.io/move": "true"}}}, content_type="application/merge-patch+json")
        code, text = c.run_command("plan")
        text = " ".join(text.split())
        assert code == 2 and f"{old} is served until the Service's status shows the new address; then it goes, and connections to it end." in text, text
        assert "frontend 192.0.2.52:80/tcp" in text, text
        seen = clients.stop()
        assert set(seen) <= set(world.NODES), seen  # without trimtab, and without a move, nothing is lost
        moves = Follower(c, "web")
        c.until("it is served at the old address", lambda: old in moves.at)
        c.start()
        c.until("the new address", lambda: c.addresses("web") == ["192.0.2.52"])
        c.until("the old one goes", lambda: product.held() == ["192.0.2.52"])
        assert not moves.stop(), moves.lost
        assert moves.at == {old, "192.0.2.52"}, moves.at
        c.until("nothing to do", lambda: c.run_command("plan")[0] == 0)
    c.remove("web")


class Follower(threading.Thread):
    """A client that connects to the address that the status shows, and asks for it anew where one connection failed: an address that
    the status still shows must answer."""

    def __init__(self, c, name):
        super().__init__(daemon=True)
        self.c, self.name, self.at, self.lost, self.over = c, name, set(), [], False
        self.start()

    def run(self):
        while not self.over:
            [address] = [i["ip"] for i in self.c.ingress(self.name)]
            said = world.tcp(address, 80)
            if isinstance(said, str) and [i["ip"] for i in self.c.ingress(self.name)] == [address]:
                self.lost.append((address, said))
            elif not isinstance(said, str):
                self.at.add(address)

    def stop(self):
        self.c.until("it was served at the new address", lambda: "192.0.2.52" in self.at or self.lost)
        self.over = True
        self.join()
        return self.lost


def test_configuration__other_numbers_at_the_next_start__the_kernel_follows_and_connections_stay(c):
    [address] = c.serve("web")
    c.until("all is written", lambda: c.run_command("plan")[0] == 0)
    line = world.Connection(address, 80)
    node = line.ask()[0]
    with configured(c, "pools:\n- name: public\n  addresses: [192.0.2.48/29]\ndirector: {markBit: 0x1000, routeProtocol: 117, closedPorts: drop}\n"):
        c.start()
        c.until("the routes", lambda: "proto 117" in world.command("ip", "route", "show", "table", "local", f"{address}/32"))
        c.until("the rules", lambda: "0x00001000" in world.command("nft", "list", "chain", "inet", "trimtab", "tt_snat"))
        c.until("the former routes go", lambda: product.held() == [])
        guard = world.command("nft", "list", "chain", "inet", "trimtab", "tt_guard")
        assert "drop" in guard and "0x00002000" not in guard and "reject" not in guard, guard
        assert world.tcp(address, 80)[0] in world.NODES
        c.until("nothing to do", lambda: c.run_command("plan")[0] == 0)
        assert line.ask()[0] == node
        line.close()
    c.until("the former numbers", lambda: product.held() == [address])
    c.until("nothing to do", lambda: c.run_command("plan")[0] == 0)
    c.remove("web")


def test_check_config__service_stats_without_ipvs__says_what_counts(c):
    done = subprocess.run([c.trimtab_exe, "check-config", "--cloud-provider=local", f"--cloud-config={c.config}", "--local-service-stats"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "--local-service-stats counts Services in ipvs modes alone" in done.stdout + done.stderr, done


def test_check_config__of_pools_that_overlap__names_both(c):
    with configured(c, 'pools:\n- {name: a, addresses: [192.0.2.48/29]}\n- {name: b, addresses: [192.0.2.52-192.0.2.60]}\n'):
        done = subprocess.run([c.trimtab_exe, "check-config", "--cloud-provider=local", f"--cloud-config={c.config}"], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 1 and 'pools "a" and "b" both have 192.0.2.52' in done.stderr, done


def main():
    programs, chosen = sys.argv[1:3], sys.argv[3:]
    if not world.here(MARK):
        for program in ("unshare", "nft", "ip"):
            if not shutil.which(program):
                return tap.skip(f"{program} is absent")
        status = world.reexec_unshared(os.path.abspath(__file__), sys.argv[1:], MARK)
        return tap.skip(status) if isinstance(status, str) else status
    world.build()
    world.Servers()
    with tempfile.TemporaryDirectory() as folder, product.Cluster(programs, folder) as cluster:
        cluster.start()
        return tap.run([(name, tidy(test)) for name, test in tap.tests_of(globals(), chosen)], cluster)


if __name__ == "__main__":
    sys.exit(main())
