/* SPDX-License-Identifier: Apache-2.0 */
/* azure_pip_tags.h: the tags by which public IPs are known, shared by the files of
 * azure_pip_rules.h.
 *
 * Texts are borrowed from the tree; "" when there is none.  Source:
 * docs/spec/azure.md 8.4. Pure. */
#ifndef TRIMTAB_AZURE_PIP_TAGS_H
#define TRIMTAB_AZURE_PIP_TAGS_H

#include "common/base/arena.h"
#include "common/data/json.h"
#include "providers/azure/model/azure_tags_rules.h"

/* `tags` may be NULL.  The tags of older releases count where the modern ones are absent. */
const char *azure_pip_tag_services(struct json_object *tags);
const char *azure_pip_tag_cluster(struct json_object *tags);
const char *azure_pip_tag_dns(struct json_object *tags);
/* The items of the service tag, trimmed, without blanks. */
const char **azure_pip_services(struct arena *a, struct json_object *tags, size_t *ret_n);
/* By type, then tag; arena-owned. */
struct json_object *azure_ip_tags_sorted(struct arena *a, struct json_object *array);

#endif
