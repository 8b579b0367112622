/* SPDX-License-Identifier: Apache-2.0 */
/* edits.c: the kinds of load balancers, and the walk over the tables (edits.h). */
#include "tests/edits/edits.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attr.h"
#include "common/base/str.h"

#define KIND_NAME_MAX 32

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
#define AZURE_ON(lb) "\"service.beta.kubernetes.io/azure-load-balancer-configurations\":\"" lb "\""
#define AZURE_DUAL   "\"ipFamilyPolicy\":\"RequireDualStack\",\"ipFamilies\":[\"IPv4\",\"IPv6\"]"

static const char *const subsetting[] = {"--run-l4-controller", "--enable-l4-neg", NULL};
static const char *const external_groups[] = {"--run-l4-netlb-controller", NULL};
static const char *const external_negs[] = {"--run-l4-netlb-controller", "--enable-l4-netlb-neg",
                                            "--enable-l4-netlb-neg-default", NULL};

const struct edit_kind edit_kinds[] = {
    {"gce-target-pool", "gce", .web = "{" PORTS "}", .near = "{" NEAR "}", .groups_stay = true},
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
    {"azure-two-balancers", "azure", .site = "two-balancers", .without = "\"Local\"",
     BOTH(AZURE_ON("kubernetes"))},
    {"azure-both-families", "azure", .site = "both-families", .web = "{" PORTS "," AZURE_DUAL "}",
     .near = "{" NEAR "," AZURE_DUAL "}"},
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

/* Is the kind one of a field's? */
static bool is_of_kinds(const char *kinds, const char *name)
{
    for (size_t n; *kinds != '\0'; kinds += n + strspn(kinds + n, " ")) {
        char glob[KIND_NAME_MAX];
        n = strcspn(kinds, " ");
        if (n >= sizeof(glob)) {
            abort(); /* KIND_NAME_MAX is too small */
        }
        memcpy(glob, kinds, n);
        glob[n] = '\0';
        if (str_glob(glob, name)) {
            return true;
        }
    }
    return false;
}

bool edit_at(const struct edit_kind *k, size_t i, struct edit *ret)
{
    static const struct edit_field *const tables[] = {edit_fields_spec, edit_fields_gce,
                                                      edit_fields_azure, edit_fields_aws};
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        for (const struct edit_field *f = tables[t]; f->name != NULL; f++) {
            if (!is_of_kinds(f->kinds, k->name)) {
                continue;
            }
            for (size_t v = 0; v < EDIT_VALUES_MAX && f->values[v].nature != EDIT_END; v++) {
                bool tried = k->without == NULL || strstr(f->values[v].json, k->without) == NULL;
                if (tried && i-- == 0) {
                    *ret = (struct edit){k, f, &f->values[v]};
                    return true;
                }
            }
        }
    }
    return false;
}

static bool is_spec(const struct edit_field *f)
{
    return str_has_prefix(f->name, "spec");
}

/* Its value is an object of several members. */
static bool is_whole(const struct edit_field *f)
{
    return str_eq(f->name, "spec") || str_eq(f->name, "notes");
}

/* Do both write one annotation? */
static bool share_a_note(const struct edit *one, const struct edit *other)
{
    return is_whole(one->field) && !is_spec(other->field) &&
           (is_whole(other->field) || strstr(one->value->json, other->field->name) != NULL);
}

/* Two edits that keep the Service with trimtab when each is made alone. */
static bool hands_over(const struct edit_value *one, const struct edit_value *other)
{
    return (one->effects & EDIT_HANDS_OUT) != 0 && (other->effects & EDIT_MOVES) != 0;
}

bool edit_pair(const struct edit *one, const struct edit *other, struct edit *ret)
{
    const struct edit_field *f = one->field;
    const struct edit_field *g = other->field;
    bool whole = str_eq(f->name, "spec") || str_eq(g->name, "spec");
    if (str_eq(f->name, g->name) || (whole && is_spec(f) && is_spec(g)) ||
        share_a_note(one, other) || share_a_note(other, one) ||
        ((one->value->effects | other->value->effects) & EDIT_LEAVES) != 0 ||
        hands_over(one->value, other->value) || hands_over(other->value, one->value)) {
        return false;
    }
    *ret = *one;
    ret->field2 = g;
    ret->value2 = other->value;
    return true;
}

unsigned edit_effects(const struct edit *e)
{
    unsigned more = e->value2 != NULL ? e->value2->effects : 0;
    bool leaves = (e->value->effects & more & EDIT_HALF_OUT) != 0;
    return e->value->effects | more | (leaves ? EDIT_LEAVES : 0);
}

static bool writes_ports(const struct edit_field *f)
{
    return str_eq(f->name, "spec.ports") || str_eq(f->name, "spec");
}

bool edit_is_bare(const struct edit *e)
{
    bool ports = writes_ports(e->field) || (e->field2 != NULL && writes_ports(e->field2));
    return ports && (edit_effects(e) & EDIT_BARE) != 0;
}

static bool names(const struct edit *e, const char *field)
{
    return str_eq(e->field->name, field) || (e->field2 != NULL && str_eq(e->field2->name, field));
}

static bool gives_ranges(const struct edit_field *f, const struct edit_value *v)
{
    return f != NULL && (str_eq(f->name, "spec.loadBalancerSourceRanges") ||
                         (str_eq(f->name, "spec") && strstr(v->json, "SourceRanges") != NULL));
}

/* Azure's provider refuses ranges in the spec beside ranges in an annotation
 * (docs/spec/azure.md 9.3). */
static bool is_refused_together(const struct edit *e)
{
    return str_eq(e->kind->cloud, "azure") &&
           (gives_ranges(e->field, e->value) || gives_ranges(e->field2, e->value2)) &&
           names(e, "service.beta.kubernetes.io/load-balancer-source-ranges");
}

bool edit_is_good(const struct edit *e)
{
    if (is_refused_together(e) || (edit_is_bare(e) && !str_eq(e->kind->cloud, "gce"))) {
        return false;
    }
    return e->value->nature == EDIT_GOOD && (e->value2 == NULL || e->value2->nature == EDIT_GOOD);
}

const char *edit_name(struct arena *a, const struct edit *e)
{
    const char *one = arena_printf(a, "%s %s %s", e->kind->name, e->field->name, e->value->json);
    return e->field2 == NULL ? one
                             : arena_printf(a, "%s & %s %s", one, e->field2->name, e->value2->json);
}

/* Its member in the object that the patch has for it. */
static const char *member(struct arena *a, const struct edit_field *f, const struct edit_value *v)
{
    if (is_whole(f)) {
        return arena_printf(a, "%.*s", (int)strlen(v->json) - 2, v->json + 1); /* without braces */
    }
    const char *name = is_spec(f) ? f->name + strlen("spec.") : f->name;
    return arena_printf(a, "\"%s\":%s", name, v->json);
}

const char *edit_patch(struct arena *a, const struct edit *e)
{
    const char *spec = is_spec(e->field) ? member(a, e->field, e->value) : "";
    const char *notes = is_spec(e->field) ? "" : member(a, e->field, e->value);
    if (e->field2 != NULL) {
        const char *more = member(a, e->field2, e->value2);
        const char **to = is_spec(e->field2) ? &spec : &notes;
        *to = **to == '\0' ? more : arena_printf(a, "%s,%s", *to, more);
    }
    return arena_printf(a, "{\"spec\":{%s},\"metadata\":{\"annotations\":{%s}}}", spec, notes);
}
