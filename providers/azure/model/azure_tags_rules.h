/* SPDX-License-Identifier: Apache-2.0 */
/* azure_tags_rules.h: tags of resources: what the configuration wants, and how it meets what is
 * there.
 *
 * Names of tags are compared without case everywhere, values too when it is asked whether something
 * changed; ARM keeps the case of both.  Tags that we do not know stay, unless systemTags asks for
 * tidying.
 * Source: docs/spec/azure.md 6.12; 18 row 10; vectors 13.7.  Pure. */
#ifndef TRIMTAB_AZURE_TAGS_RULES_H
#define TRIMTAB_AZURE_TAGS_RULES_H

#include "common/base/arena.h"
#include "common/data/json.h"
#include "providers/azure/model/azure_config.h"

#include <stdbool.h>
#include <stddef.h>

/* By these a public IP is known. */
#define AZURE_TAG_SERVICE "k8s-azure-service"
#define AZURE_TAG_CLUSTER "k8s-azure-cluster-name"
#define AZURE_TAG_DNS     "k8s-azure-dns-label-service"

struct azure_tags {
    struct azure_kv *items; /* no two names that are equal without case */
    size_t n;
};

/* "k=v,k2=v2" and, over it, a map.  Pairs without exactly one '=' and empty names are left out. */
struct azure_tags azure_tags_parse(struct arena *a, const char *text, const struct azure_kv *map,
                                   size_t n_map);
/* Sets a tag in such a list, over one of the same name. */
void azure_tags_set(struct arena *a, struct azure_tags *tags, const char *name, const char *value);
/* Puts `wanted` into a "tags" object of ARM; with prefixes in `system_tags`, tags that are neither
 * wanted nor begin with one of them go.  True when something changed. */
bool azure_tags_merge(struct arena *a, struct json_object *tags, const struct azure_tags *wanted,
                      const char *system_tags);
/* The same for the tags member of a document, made when there is something to put into it. */
bool azure_tags_apply(struct arena *a, struct json_object *doc, const struct azure_tags *wanted,
                      const char *system_tags);
/* Load balancer and security group: only tagged when tags or tagsMap are configured. */
bool azure_tags_apply_config(struct arena *a, struct json_object *doc,
                             const struct azure_config *c);
/* The value of a tag of a document, its name compared without case; NULL when absent. */
const char *azure_tag(struct json_object *doc, const char *name);

#endif
