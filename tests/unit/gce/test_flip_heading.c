/* SPDX-License-Identifier: Apache-2.0 */
/* test_flip_heading.c: the heading of a plan by which a Service changes its kind names the kind
 * that is wanted, and the one before; against the simulator. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

static const struct tt_kv flags[] = {{"enable-l4-neg", "true"},
                                     {"gce-nodes-need-pod-cidr", "false"},
                                     {"run-l4-controller", "true"},
                                     {"run-l4-netlb-controller", "true"}};

#define TYPE  "networking.gke.io/load-balancer-type"
#define RBS   "cloud.google.com/l4-rbs"
#define CLASS "networking.gke.io/l4-regional-external"

struct row {
    const char *from;
    const char *to; /* merge patches */
    size_t n_flags;
    const char *heading;
};
static const struct row rows[] = {
    {"{}", "{\"metadata\":{\"annotations\":{\"" TYPE "\":\"Internal\"}}}", ARRAY_LEN(flags),
     "internal, GCE_VM_IP NEGs, us-central1 (before: external, target pool)"},
    {"{\"metadata\":{\"annotations\":{\"" TYPE "\":\"Internal\"}}}",
     "{\"metadata\":{\"annotations\":null}}", ARRAY_LEN(flags),
     "external, target pool, us-central1 (before: internal, GCE_VM_IP NEGs)"},
    {"{}", "{\"metadata\":{\"annotations\":{\"" TYPE "\":\"Internal\"}}}", 0,
     "internal, instance groups, us-central1 (before: external, target pool)"},
    {"{}", "{\"spec\":{\"loadBalancerClass\":\"" CLASS "\"}}", ARRAY_LEN(flags),
     "external, backend service with instance groups, us-central1 (before: external, target pool)"},
    {"{\"metadata\":{\"annotations\":{\"" RBS "\":\"enabled\"}}}",
     "{\"metadata\":{\"annotations\":{\"" TYPE "\":\"Internal\"}}}", ARRAY_LEN(flags),
     "internal, GCE_VM_IP NEGs, us-central1 (before: external, backend service with instance "
     "groups)"},
};

static void kind_changes__planned__heading_names_the_wanted_one_and_the_former(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct rig_options opt = {.flags = flags, .n_flags = rows[i].n_flags};
        struct rig *r = rig_start(&opt);
        rig_give_addresses(r);
        rig_service(r, "web", rows[i].from);
        for (int turn = 0; turn < 4 && str_is_empty(rig_ensure(r, "web")->ip); turn++) {
        }
        rig_edit(r, "web", rows[i].to);
        const char *plan = rig_plan(r, "web");
        if (strstr(plan, rows[i].heading) == NULL) {
            fail_msg("%s, without \"%s\"", plan, rows[i].heading);
        }
        rig_stop(r);
    }
}

UNIT_MAIN(flip_heading)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kind_changes__planned__heading_names_the_wanted_one_and_the_former),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
