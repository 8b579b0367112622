/* SPDX-License-Identifier: Apache-2.0 */
/* azure_idle_internal.h: what the files of azure_idle_rules.h share.  Private to azure_idle_*.c. */
#ifndef TRIMTAB_AZURE_IDLE_INTERNAL_H
#define TRIMTAB_AZURE_IDLE_INTERNAL_H

#include "providers/azure/model/azure_idle_rules.h"

#define KEY(name) AZURE_ANNOTATION_PREFIX name

struct azure_idle_ask {
    struct arena *a;
    const struct azure_naming *naming;
    const struct azure_service *s;
};
/* The findings so far. */
struct azure_idle {
    struct arena *a;
    struct azure_finding *items;
    size_t n, most;
};
/* The value of an annotation, by its name without the prefix; NULL: absent, or empty. */
const char *azure_idle_filled(const struct azure_service *s, const char *name);
/* "annotation KEY has no effect WHY"; a second one about the same key is left out. */
void azure_idle_add(struct azure_idle *out, const char *name, const char *why);
/* Annotations of health probes, and those that leave a rule or a probe out. */
void azure_idle_probes(struct azure_idle *out, const struct azure_idle_ask *q);

#endif
