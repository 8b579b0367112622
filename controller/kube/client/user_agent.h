/* SPDX-License-Identifier: Apache-2.0 */
/* user_agent.h: what each client calls itself: upstream's form, with the client's name at the end
 * (§3.1, 4.5).
 *
 *     cloud-controller-manager/v1.36.2 (linux/amd64) kubernetes/trimtab-0.1.0/service-controller
 *
 * Audit logs and priority-and-fairness rules match on it.  Vector 188.  Pure but for
 * uname(). */
#ifndef TRIMTAB_KUBE_USER_AGENT_H
#define TRIMTAB_KUBE_USER_AGENT_H

#include "common/base/arena.h"

#define USER_AGENT_MAX 160 /* bytes with the NUL */

/* Names of clients, as upstream's. */
#define USER_AGENT_SERVICES                                                                        \
    "service-controller" /* everything done for Services, and their events */
#define USER_AGENT_LEASES  "leader-election"
#define USER_AGENT_WATCHES "shared-informers" /* lists and watches, and the wait for /healthz */
/* tokens of accounts, the process' own events */
#define USER_AGENT_MAIN "cloud-controller-manager"

/* Ours, for the client of that name. */
void user_agent_make(const char *client, char out[USER_AGENT_MAX]);

/* Upstream's form: "lynx/1.2 (linux/amd64) kubernetes/abc". */
char *user_agent_build(struct arena *a, const char *command, const char *version, const char *os,
                       const char *arch, const char *commit);

#endif
