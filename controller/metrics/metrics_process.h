/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_process.h: what the process knows of itself: process_*, kubernetes_build_info,
 * kubernetes_feature_enabled.
 *
 * Source: controller.md §3.7; /proc of Linux.  What cannot be read there is left as it was. */
#ifndef TRIMTAB_CONTROLLER_METRICS_PROCESS_H
#define TRIMTAB_CONTROLLER_METRICS_PROCESS_H

#include <stdint.h>

#include "controller/metrics/metrics.h"
#include "controller/options/options.h"

/* Sets what never changes, and adds the collector for the rest.  Once per registry. */
void metrics_add_process(struct metrics *m, const struct options *o);
/* Wall time of the process's start, in µs; 0: /proc cannot be read. */
int64_t process_started_us(void);

#endif
