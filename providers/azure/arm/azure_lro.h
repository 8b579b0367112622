/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lro.h: long-running operations: is a write done, and where is it asked again?
 *
 * Three ways in which Azure answers a write (docs/spec/azure.md 3.5): a URL of the operation's
 * status (Azure-AsyncOperation), a URL of its result (Location), or the resource with its
 * provisioningState.  URLs that lead to another server are not followed: the token would
 * go with them.  Pure. */
#ifndef TRIMTAB_AZURE_LRO_H
#define TRIMTAB_AZURE_LRO_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"
#include "common/net/http.h"

#include <stdbool.h>
#include <stdint.h>

enum azure_lro_style {
    AZURE_LRO_NONE = 0,
    AZURE_LRO_STATUS,
    AZURE_LRO_LOCATION,
    AZURE_LRO_BODY,
};
struct azure_lro {
    /* given, and kept between answers */
    int style;
    const char *poll_url;
    const char *base;         /* of the API: "https://management.azure.com" */
    const char *resource_url; /* of the write itself */
    bool put;
    bool first; /* the answer of the write itself, not of a poll */
    /* result */
    bool done;         /* also when it has ended in failure */
    bool has_resource; /* the body is the resource in its final form */
    int64_t retry_after_ms;
};
/* ERR_OK: see `done`; else the operation has failed (`done`), or the answer is no answer
 * (TRANSIENT).  `body` may be NULL. */
int azure_lro_look(struct arena *a, struct azure_lro *lro, const struct http_response *resp,
                   struct json_object *body, int64_t wall_s, struct err *err) _warn_unused_;
/* How long to wait before the next poll: what the server asked for; else nothing before the first
 * one.  When writes of the kind are known to take `usual_ms` (0: not known), until four fifths of
 * that, and then half a second each time until half as long again has passed.  Else a fifth of the
 * time that has passed since the write was taken up, from one second to upstream's five. */
int64_t azure_lro_wait_ms(bool first, int64_t elapsed_ms, int64_t usual_ms, int64_t asked_ms);
/* The same while reads are short and the usual time is known: nothing before it has passed and an
 * eighth more, then a quarter of it each time. */
int64_t azure_lro_spare_ms(int64_t elapsed_ms, int64_t usual_ms);
/* How long writes of a kind usually take, after one that took between `least_ms` (the last poll
 * that found it at work) and `most_ms`; `before_ms` 0: it is the first. */
int64_t azure_lro_usual_ms(int64_t before_ms, int64_t least_ms, int64_t most_ms);
/* Does the URL lead to the API at `base`? */
bool azure_lro_is_ours(const char *base, const char *url);
/* The `claims` of a WWW-Authenticate challenge, or NULL. */
const char *azure_lro_claims(struct arena *a, const char *challenge);

#endif
