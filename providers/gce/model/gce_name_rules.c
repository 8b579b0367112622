/* SPDX-License-Identifier: Apache-2.0 */
/* gce_name_rules.c: see gce_name_rules.h. */
#include "providers/gce/model/gce_name_rules.h"

#include <string.h>

#include "common/base/str.h"
#include "common/net/url_build.h"
#include "providers/gce/model/gce_l4_rules.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_service_rules.h"

#define NAME_PATTERN "[a-z]([-a-z0-9]{0,61}[a-z0-9])?"

enum kind {
    NAME = 0, /* of something in the cluster's own project and region */
    LINK,     /* the same, or a path with a project of its own */
    RULE,     /* a forwarding rule, likewise; gce_custom_fr_rules.c tells what is none */
};

const struct name_rule gce_resource_name_rule = {"the name of a resource of Compute Engine",
                                                 NAME_PATTERN,
                                                 1,
                                                 63,
                                                 "a-z",
                                                 "a-z0-9-",
                                                 "a-z0-9",
                                                 false};

static const struct name_field fields[] = {
    {.key = GCE_ANN_IP_ADDRESSES, .rule = &gce_resource_name_rule, .separator = ',', .kind = NAME},
    {.key = GCE_ANN_SUBNET_NEW, .rule = &gce_resource_name_rule, .kind = NAME, .literal = true},
    {.key = GCE_ANN_SUBNET, .rule = &gce_resource_name_rule, .kind = NAME, .literal = true},
    {.key = GCE_ANN_IP_COLLECTION, .kind = LINK, .literal = true},
    {.key = GCE_ANN_CUSTOM_RULES, .separator = ',', .kind = RULE},
};

bool gce_project_holds(struct arena *a, const char *text)
{
    static const struct name_rule domain = {"", "", 1, 253, "a-z0-9", "a-z0-9.-", "a-z0-9", false};
    static const struct name_rule id = {"", "", 1, 63, "a-z0-9", "a-z0-9-", "a-z0-9", false};
    const char *colon = strchr(str_nonnull(text), ':');
    if (colon == NULL) {
        return name_rule_holds(&id, text);
    }
    return name_rule_holds(&domain, arena_strndup(a, text, (size_t)(colon - text))) &&
           name_rule_holds(&id, colon + 1);
}

struct check {
    struct arena *a;
    const struct gce_name_scope *scope;
};

static int check_project(const struct check *k, const struct name_seen *seen, const char *project,
                         struct err *err)
{
    const struct gce_name_scope *scope = k->scope;
    bool own = str_is_empty(project) || str_eq(scope->project, project) ||
               str_eq(scope->network_project, project);
    return own || name_list_allows(&scope->projects, project, false)
               ? ERR_OK
               : name_not_allowed(seen, project, "project", "allowed-projects", err);
}

/* A path of the API, with or without its host; each part is one segment. */
static bool is_link(const struct check *k, const char *text, struct gce_link *ret)
{
    if (gce_link_parse(k->a, text, ret, NULL) != ERR_OK) {
        return false;
    }
    const char *const parts[] = {ret->resource, ret->name};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (url_segment_fault(parts[i]) != NULL) {
            return false;
        }
    }
    return (ret->region[0] == '\0' || url_segment_fault(ret->region) == NULL) &&
           (ret->zone[0] == '\0' || url_segment_fault(ret->zone) == NULL) &&
           (ret->project[0] == '\0' || gce_project_holds(k->a, ret->project)) &&
           name_rule_holds(&gce_resource_name_rule, ret->name);
}

static int check_link(const struct check *k, const struct name_seen *seen, struct err *err)
{
    struct gce_link link = {.project = ""};
    if (strchr(seen->name, '/') == NULL) {
        return name_check(&gce_resource_name_rule, seen->where, seen->name, seen->state, err);
    }
    if (!is_link(k, seen->name, &link)) {
        return err_set(err, ERR_INVALID,
                       "%s: \"%.500s\": want the name of a resource (%s) or its path "
                       "(projects/…/regions/…/…/…)",
                       seen->where, seen->name, NAME_PATTERN);
    }
    return check_project(k, seen, link.project, err);
}

static int check_rule(const struct check *k, const struct name_seen *seen, struct err *err)
{
    struct gce_link link = {.project = ""};
    bool whole =
        strchr(seen->name, '/') != NULL && gce_link_parse(k->a, seen->name, &link, NULL) == ERR_OK;
    return whole ? check_project(k, seen, link.project, err) : ERR_OK;
}

static int also(void *arg, const struct name_seen *seen, struct err *err)
{
    const struct check *k = arg;
    switch (seen->field->kind) {
    case LINK:
        return check_link(k, seen, err);
    case RULE:
        return check_rule(k, seen, err);
    default:
        return ERR_OK;
    }
}

static bool counts(void *arg, const struct name_field *field, const struct tt_service *s)
{
    const struct check *k = arg;
    (void)s;
    return !k->scope->target_pool || field->kind != NAME;
}

/* It goes into the filter of a list as it is; the API server takes any text for it. */
static int check_ip(const struct tt_service *s, struct err *err)
{
    const char *text = str_nonnull(s->lb_ip);
    return text[strspn(text, "0123456789abcdefABCDEF:.")] == '\0'
               ? ERR_OK
               : err_set(err, ERR_INVALID, "spec.loadBalancerIP: \"%.253s\": want an IP address",
                         text);
}

int gce_names_check(struct arena *a, const struct gce_name_scope *scope, const struct tt_service *s,
                    const struct tt_service *previous, struct err *err)
{
    struct check k = {.a = a, .scope = scope};
    const struct name_fields all = {.provider = GCE_PROVIDER,
                                    .fields = fields,
                                    .n = ARRAY_LEN(fields),
                                    .also = also,
                                    .counts = counts,
                                    .arg = &k};
    int rc = check_ip(s, err);
    return rc == ERR_OK ? names_check(a, &all, s, previous, err) : rc;
}
