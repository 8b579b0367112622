/* SPDX-License-Identifier: Apache-2.0 */
/* gce_kube_texts.h: objects of the API server that many Services name and that seldom change, as
 * texts.
 *
 * What was read is good for GCE_KUBE_TEXTS_AGE_MS, so that many Services that share one object ask
 * once; an object that changes takes effect with the next sync of its Services after that.  Texts
 * are kept, not trees: a tree belongs to one thread.  Thread-safe; blocks. */
#ifndef TRIMTAB_GCE_KUBE_TEXTS_H
#define TRIMTAB_GCE_KUBE_TEXTS_H

#include "common/base/arena.h"
#include "common/data/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <trimtab/provider.h>

#define GCE_KUBE_TEXTS_AGE_MS 30000

struct gce_kube_texts;
struct gce_kube_texts *gce_kube_texts_new(void) _warn_unused_;
void gce_kube_texts_free(struct gce_kube_texts *t); /* NULL is fine */

/* One answer. */
struct gce_kube_text {
    int32_t code; /* TT_OK, TT_NOT_FOUND or what else the API server, or the host, said */
    /* in the arena; NULL where `code` is not TT_OK, or the text is no JSON */
    struct json_object *o;
};
/* The object of `ref`.  `misses`: that it could not be read is kept as well. */
struct gce_kube_text gce_kube_texts_get(struct gce_kube_texts *t, const struct tt_host *host,
                                        const struct tt_call *call, struct arena *a,
                                        const struct tt_kube_ref *ref, bool misses);

#endif
