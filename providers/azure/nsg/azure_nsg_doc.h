/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nsg_doc.h: the rules of one security group in a form that can be edited, and back.
 *
 * Each rule is its members that we look at, beside the JSON as it was read.  What did not change
 * goes back as that same JSON: foreign rules, and members that we know nothing of, survive to the
 * byte.  Singular and plural members (sourceAddressPrefix, sourceAddressPrefixes …) are one set;
 * absent, null, "" and [] are the same, so that ARM's way of writing an answer never looks like a
 * change (9.6).
 * A rule is ours when its name begins with "k8s-azure-lb" and its priority is 500…4096; only
 * azure_nsg_rules.h edits rules.  Not thread-safe; everything lives in one arena.
 * Source: docs/spec/azure.md 9.1, 9.6, 18 row 13.  Pure. */
#ifndef TRIMTAB_AZURE_NSG_DOC_H
#define TRIMTAB_AZURE_NSG_DOC_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/strset.h"
#include "common/data/json.h"
#include "common/lb/diff.h"
#include "providers/azure/nsg/azure_nsg_desired.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AZURE_NSG_PRIORITY_MIN 500
#define AZURE_NSG_PRIORITY_MAX 4096

struct azure_nsg_body {
    int64_t priority;     /* 0 when absent */
    const char *protocol; /* as written; "" when absent; so are the two that follow */
    const char *access;
    const char *direction;
    struct str_set sources;
    struct str_set source_ports;
    struct str_set destinations;
    struct str_set ports;
    struct str_set source_groups;      /* IDs of application security groups */
    struct str_set destination_groups; /* the same */
};
struct azure_nsg_rule {
    const char *name;
    struct json_object *json; /* as read, borrowed; NULL = made here */
    struct azure_nsg_body now;
    struct azure_nsg_body was; /* as read */
    struct str_set owners;     /* keys of the Services that changed it */
    bool stale;                /* it lost a destination that nothing uses */
    bool dropped; /* another release's (azure_nsg_legacy.h): left out when the group is written */
    const char *const *
        /* destinations of which all may stay during the whole batch: not looked through again */
        settled;
};
struct azure_nsg {
    struct arena *a;
    struct json_object *doc; /* the array as read, borrowed */
    struct azure_nsg_rule **rules;
    size_t n;
    size_t cap;
};

/* `rules` is properties.securityRules.  ERR_TRANSIENT when it is no array: the answer
 * was not whole. */
int azure_nsg_read(struct arena *a, struct json_object *rules, struct azure_nsg *ret,
                   struct err *err) _warn_unused_;
bool azure_nsg_is_managed(const struct azure_nsg_rule *r);
/* A rule of ours that applies to nothing any more, or a dropped one: it is left out when
 * the group is written. */
bool azure_nsg_is_empty(const struct azure_nsg_rule *r);
/* By name, without case, as ARM keeps them apart; NULL when there is none. */
struct azure_nsg_rule *azure_nsg_find(const struct azure_nsg *g, const char *name);
struct azure_nsg_rule *azure_nsg_append(struct azure_nsg *g, const char *name);
bool azure_nsg_body_eq(const struct azure_nsg_body *x, const struct azure_nsg_body *y);

/* Numbers that Azure limits. */
struct azure_nsg_size {
    size_t rules;
    size_t sources;
    size_t destinations;
};
struct azure_nsg_size azure_nsg_measure(const struct azure_nsg *g);

bool azure_nsg_changed(const struct azure_nsg *g);
/* The array to send: the one that was read when nothing changed.  Lives as long as the arena. */
struct json_object *azure_nsg_write(const struct azure_nsg *g);
/* The members in which a rule differs from what was read. */
void azure_nsg_rule_fields(struct lb_diff *d, const struct azure_nsg_rule *r);

#endif
