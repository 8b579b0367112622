#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The provider local on a kernel that lacks modules: each is a sentence that names it, and the rest goes on.

    modules_test.py BUILD KERNEL_TOOL GUEST_INIT TRIMTAB_SIM TRIMTAB      (TAP; skipped where a piece of the guest is absent)

One boot, every sixth commit.  Modules of Debian's kernel are removed one after the other, and nothing in the guest loads them again by itself.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
import guest  # noqa: E402  pylint: disable=wrong-import-position
import sample  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position

VIP = "10.0.0.1"
NO_CT = ("this kernel has no ctnetlink (module nf_conntrack_netlink): connections to targets that are gone end only by themselves "
         "(modprobe nf_conntrack_netlink, CONFIG_NF_CT_NETLINK)")
NO_NFT = "this kernel has no nf_tables (module nf_tables): modprobe nf_tables (CONFIG_NF_TABLES_INET)"
NO_IPVS = "this kernel has no IPVS (module ip_vs); mode nft works without: modprobe ip_vs (CONFIG_IP_VS)"
NO_MH = "scheduler mh is not available in this kernel (module ip_vs_mh): modprobe ip_vs_mh (CONFIG_IP_VS_MH)"
ALL = ("this kernel has not all of nf_tables: modprobe nft_chain_nat nft_hash nft_masq nft_nat nft_numgen nft_reject_inet "
       "(CONFIG_NFT_NAT, CONFIG_NFT_HASH, CONFIG_NFT_MASQ, CONFIG_NFT_NUMGEN, CONFIG_NFT_REJECT_INET)")
NUMGEN = "this kernel has not all of nf_tables: modprobe nft_numgen (CONFIG_NFT_NUMGEN)"
# (name, modules that go, kernel-tool's commands, the last line of its answers)
CASES = [
    ("all is there", [], ["make", "check", "remove"], "ok"),
    ("a scheduler", ["ip_vs_mh"], [f"ipvs add {VIP} tcp 80 mh 8 0"], "invalid: " + NO_MH),
    ("another scheduler goes on", [], [f"ipvs add {VIP} tcp 80 rr 0 0", f"ipvs del {VIP} tcp 80"], "ok"),
    ("ctnetlink", ["nf_conntrack_netlink"], [f"end {VIP} tcp 80 10.1.0.1 30080"], "invalid: " + NO_CT),
    ("the table is made without it", [], ["make", "remove"], "ok"),
    ("numgen", ["nft_numgen"], ["make"], "transient: " + NUMGEN),
    ("five more", ["nft_hash", "nft_masq", "nft_nat", "nft_reject_inet", "nft_chain_nat"], ["make"], "transient: " + ALL),
    ("nothing of it was made", [], ["look"], "exists=0 ours=0 layout=0"),
    ("IPVS", ["xt_ipvs", *(f"ip_vs_{s}" for s in ("rr", "wrr", "lc", "wlc", "sh", "dh", "sed", "nq")), "ip_vs"], ["ipvs-look"],
     "invalid: " + NO_IPVS),
]
CONFIG = f"""apiVersion: local.trimtab.io/v1
pools:
- {{name: p, addresses: [{VIP}/32, 10.0.0.2/31], announce: {{by: none}}}}
director: {{checks: {{cluster: none, local: none}}}}
"""
RUN = """\
#!/bin/sh
export PATH=$PATH:/usr/bin
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
CASES
: >/tmp/trimtab  # there when the first look comes before the program that writes it
# The product: what it says, and that the Service is served when the modules are there.
trimtab-sim --cloud=none --port=8811 --seed=1 --world=/t/world --write-kubeconfig=/tmp/kubeconfig >/tmp/sim 2>&1 &
until [ -s /tmp/kubeconfig ] || ! kill -0 $!; do sleep 0.1; done
trimtab --cloud-provider=local --leader-elect=false --secure-port=0 --cloud-config=/t/config --kubeconfig=/tmp/kubeconfig >/tmp/trimtab 2>&1 &
trimtab=$!
await() { tries=0; until grep -q "$1" /tmp/trimtab || ! kill -0 $trimtab || [ $tries -ge 120 ]; do tries=$((tries + 1)); sleep 0.5; done; }
await 'has not all of nf_tables'
echo "== product lacks"; grep 'has not all of nf_tables' /tmp/trimtab | head -n 1
for m in nft_chain_nat nft_nat nft_hash nft_masq nft_numgen nft_reject_inet; do insmod /modules/$m.ko; done
await '"Synced"'
echo "== product served"; nft list map inet trimtab f4_rr_4; ip route show table local proto 116
kill $trimtab; wait $trimtab
nft delete table inet trimtab
for i in 1 2 3 4; do for m in $(sed -n 's/^\\(nft_[a-z_0-9]*\\) .*/\\1/p' /proc/modules); do rmmod $m 2>/dev/null; done; done
rmmod nf_tables
echo "== product start"
trimtab --cloud-provider=local --leader-elect=false --secure-port=0 --cloud-config=/t/config --kubeconfig=/tmp/kubeconfig 2>&1
echo "exit $?"
echo "== product log"; cat /tmp/sim /tmp/trimtab
"""


