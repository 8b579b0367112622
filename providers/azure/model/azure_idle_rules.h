/* SPDX-License-Identifier: Apache-2.0 */
/* azure_idle_rules.h: wishes of a Service that Azure knows, and that have no effect beside what the
 * Service or the cloud-config says otherwise.
 *
 * The owner hears of each one, so that no edit is silently lost.  Values that cannot be read are
 * findings of azure_service_read().  Source: docs/adr/0031; docs/spec/azure.md 6.5, 6.6, 8, 9.3,
 * 10.1, 10.6.  Pure. */
#ifndef TRIMTAB_AZURE_IDLE_RULES_H
#define TRIMTAB_AZURE_IDLE_RULES_H

#include "providers/azure/model/azure_service.h"

/* Annotations that are not empty and have no effect, with the reason: at most `most`, one for each
 * annotation, none of them fatal. */
size_t azure_idle_findings(struct arena *a, const struct azure_naming *n,
                           const struct azure_service *s, struct azure_finding *ret, size_t most);
/* Settings that `before` asked for, `now` asks for no longer, and Azure keeps; likewise. */
size_t azure_kept_findings(struct arena *a, const struct azure_naming *n,
                           const struct azure_service *now, const struct azure_service *before,
                           struct azure_finding *ret, size_t most);

#endif
