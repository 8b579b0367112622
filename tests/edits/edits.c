/* SPDX-License-Identifier: Apache-2.0 */
/* edits.c: the kinds of load balancers, and the walk over the tables (edits.h). */
#include "tests/edits/edits.h"

#include <string.h>

#include "common/base/attr.h"
#include "common/base/str.h"

#define PORTS "\"ports\":[{\"name\":\"http\",\"port\":80},{\"name\":\"https\",\"port\":443}]"
#define NEAR  "\"ports\":[{\"port\":8080}]"
#define BOTH(notes)                                                                                \
    .web = "{" PORTS ",\"notes\":{" notes "}}", .near = "{" NEAR ",\"notes\":{" notes "}}"

#define GCE_INTERNAL "\"networking.gke.io/load-balancer-type\":\"Internal\""
#define GCE_RBS      "\"cloud.google.com/l4-rbs\":\"enabled\""
#define AWS_NOTE(x)  "\"service.beta.kubernetes.io/aws-load-balancer-" x "\""
#define AWS_NLB      AWS_NOTE("type") ":\"nlb\""
#define AZURE_IN     "\"service.beta.kubernetes.io/azure-load-balancer-internal\":\"true\""
#define AZURE_NODE   "\"service.beta.kubernetes.io/azure-disable-load-balancer-floating-ip\":\"true\""

static const char *const subsetting[] = {"--run-l4-controller", "--enable-l4-neg", NULL};
static const char *const external_groups[] = {"--run-l4-netlb-controller", NULL};
static const char *const external_negs[] = {"--run-l4-netlb-controller", "--enable-l4-netlb-neg",
                                            "--enable-l4-netlb-neg-default", NULL};

const struct edit_kind edit_kinds[] = {
    {"gce-target-pool", "gce", .web = "{" PORTS "}", .near = "{" NEAR "}"},
    {"gce-internal-group", "gce", BOTH(GCE_INTERNAL)},
    {"gce-internal-neg", "gce", .flags = subsetting, BOTH(GCE_INTERNAL)},
    {"gce-external-group", "gce", .flags = external_groups, BOTH(GCE_RBS)},
    {"gce-external-neg", "gce", .flags = external_negs, BOTH(GCE_RBS)},
    {"aws-nlb", "aws", BOTH(AWS_NLB)},
    {"aws-nlb-groups", "aws", .config = "NLBSecurityGroupMode = Managed", BOTH(AWS_NLB)},
    {"aws-nlb-internal", "aws", BOTH(AWS_NLB "," AWS_NOTE("internal") ":\"true\"")},
    {"aws-classic", "aws", .web = "{" PORTS "}", .near = "{" NEAR "}"},
    {"azure-external", "azure", .web = "{" PORTS "}", .near = "{" NEAR "}"},
    {"azure-internal", "azure", BOTH(AZURE_IN)},
    {"azure-node-ports", "azure", BOTH(AZURE_NODE)},
    {0},
};

const struct edit_kind *edit_kind_find(const char *name)
{
    for (const struct edit_kind *k = edit_kinds; k->name != NULL; k++) {
        if (str_eq(k->name, name)) {
            return k;
        }
    }
    return NULL;
}

const char *edit_nature_name(enum edit_nature n)
{
    static const char *const names[] = {
        [EDIT_END] = "",        [EDIT_GOOD] = "good",
        [EDIT_BAD] = "bad",     [EDIT_IMPOSSIBLE] = "impossible",
        [EDIT_BLANK] = "blank", [EDIT_CASE] = "case",
    };
    return names[n];
}

bool edit_at(const struct edit_kind *k, size_t i, struct edit *ret)
{
    static const struct edit_field *const tables[] = {edit_fields_spec, edit_fields_gce,
                                                      edit_fields_azure, edit_fields_aws};
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        for (const struct edit_field *f = tables[t]; f->name != NULL; f++) {
            if (!str_glob(f->kinds, k->name)) {
                continue;
            }
            for (size_t v = 0; v < EDIT_VALUES_MAX && f->values[v].nature != EDIT_END; v++) {
                if (i-- == 0) {
                    *ret = (struct edit){k, f, &f->values[v]};
                    return true;
                }
            }
        }
    }
    return false;
}

const char *edit_name(struct arena *a, const struct edit *e)
{
    return arena_printf(a, "%s %s %s", e->kind->name, e->field->name, e->value->json);
}

const char *edit_patch(struct arena *a, const struct edit *e)
{
    if (str_eq(e->field->name, "spec")) {
        return arena_printf(a, "{\"spec\":%s}", e->value->json);
    }
    return str_has_prefix(e->field->name, "spec.")
               ? arena_printf(a, "{\"spec\":{\"%s\":%s}}", e->field->name + strlen("spec."),
                              e->value->json)
               : arena_printf(a, "{\"metadata\":{\"annotations\":{\"%s\":%s}}}", e->field->name,
                              e->value->json);
}
