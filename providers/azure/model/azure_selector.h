/* SPDX-License-Identifier: Apache-2.0 */
/* azure_selector.h: Kubernetes label selectors, as multipleStandardLoadBalancerConfigurations[]
 * holds them.
 *
 * metav1.LabelSelector: matchLabels and matchExpressions, all of which must hold.  A selector that
 * is absent or empty is "not given" and matches nothing by itself: the caller says what that means.
 * Everything lives in the arena of the configuration.
 * Source: Kubernetes API, metav1.LabelSelector; docs/spec/azure.md 1.3, 5.5.  Pure. */
#ifndef TRIMTAB_AZURE_SELECTOR_H
#define TRIMTAB_AZURE_SELECTOR_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/types.h>

enum azure_operator {
    AZURE_IN = 1,
    AZURE_NOT_IN,
    AZURE_HAS,
    AZURE_HAS_NOT,
    AZURE_OPERATOR_BAD, /* kept, refused when it is evaluated */
};
struct azure_requirement {
    const char *key;
    enum azure_operator op;
    const char *op_text;
    const char *const *values;
    size_t n_values;
};
struct azure_selector {
    const struct azure_requirement *items; /* n of them; n 0 = not given */
    size_t n;
    /* an object stands there, even {}: that one matches everything where upstream
     * asks for presence */
    bool given;
};

/* `o` may be NULL.  ERR_INVALID for wrong JSON types only, as upstream's decoder. */
int azure_selector_decode(struct arena *a, struct json_object *o, struct azure_selector *ret,
                          struct err *err) _warn_unused_;
/* `labels` sorted by key.  ERR_INVALID: a requirement that Kubernetes refuses (In without values,
 * values with Exists, an unknown operator, a bad key or value), naming it. */
int azure_selector_matches(const struct azure_selector *s, const struct tt_kv *labels, size_t n,
                           bool *ret, struct err *err) _warn_unused_;

#endif
