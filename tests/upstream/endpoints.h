/* SPDX-License-Identifier: Apache-2.0 */
/* endpoints.h: an Endpoints object from JSON: the argument of the mirror's and the legacy
 * controller's questions.  The product reads no Endpoints.  Pure. */
#ifndef TRIMTAB_TESTS_UPSTREAM_ENDPOINTS_H
#define TRIMTAB_TESTS_UPSTREAM_ENDPOINTS_H

#include "common/services/decode/objects.h"

int ks_endpoints_decode(struct arena *a, struct json_object *o, const char *where,
                        const struct ks_endpoints **ret, struct err *err) _warn_unused_;

#endif
