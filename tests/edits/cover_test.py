#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fault-edits tries a good, a bad and an impossible value of every field and annotation that the documents promise, on each kind.

    cover_test.py FAULT-EDITS DOCS-FOLDER

The reference tables of docs/providers are printed from the providers' own; here they are compared with `fault-edits --list`.  Natures
are those of tests/edits/edits.h.  A pair of kind and field that lacks one is a failure unless EXCUSED says why; the excuses and how
many pairs each of them covers are printed, and one that covers none is a failure."""
import collections
import fnmatch
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402

CLOUDS = ("gce", "azure", "aws")
NATURES = ("good", "bad", "impossible")

# Keys of documents that no edit of a Service can be about, or that need another cluster than the sweep has.
UNTRIED = {
    "gce": {
        "networking.gke.io/custom-forwarding-rule": "NEGs without a load balancer of ours",
        "networking.gke.io/target-pool": "written by us",
        "networking.gke.io/backend-service": "written by us",
        "cloud.google.com/neg-status": "written by us",
        "alpha.cloud.google.com/load-balancer-backend-share": "an older name",
        "cloud.google.com/load-balancer-type": "an older name",
    },
    "azure": {},
    "aws": {},
}
SPEC = ("ports", "loadBalancerIP", "loadBalancerSourceRanges", "sessionAffinity", "externalTrafficPolicy", "healthCheckNodePort",
        "loadBalancerClass", "allocateLoadBalancerNodePorts", "internalTrafficPolicy", "ipFamilies", "ipFamilyPolicy",
        "publishNotReadyAddresses", "trafficDistribution", "type")
SPEC_OF = {"gce": ("selector",), "azure": (), "aws": ()}  # in the table of fields of that document

Excuse = collections.namedtuple("Excuse", "kinds fields natures why")
EXCUSED = (  # globs, with blanks between
    Excuse("*", "spec.sessionAffinity spec.externalTrafficPolicy spec.internalTrafficPolicy spec.allocateLoadBalancerNodePorts"
           " spec.publishNotReadyAddresses spec.trafficDistribution", "impossible",
           "one of a few words, each of which Kubernetes or the cloud can have"),
    Excuse("gce-*", "*/load-balancer-type */l4-rbs */load-balancer-backend-share */internal-load-balancer-allow-global-access"
           " */network-tier */weighted-load-balancing", "impossible", "one of a few words, each of which Google can have"),
    Excuse("azure-*", "*/azure-load-balancer-internal */azure-deny-all-* */azure-disable-* */azure-load-balancer-disable-tcp-reset"
           " */azure-load-balancer-enable-high-availability-ports */azure-shared-securityrule */azure-pls-create"
           " *probe-protocol *probe_protocol *_rule", "impossible", "one of a few words, each of which Azure can have"),
    Excuse("aws-*", "*-handed-over *-proxy-protocol *-draining-enabled *-cross-zone-load-balancing-enabled *-backend-protocol"
           " *-healthcheck-protocol *-target-group-attributes", "impossible", "one of a few words, each of which AWS can have"),
    Excuse("*", "spec.loadBalancerClass", "good impossible", "the API server keeps it while the Service has its type"),
    Excuse("aws-*", "*-type *-internal *-eip-allocations *-private-ipv4-addresses", "good",
           "AWS takes it with a new load balancer alone"),
    Excuse("aws-*", "spec.loadBalancerIP", "good", "AWS chooses the addresses"),
    Excuse("aws-nlb*", "*-extra-security-groups", "good", "a network load balancer is refused with it"),
    Excuse("aws-classic", "*-target-group-attributes", "good", "a classic load balancer has no target groups"),
    Excuse("gce-*", "*/l4-strong-session-affinity */l4lb-config */ip-collection-v6", "good",
           "it needs a flag that the controllers of the sweep have not"),
    Excuse("azure-two-balancers", "spec.healthCheckNodePort", "good", "policy Local needs endpoints there, and no Service has any"),
    Excuse("azure-both-families", "spec.loadBalancerSourceRanges */load-balancer-source-ranges */azure-allowed-ip-ranges", "impossible",
           "there are clients and addresses of both families"),
    Excuse("azure-two-balancers", "spec.loadBalancerIP */azure-load-balancer-ipv6", "good",
           "an address and the name of a balancer are refused together"),
    Excuse("azure-*", "*/azure-additional-public-ips", "impossible", "any address is admitted"),
    Excuse("azure-*", "*request-path", "bad", "any text counts as a path"),
    Excuse("aws-classic", "*-access-log-s3-bucket-prefix", "impossible", "any text that is one can be had: AWS looks nothing up"),
    Excuse("azure-*", "*/azure-pip-ip-tags", "impossible", "any text that is one can be had: Azure looks nothing up"),
)


def matches(name, globs):
    return any(fnmatch.fnmatchcase(name, g) for g in globs.split())


def names_of(field, value):
    """The fields that a value of the list is about."""
    if field == "spec":
        return ["spec." + key for key in json.loads(value)]
    return [list(json.loads(value))[-1]] if field == "notes" else [field]


def tried(program):
    """{kind: {field: {nature}}}"""
    lines = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
    found = collections.defaultdict(lambda: collections.defaultdict(set))
    for line in lines:
        nature, kind, *rest = line.split(None, 3)
        if nature != "fault":
            for name in names_of(rest[0], "".join(rest[1:])):
                found[kind][name].add(nature)
    return found


def promised(docs, cloud):
    """Keys in the first column of the reference tables."""
    text = open(os.path.join(docs, f"{cloud}.md"), encoding="utf-8").read()
    keys = set()
    for row in re.findall(r"^\| (`[^|]*) \|", text, re.M):
        for name in re.findall(r"`([^`]+)`", row):
            name = name.replace("<port>", "80")
            if cloud == "aws" and re.fullmatch(r"[a-z0-9-]+", name) and f"`{name}` | " in text.split("<!-- annotations: end")[0]:
                keys.add("service.beta.kubernetes.io/aws-load-balancer-" + name)
            elif cloud == "azure" and re.match(r"azure-|port_80_|load-balancer-source-ranges$", name):
                keys.add("service.beta.kubernetes.io/" + name)
            elif cloud == "gce" and re.match(r"(alpha\.)?(cloud\.google\.com|networking\.gke\.io)/(?!l4-regional|standalone)[a-z]", name):
                keys.add(name)
    return keys | {"service.beta.kubernetes.io/load-balancer-source-ranges"}


class Cover:
    """Kinds × fields × natures, and the excuses that were needed."""

    def __init__(self, found):
        self.found, self.used, self.pairs = found, collections.Counter(), 0

    def excuse(self, kind, field, nature):
        return next((e for e in EXCUSED if matches(kind, e.kinds) and matches(field, e.fields) and nature in e.natures.split()), None)

    def lacks(self, kind, field):
        """A line for each nature that is never tried."""
        self.pairs += 1
        for nature in NATURES:
            if nature in self.found[kind].get(field, ()):
                continue
            excuse = self.excuse(kind, field, nature)
            if excuse is None:
                yield f"{kind}: {field}: no {nature} value"
            else:
                self.used[excuse] += 1


def main():
    program, docs = sys.argv[1:3]
    report = tap.Report()
    cover = Cover(tried(program))
    for cloud in CLOUDS:
        kinds = [kind for kind in cover.found if kind.startswith(cloud + "-")]
        keys = promised(docs, cloud)
        tries = {field for kind in kinds for field in cover.found[kind]}
        wrong = [f"{cloud}: {key} is tried: take it out of UNTRIED" for key in UNTRIED[cloud] if key in tries]
        report.check(f"{cloud}: what is not tried, is not tried for a reason", wrong)
        fields = sorted(keys - set(UNTRIED[cloud])) + ["spec." + name for name in SPEC + SPEC_OF[cloud]]
        for kind in kinds:
            report.check(f"{kind}: {len(fields)} fields have a good, a bad and an impossible value",
                         [line for field in fields for line in cover.lacks(kind, field)])
        natures = {n for kind in kinds for field in cover.found[kind].values() for n in field}
        report.check(f"{cloud}: values that are blank, or of other case", [f"no {n} value" for n in ("blank", "case") if n not in natures])
    report.check("each excuse is needed", [f"nothing needs: {e.fields}: {e.why}" for e in EXCUSED if e not in cover.used])
    print(f"# {cover.pairs} pairs of kind and field, {3 * cover.pairs - sum(cover.used.values())} values; excused:")
    for e, n in cover.used.items():
        print(f"# {n:3} × no {' or '.join(e.natures.split())} value: {e.why} ({e.kinds}: {e.fields})")
    sys.exit(report.end())


if __name__ == "__main__":
    main()
