/* SPDX-License-Identifier: Apache-2.0 */
/* exposed.h: a warning for endpoints of a cloud that are asked without TLS over a network.
 *
 * Requests carry the controller's token or signature, and answers decide what it changes.  Plain
 * HTTP is fine on the same machine (simulators, sidecars) and to link-local addresses (metadata
 * services, which have no other form). */
#ifndef TRIMTAB_LB_EXPOSED_H
#define TRIMTAB_LB_EXPOSED_H

#include "common/base/arena.h"

#include <trimtab/provider.h>

/* The warning about `url`, which `what` names in the configuration; NULL if it is safe, empty or no
 * URL.  The text is a's. */
const char *exposed_text(struct arena *a, const char *what, const char *url);
/* Logs it.  The host's log may be NULL. */
void exposed_log(const struct tt_host *host, struct arena *a, const char *what, const char *url);

#endif
