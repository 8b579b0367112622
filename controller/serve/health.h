/* SPDX-License-Identifier: Apache-2.0 */
/* health.h: named checks behind /healthz, /livez and /readyz, and what these print.
 *
 *     health_add(h, "leaderElection", HEALTH_Z | HEALTH_LIVE, check, elector);
 *
 * A check is a quick look at something in memory.  Checks may be added while the server runs (a
 * controller adds its own once it was started).  Why one failed is said in the log, at the default
 * level when it begins to; the three pages are open to all and say "reason withheld".
 * /healthz/NAME is not, by default, and tells it, as the API server does.  Where no check was added
 * there is one, "ping", that is always fine.  A standby is healthy.
 * Source: controller.md §3.5, vectors 213–218; texts
 * of apiserver/pkg/server/healthz. Thread-safe. */
#ifndef TRIMTAB_SERVE_HEALTH_H
#define TRIMTAB_SERVE_HEALTH_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/attr.h"
#include "controller/metrics/metrics.h"
#include "controller/serve/page.h"

#define HEALTH_Z     1u /* /healthz */
#define HEALTH_LIVE  2u /* /livez */
#define HEALTH_READY 4u /* /readyz */

struct health;

/* True: fine.  Else `why` (n bytes) says in one line what is wrong. */
typedef bool health_check_fn(void *arg, char *why, size_t n);

/* Sets kubernetes_healthcheck and kubernetes_healthchecks_total in `metrics`. */
struct health *health_new(struct metrics *metrics) _warn_unused_;
void health_free(struct health *h);
/* `name` is copied.  A name that is there already gets the new function.  Checks are run in the
 * order they were added. */
void health_add(struct health *h, const char *name, unsigned where, health_check_fn *check,
                void *arg);
/* When it returns, the check is not running and is not run any more.  Not from within a check. */
void health_remove(struct health *h, const char *name);

/* Pages /healthz, /livez, /readyz with everything below; `arg` is a struct
 * health.  `/healthz/NAME` is one check. */
void health_page(void *arg, const struct page_request *req, struct page_answer *ret);

#endif
