/* SPDX-License-Identifier: Apache-2.0 */
/* service_digest.h: one number for all that a Service asks for: by it "was exactly this asked for
 * before?" is one comparison.
 *
 * It covers spec, annotations and uid, and whether the Service is being deleted.  Left out are
 * status, labels, finalizers, and the annotations that the controller writes itself.  It is the
 * same in every process: ConfigMaps and conditions keep it.  Pure. */
#ifndef TRIMTAB_LB_SERVICE_DIGEST_H
#define TRIMTAB_LB_SERVICE_DIGEST_H

#include <stdint.h>
#include <trimtab/types.h>

/* Never 0.  `own`: annotations of the controller beside those below trimtab.io; a trailing '*'
 * stands for all keys that begin so. */
uint64_t svc_digest(uint64_t seed, const struct tt_service *s, const char *const *own,
                    uint32_t n_own);

#endif
