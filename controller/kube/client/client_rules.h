/* SPDX-License-Identifier: Apache-2.0 */
/* client_rules.h: what an answer means, whether a request is sent again, and what it is called.
 *
 * Source: controller.md §4.5, 4.6; vectors 189–195.  Pure: `now` is a parameter.  Private to
 * controller/kube. */
#ifndef TRIMTAB_KUBE_CLIENT_RULES_H
#define TRIMTAB_KUBE_CLIENT_RULES_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENT_RETRIES_MAX 10
/* A longer Retry-After is not waited for here: the caller's queue can wait without
 * holding a worker. */
#define CLIENT_WAIT_MAX_MS ((int64_t)30 * 1000)
#define CLIENT_BROKEN_MS   1000

struct client_rules {
    int retries;  /* sends after the first */
    bool renewed; /* the one try after a 401 was used */
};
struct client_answer {
    int status;       /* 0: none, `err` says why */
    const char *body; /* "" when empty */
    size_t body_len;
    const char *retry_after; /* header, or NULL */
};

/* ERR_OK, or the code and *err of what the answer says. */
int client_judge(const struct client_answer *ans, const char *method, struct err *err);
/* After a failure: true with the moment to send again. */
bool client_retry(struct client_rules *r, const char *method, const struct client_answer *ans,
                  const struct err *err, int64_t now_ms, int64_t *ret_at_ms);
/* The answer to a write that carried an object's uid: the name stands for another object by now. */
bool client_is_other_object(const struct err *err);
/* True for every method but GET and HEAD. */
bool client_is_mutation(const char *method);
/* "services/status" of a path; the path itself if it is not a resource.  Returns `out`. */
const char *client_resource(const char *path, char *out, size_t size);

#endif
