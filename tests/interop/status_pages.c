/* SPDX-License-Identifier: Apache-2.0 */
/* status_pages.c: prints the page /status of clusters that are hard to lay out, for status_browser_test.py.
 *
 *     status_pages none|long|many|one|inside     HTML on stdout
 *
 * "long" has names of 63 characters with and without hyphens, addresses of every kind, several at once, and failures whose
 * texts hold long words; "many" has 200 Services of all states; "one" is the page of a single Service.  The view is made
 * up; the page is the product's.  "inside" is that of a Service with pods on nodes of all kinds, in both families. */
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "common/services/tell/inside.h"
#include "controller/status/status.h"

#define NAME_63   "a-game-server-with-quite-a-long-name-that-somebody-made-up-0123"
#define SOLID_63  "agameserverwithquitealongnamethatsomebodymadeupwithouthyphens01"
#define NLB       "k8s-demo-web-0a1b2c3d4e-0123456789abcdef.elb.us-east-1.amazonaws.com"
#define CLASSIC   "a0123456789abcdef0123456789abcdef-1234567890.eu-central-1.elb.amazonaws.com"
#define IPV6_LONG "2001:db8:1234:5678:9abc:def0:1234:5678"
#define S         INT64_C(1000000)
#define NOW       (INT64_C(1800000000) * S)
#define MANY      200

static const char quota[] =
    "firewall k8s-fw-a7f3a09c5d0e4b7f9a1c2d3e4f506172-http-hc: 403 QUOTA_EXCEEDED: Quota "
    "'FIREWALLS' "
    "exceeded. Limit: 100.0 globally. See https://console.example.com/iam-admin/"
    "quotas?usage=USED&project=a-project-with-a-long-name-012345&metric=compute.googleapis.com";
static const char refused[] =
    "annotation "
    "service.beta.kubernetes.io/azure-load-balancer-tcp-idle-timeout-in-minutes-and-more: "
    "\"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\" is not a "
    "number";

static struct board_row row(const char *key, const char *kind, enum board_state state)
{
    bool fails = state == BOARD_FAILED || state == BOARD_RETRYING;

    return (struct board_row){
        .key = key,
        .kind = kind,
        .state = state,
        .verb = state == BOARD_WAITING ? "" : "ensure",
        .synced_us = state == BOARD_WAITING ? 0 : NOW - 40 * S,
        .began_us = state == BOARD_SYNCING ? NOW - 12 * S : 0,
        .took_ms = 2130,
        .calls = 1234,
        .code = state == BOARD_FAILED ? TT_INVALID
                : fails               ? TT_QUOTA
                                      : TT_OK,
        .message = state == BOARD_FAILED ? refused
                   : fails               ? quota
                                         : "",
        .failing_us = fails ? NOW - 3600 * S : 0,
        .failures = fails ? 17 : 0,
        .next_us = state == BOARD_RETRYING ? NOW + 40 * S : 0,
        .create = fails ? 6 : 0,
        .change = fails ? 12 : 0,
        .plan =
            fails
                ? "+ firewall k8s-fw-a7f3a09c5d0e4b7f9a1c2d3e4f506172  because clients must reach "
                  "the nodes\n"
                : "",
        .findings =
            fails ? "annotation service.beta.kubernetes.io/azure-load-balancer-intrenal-subnet is "
                    "unknown and "
                    "has no effect; is "
                    "service.beta.kubernetes.io/azure-load-balancer-internal-subnet meant?\n"
                  : "",
        .serves_nobody = fails ? "no node takes part: the cluster has none" : "",
        .left = "",
    };
}

static void add(struct status_view *v, struct board_row r, const char *address)
{
    v->by_state[r.state]++;
    v->services[v->n_services++] = (struct status_service){.row = r, .address = address};
}

static void fill_long(struct status_view *v)
{
    add(v, row("demo/game", "external, backend service, us-central1", BOARD_FAILED),
        "203.0.113.11");
    add(v, row(NAME_63 "/" NAME_63, "network, internal", BOARD_FAILED), IPV6_LONG);
    add(v, row("demo/" NAME_63, "external, target pool, us-central1", BOARD_RETRYING),
        "203.0.113.111, " IPV6_LONG);
    add(v, row("demo/" SOLID_63, "standard, public", BOARD_READY), "203.0.113.113");
    add(v, row("demo/web", "network, internet-facing", BOARD_SYNCING), NLB);
    add(v, row("demo/shop-1", "classic, internal", BOARD_READY), CLASSIC);
    add(v, row("demo/new", "", BOARD_WAITING), "");
    add(v, row("demo/dual", "external, NEGs, us-central1", BOARD_READY),
        "203.0.113.12, 2001:db8::1");
    add(v, row("demo/theirs", "", BOARD_ELSEWHERE), "198.51.100.255");
}

