/* SPDX-License-Identifier: Apache-2.0 */
/* gce_options_table.c: the flags that the provider adds to the command line, with upstream's
 * defaults (gce_options.h).  Help texts are ours. */
#include "providers/gce/config/gce_options.h"

/* From where Google's health checks and proxies come (gce-cloud-provider.md §0). */
#define L4_SRC_CIDRS "130.211.0.0/22,35.191.0.0/16,209.85.152.0/22,209.85.204.0/22"
#define L7_SRC_CIDRS "130.211.0.0/22,35.191.0.0/16"

#define B        TT_OPTION_BOOL
#define I        TT_OPTION_INT
#define D        TT_OPTION_DURATION
#define ACCEPTED "accepted for compatibility: "

const struct tt_option gce_option_table[GCE_OPTION_COUNT] = {
    /* cloud-provider-gcp */
    {"enable-rbs-default-l4-netlb", B, 0, "false",
     "new external Services get a backend service (cloud-provider-gcp's name of "
     "--enable-l4-netlb-rbs-by-default)"},
    {"enable-l4-lb-annotations", B, 0, "false",
     "write the name of the target pool or backend service into an annotation of the Service"},
    {"enable-l4-deny-firewall", B, 0, "false",
     "give each external load balancer a firewall that denies what is not allowed; needs "
     "--enable-l4-deny-firewall-rollback-cleanup and --enable-pinhole"},
    {"enable-l4-deny-firewall-rollback-cleanup", B, 0, "false",
     "take deny firewalls away again where --enable-l4-deny-firewall is off"},
    {"enable-l4-ilb-fine-grained-lock", B, 0, "false", ACCEPTED "locks are always per resource"},
    {"enable-multi-project", B, 0, "false",
     ACCEPTED "it concerns instance look-ups, which are not made"},
    {"cloud-provider-gce-lb-src-cidrs", TT_OPTION_LIST, 0, L4_SRC_CIDRS,
     "ranges from which health checks of L4 load balancers come"},
    {"cloud-provider-gce-l7lb-src-cidrs", TT_OPTION_LIST, 0, L7_SRC_CIDRS,
     ACCEPTED "ranges of L7 load balancers, which are not built here"},
    /* ingress-gce: who is served */
    {"run-l4-controller", B, 0, "false",
     "serve internal Services with GCE_VM_IP NEGs (subsetting); new ones get it"},
    {"run-l4-netlb-controller", B, 0, "false",
     "serve external Services that ask for a backend service"},
    {"run-l4-standalone-neg-controller", B, 0, "false",
     "Services with NEGs alone: publish the addresses of the forwarding rules that they name"},
    {"enable-l4-standalone-negs", B, 0, "false",
     "make NEGs for Services of class networking.gke.io/standalone-passthrough-lb-neg"},
    {"enable-l4-neg", B, 0, "false",
     "NEGs of internal load balancers; on with --run-l4-controller"},
    {"enable-l4-netlb-neg", B, 0, "false", "external backend services may have GCE_VM_IP NEGs"},
    {"enable-l4-netlb-neg-default", B, 0, "false",
     "new external backend services have GCE_VM_IP NEGs; needs --enable-l4-netlb-neg"},
    {"enable-l4-netlb-rbs-by-default", B, 0, "false",
     "new external Services get a backend service"},
    {"read-only-controllers", B, 0, "false", "leave Services of ingress-gce's kinds alone"},
    {"prevent-legacy-race-l4-ilb", D, 0, "0s",
     "with the legacy part in another program: how long a new internal Service waits for a sign "
     "that it is that one's"},
    /* what load balancers look like */
    {"enable-pinhole", B, 0, "true", "firewalls name the load balancer's address as destination"},
    {"disable-l4-lb-fw", B, 0, "false", "make no traffic firewalls for ingress-gce's kinds"},
    {"enable-l4ilb-dual-stack", B, 0, "true", "internal Services may have IPv6 addresses"},
    {"enable-l4netlb-dual-stack", B, 0, "true", "external Services may have IPv6 addresses"},
    {"enable-l4ilb-mixed-protocol", B, 0, "false", "internal Services may have TCP and UDP ports"},
    {"enable-l4netlb-mixed-protocol", B, 0, "false",
     "external Services may have TCP and UDP ports"},
    {"enable-l3-default-forwarding-rule-for-netlb-mixed-protocol", B, 0, "false",
     "one rule for both protocols; needs --enable-l4netlb-mixed-protocol"},
    {"enable-discrete-port-forwarding", B, 0, "false",
     "rules of external load balancers list up to five ports instead of a range"},
    {"enable-weighted-l4-ilb", B, 0, "false", "honour weighted balancing on internal Services"},
    {"enable-weighted-l4-netlb", B, 0, "false", "honour weighted balancing on external Services"},
    {"enable-l4ilb-zonal-affinity", B, 0, "false",
     "honour spec.trafficDistribution on internal Services"},
    {"enable-l4lb-strong-sa", B, 0, "false", "honour strong session affinity"},
    {"manage-l4lb-logging", B, 0, "false", "honour L4LBConfig objects"},
    {"enable-byo-ipv6", B, 0, "false", "honour IPv6 address collections"},
    /* members */
    {"enable-ipv6-node-neg-endpoints", B, 0, "false", "NEG members of nodes have IPv6 addresses"},
    {"enable-dual-stack-neg", B, 0, "false", "NEG members have addresses of both families"},
    {"enable-ipv6-only-neg", B, 0, "false",
     ACCEPTED "it concerns NEGs of pods, which are not made here"},
    {"enable-l4-neg-detach-cancel", B, 0, "false",
     "a member that is wanted again is not detached first"},
    {"enable-l4-neg-local-include-drain-nodes", B, 0, "false",
     "nodes that are drained stay members under policy Local"},
    {"enable-multi-networking", B, 0, "false",
     "honour spec.selector[\"networking.gke.io/network\"]: Services of other networks"},
    {"enable-multi-subnet-cluster", B, 0, "false",
     ACCEPTED "--enable-multi-subnet-cluster-phase1 is what counts"},
    {"enable-multi-subnet-cluster-phase1", B, 0, "false",
     "nodes of other subnetworks are not left out, and objects tell each NEG's state; NEGs are "
     "made in the cluster's own subnetwork only"},
    {"enable-neg-preprovisioning", B, 0, "false", ACCEPTED "NEGs are made where there are nodes"},
    {"max-ig-size", I, 0, "1000", "most instances in an instance group of one zone"},
    {"enable-ig-controller", B, 0, "true", "keep the nodes in the cluster's instance groups"},
    {"gce-nodes-need-pod-cidr", B, 0, "true",
     "only nodes with spec.podCIDR become members (upstream's rule); off for clusters that assign "
     "addresses of pods elsewhere"},
    {"empty-source-family-allows-all", B, 0, "false",
     "source ranges of one family only: all clients of the other family may come in (upstream's "
     "rule)"},
    {"lenient-load-balancer-type", B, 0, "false",
     "a new Service whose annotation load-balancer-type is neither Internal nor External, but "
     "nearly Internal, is public (upstream's rule) instead of refused"},
    /* periods, workers, locks */
    {"sync-period", D, 0, "10m0s",
     "Services of the kinds of ingress-gce are looked at again after this time; how long what is "
     "known of members is believed"},
    {"neg-gc-period", D, 0, "2m0s",
     ACCEPTED "NEGs go with their Services, and what others left is looked for at each start"},
    {"num-neg-gc-workers", I, 0, "10", ACCEPTED "--concurrent-service-syncs counts"},
    {"num-l4-workers", I, 0, "5", ACCEPTED "--concurrent-service-syncs counts"},
    {"num-l4-net-workers", I, 0, "5", ACCEPTED "--concurrent-service-syncs counts"},
    {"gate-l4-by-lock", B, 0, "true",
     "with ingress-gce's load balancers: wait for the lease kube-system/l4-lb-controller-gce-lock"},
    {"gate-neg-by-lock", B, 0, "false",
     "with NEGs: wait for the lease kube-system/ingress-gce-neg-lock"},
    {"gce-operation-poll-interval", D, 0, "1s", ACCEPTED "operations are waited for"},
    {"gce-ratelimit", TT_OPTION_LIST, 0, "",
     "ga.Addresses.Get,qps,1.5,5: at most so many requests of a method per second, and at once"},
    {"l4-netlb-provision-deadline", D, 0, "20m0s",
     "metrics count a Service that is in error for so long as PersistentError"},
    {"metrics-export-interval", D, 0, "10m0s", ACCEPTED "metrics are exact at each scrape"},
    {"neg-metrics-export-interval", D, 0, "5s", ACCEPTED "metrics are exact at each scrape"},
    {"healthz-port", I, 0, "8081", ACCEPTED "health is served on --secure-port"},
};
