/* SPDX-License-Identifier: Apache-2.0 */
/* azure_frontend.h: questions about one frontend of one document, in the calls that the product
 * makes for many: it keeps the claim of a Service (azure_owner.c) and the index of a balancer. */
#ifndef TRIMTAB_TESTS_UPSTREAM_AZURE_FRONTEND_H
#define TRIMTAB_TESTS_UPSTREAM_AZURE_FRONTEND_H

#include "providers/azure/lb/azure_frontend_rules.h"

/* Whether the Service owns the frontend, and how it is known. */
struct azure_ownership azure_frontend_owner(struct arena *a, const struct azure_service *s,
                                            struct json_object *frontend,
                                            const struct azure_pips *pips);
/* ERR_IN_USE: a port of the Service is taken on that frontend (6.8). */
int azure_frontend_check_ports(const struct azure_service *s, const char *id,
                               struct json_object *lb, struct err *err) _warn_unused_;

#endif