static void fill_many(struct status_view *v, struct arena *a)
{
    for (int i = 0; i < MANY; i++) {
        enum board_state state = (enum board_state)(i % BOARD_STATES);
        add(v,
            row(arena_printf(a, "team-%d/web-%d", i % 7, i), "external, target pool, us-central1",
                state),
            arena_printf(a, "203.0.113.%d", i));
    }
}

/* Ten nodes in IPv4, of which the page draws eight: one is left out, one has only a pod that goes, names are of every length. */
static const struct ks_inside *inside_of(struct arena *a)
{
    static const char *const names[] = {"node-1", "ip-10-0-1-23.eu-central-1.compute.internal",
                                        NAME_63,  "node-4",
                                        "node-5", "node-6",
                                        "node-7", "gke-prod-default-pool-0a1b2c3d-x9z8",
                                        "node-9", "node-10"};
    struct ks_inside_node *nodes = ARENA_ARRAY(a, struct ks_inside_node, ARRAY_LEN(names));
    struct ks_inside_family *families = ARENA_ARRAY(a, struct ks_inside_family, 2);
    struct ks_inside *x = ARENA_NEW(a, struct ks_inside);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        bool out = i == 3;
        bool ends = i == 4;
        nodes[i] = (struct ks_inside_node){.name = names[i],
                                           .zone = i % 2 == 0 ? "us-central1-a" : "",
                                           .left_out = out ? "excluded by its label" : NULL,
                                           .ready = ends ? 0 : 1 + i % 3,
                                           .draining = ends ? 1 : 0,
                                           .weight = ends ? 0 : (int64_t)(1 + i % 3),
                                           .traffic = out || ends ? 0 : 0.125,
                                           .pods = out || ends ? 0 : 0.125};
    }
    families[0] = (struct ks_inside_family){.family = KS_IPV4,
                                            .port = "http",
                                            .nodes = nodes,
                                            .n_nodes = ARRAY_LEN(names),
                                            .ready = 18,
                                            .draining = 1,
                                            .not_ready = 2,
                                            .n_empty = 3,
                                            .has_shares = true};
    families[1] = (struct ks_inside_family){.family = KS_IPV6,
                                            .port = "http",
                                            .nodes = nodes,
                                            .n_nodes = 2,
                                            .ready = 3,
                                            .has_shares = true};
    *x =
        (struct ks_inside){.families = families,
                           .n_families = 2,
                           .local = true,
                           .source_text = "nodes keep it (policy Local): pods see the address that "
                                          "comes from the load balancer"};
    return x;
}

int main(int argc, char **argv)
{
    const char *which = argc == 2 ? argv[1] : "";
    struct arena *a = arena_new();
    struct str_buf b = STR_BUF_INIT;
    struct status_budget budgets[] = {
        {.api = "kubernetes",
         .kind = "",
         .requests = 12345,
         .throttled = 12,
         .qps = 20,
         .burst = 30},
        {.api = "gce", .kind = "", .requests = 678},
        {.api = "gce", .kind = "regional writes", .held = 41, .throttled = 7, .qps = 12.5}};
    struct board_batch batches[] = {
        {"nodes/us-central1-a-with-a-rather-long-batch-key-0123456789abcdef", 7, NOW - 9 * S}};
    struct status_view v = {
        .version = "0.1.0",
        .provider = "gce",
        .cluster = NAME_63,
        .started_us = NOW - 90000 * S,
        .now_us = NOW,
        .running = true,
        .leader = {true, true, "kube-system/" NAME_63,
                   "node-with-a-long-name-0123_3f0c7f6e-0d64-4c1b-9d3a-5b1f0f6c9a11"},
        .services = ARENA_ARRAY(a, struct status_service, MANY),
        .budgets = budgets,
        .n_budgets = ARRAY_LEN(budgets),
        .batches = batches,
        .n_batches = ARRAY_LEN(batches),
    };
    struct status_filter all = {.most = MANY};

    if (strcmp(which, "many") == 0) {
        fill_many(&v, a);
    } else if (strcmp(which, "long") == 0 || strcmp(which, "one") == 0) {
        fill_long(&v);
        all.service = strcmp(which, "one") == 0 ? "demo/" NAME_63 : NULL;
    } else if (strcmp(which, "inside") == 0) {
        fill_long(&v);
        all.service = "demo/dual";
        v.endpoints = STATUS_ENDPOINTS_KNOWN;
        v.inside = inside_of(a);
    } else if (strcmp(which, "none") != 0) {
        fprintf(stderr, "usage: status_pages none|long|many|one|inside\n");
        return 1;
    }
    status_html(&b, &v, &all);
    fputs(str_buf_text(&b), stdout);
    str_buf_done(&b);
    arena_free(a);
    return 0;
}
