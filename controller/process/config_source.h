/* SPDX-License-Identifier: Apache-2.0 */
/* config_source.h: where the provider's configuration comes from: a file, a Secret of the cluster,
 * or both.
 *
 * The texts are handed to the provider as they stand; what they mean, and which of two wins, is its
 * business.  Only bytes are compared here.  Errors name file, or Secret and key, and never quote
 * what is in them.
 * Source: docs/spec/azure.md 1.1; the flags are upstream Azure's.  Blocks on file and
 * network; any thread. */
#ifndef TRIMTAB_CONTROLLER_CONFIG_SOURCE_H
#define TRIMTAB_CONTROLLER_CONFIG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "common/base/cancel.h"
#include "common/base/err.h"
#include "controller/kube/client/client.h"

struct config_source {
    const char *path;           /* --cloud-config; NULL or "": no file */
    const char *secret_ns;      /* --cloud-config-secret-namespace */
    const char *secret_name;    /* --cloud-config-secret-name; NULL or "": no Secret */
    const char *secret_key;     /* --cloud-config-key */
    struct kube_client *client; /* for the Secret; NULL: no cluster, then a Secret is an error */
    struct cancel *cancel;      /* ends the wait for the API server; may be NULL */
};
/* The contents read; texts are NULL for absent sources. */
struct config_texts {
    const char *path; /* of the file */
    const char *text;
    size_t len;
    const char *secret_path; /* "secret kube-system/azure-cloud-provider, key cloud-config" */
    const char *secret_text;
    size_t secret_len;
};

/* Everything in the arena.  ERR_NOT_FOUND: no such file, Secret or key; ERR_INVALID: too large, no
 * base64; else what kube_client_do() says. */
int config_source_read(const struct config_source *src, struct arena *a, struct config_texts *ret,
                       struct err *err) _warn_unused_;
bool config_texts_equal(const struct config_texts *x, const struct config_texts *y);
struct config_texts config_texts_copy(struct arena *a, const struct config_texts *t);
/* Hands them to a provider: one that reads Secrets itself (TT_CAP_READS_SECRET) gets both, others
 * one text.  ERR_INVALID: two texts for a provider that takes one. */
int config_texts_fill(const struct config_texts *t, const struct tt_provider *desc,
                      struct tt_open_args *args, struct err *err) _warn_unused_;

#endif
