/* SPDX-License-Identifier: Apache-2.0 */
/* user_agent.h: what this program calls itself in requests to the API server.
 *
 * Upstream's form, because audit policies and flow schemas match it; the last part says on whose behalf a request is made.
 * Source: controller.md §3.1; the build's version stands where Go has the commit.  Pure but for uname(). */
#ifndef TRIMTAB_CONTROLLER_USER_AGENT_H
#define TRIMTAB_CONTROLLER_USER_AGENT_H

#define USER_AGENT_MAX 160 /* bytes with the NUL */

/* "cloud-controller-manager/v1.36.2 (linux/amd64) kubernetes/trimtab-0.1/PART", PART "service-controller",
 * "leader-election" … */
void user_agent_make(const char *part, char out[USER_AGENT_MAX]);

#endif
