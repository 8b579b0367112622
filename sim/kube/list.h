/* SPDX-License-Identifier: Apache-2.0 */
/* list.h: what lists and watches understand alike in their parameters. */
#ifndef TRIMTAB_SIM_KUBE_LIST_H
#define TRIMTAB_SIM_KUBE_LIST_H

#include "sim/kube/kube.h"
#include "sim/kube/selectors.h"

struct kube_list_options {
    const struct kube_selector *selector;
    bool has_rv; /* resourceVersion was given and is not empty */
    int64_t rv;
    const char *match; /* "", "Exact" or "NotOlderThan" */
    bool send_initial; /* sendInitialEvents=true */
    bool has_send_initial;
};

/* Reads them; a refusal (new reference) or NULL. */
struct json_object *kube_list_options(struct kube_request *r, struct kube_list_options *ret);
/* 504 Timeout for a version from the future. */
struct json_object *kube_status_too_large(struct kube_request *r, int64_t rv);

#endif
