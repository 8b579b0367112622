/* SPDX-License-Identifier: Apache-2.0 */
/* selectors.h: label and field selectors of lists and watches.
 *
 * Labels: a=b, a==b, a!=b, a, !a, a in (x,y), a notin (x).  Fields: a=b, a==b, a!=b on
 * metadata.name, metadata.namespace and what the kind's row allows.  Pure. */
#ifndef TRIMTAB_SIM_KUBE_SELECTORS_H
#define TRIMTAB_SIM_KUBE_SELECTORS_H

#include "sim/kube/kinds.h"
#include "sim/kube/store.h"

struct kube_selector;

/* Reads both texts (NULL or "" select everything).  A refusal (new reference), or NULL and *ret,
 * which is NULL when everything is selected. */
struct json_object *kube_selector_parse(struct arena *a, const struct kube_kind *kind,
                                        const char *labels, const char *fields,
                                        const struct kube_selector **ret);
/* Does the selector (NULL: yes) take this object? */
bool kube_selector_takes(const struct kube_selector *s, const struct kube_obj *o);

#endif
