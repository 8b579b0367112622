/* SPDX-License-Identifier: Apache-2.0 */
/* kube_ignore_sent.h: a listener for requests to the API server that hears nothing. */
#ifndef TRIMTAB_TESTS_KUBE_IGNORE_SENT_H
#define TRIMTAB_TESTS_KUBE_IGNORE_SENT_H

#include "controller/kube/model/sent.h"

static inline void kube_ignore_sent(void *arg, const struct kube_sent *sent)
{
    (void)arg, (void)sent;
}

#endif