def script():
    parts = []
    for i, (_, modules, _, _) in enumerate(CASES):
        parts += [f'echo "== case m{i}"', *(f"rmmod {m} || echo 'rmmod {m} failed'" for m in modules), f"kernel-tool real </t/m{i} 2>&1"]
    return RUN.replace("CASES", "\n".join(parts))


def objects():
    service = {"metadata": {"namespace": "demo", "name": "web", "uid": "uid-web", "creationTimestamp": "2026-01-02T03:04:05Z"},
               "spec": {"type": "LoadBalancer", "clusterIP": "10.96.0.10", "clusterIPs": ["10.96.0.10"], "ipFamilies": ["IPv4"],
                        "ipFamilyPolicy": "SingleStack", "externalTrafficPolicy": "Cluster", "sessionAffinity": "None",
                        "ports": [{"name": "p", "port": 80, "nodePort": 30080, "protocol": "TCP"}]}}
    nodes = [{"metadata": {"name": "n1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}],
                                                     "addresses": [{"type": "InternalIP", "address": "10.1.0.1"}]}}]
    return json.dumps({"kubernetes": {"namespaces": [{"metadata": {"name": "demo"}}], "nodes": nodes, "services": [service]}})


def lacking(said, part, *sentences):
    text = "\n".join(said.get(("product", part), []))
    return [f"{part}: no {s!r} in {text[-600:]!r}" for s in sentences if s not in text]


def main(build, tool, init, *programs):
    turn = sample.from_env(ci=6, quick=6)
    if turn.parts != 1 and turn.turn % turn.parts != 2:
        return tap.skip(f"its turn is one commit in {turn.parts}; TRIMTAB_SAMPLE=all takes it")
    try:
        machine = guest.Guest(build, init, [(tool, "/usr/bin/kernel-tool"), *[(p, "/usr/bin/" + os.path.basename(p)) for p in programs]])
    except guest.Absent as why:
        return tap.skip(str(why))
    files = {"run": script(), "world": objects(), "config": CONFIG}
    files.update({f"m{i}": "".join(line + "\n" for line in lines) for i, (_, _, lines, _) in enumerate(CASES)})
    report = tap.Report()
    try:
        result = machine.run(files)
    except guest.Failed as error:
        report.check("the guest runs its script", [str(error), *error.log])
        return report.end()
    print(f"# the guest ran for {result.seconds:.1f} s, {result.cpu_seconds:.1f} s of a processor")
    said = guest.sections(result.output)
    for i, (name, _, _, want) in enumerate(CASES):
        lines = said.get(("case", f"m{i}"), [])
        report.check(f"{name}: {want}", [] if want in lines and not [x for x in lines if x.startswith("rmmod")] else lines or ["nothing"])
    log = said.get(("product", "log"), ["nothing"])[-20:]
    for name, wrong in (("the product names what is missing", lacking(said, "lacks", ALL)),
                        ("the Service is served when it is there, without an edit", lacking(said, "served", VIP, "30080", f"local {VIP}")),
                        ("no start without nf_tables", lacking(said, "start", NO_NFT, "exit 1"))):
        report.check(name, wrong and wrong + log)
    return report.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
