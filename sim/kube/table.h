/* SPDX-License-Identifier: Apache-2.0 */
/* table.h: answers of kind Table, which `kubectl get` prints. */
#ifndef TRIMTAB_SIM_KUBE_TABLE_H
#define TRIMTAB_SIM_KUBE_TABLE_H

#include "sim/kube/kube.h"

struct kube_table_meta {
    int64_t rv;
    const char *token; /* NULL: last page */
    int64_t remaining; /* -1: not said */
};

void kube_answer_table(struct kube_request *r, struct kube_obj *const *objs, size_t n,
                       const struct kube_table_meta *meta);
/* A Table of one row, for GET of one object and for watches; without column definitions
 * after the first. */
void kube_table_append_one(struct str_buf *b, struct kube_request *r, const struct kube_obj *o,
                           bool with_columns);
/* "metadata":{…} of a list. */
void kube_append_list_meta(struct str_buf *b, int64_t rv, const char *token, int64_t remaining);

#endif
