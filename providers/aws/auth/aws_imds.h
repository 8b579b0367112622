/* SPDX-License-Identifier: Apache-2.0 */
/* aws_imds.h: the metadata service of an EC2 instance.
 *
 * Every read goes with a session token (IMDSv2), which is shared and had again when it is about to
 * end.  Where the service knows no tokens, or the PUT for one does not get through (a hop limit of
 * 1 in front of a container), reads go without one until a 401 asks for it, unless
 * AWS_EC2_METADATA_V1_DISABLED=true.  A read is a state machine of HTTP requests, so that it can
 * run by itself or inside a fetch of credentials.  Tokens never appear in errors.
 * Source: docs/spec/aws.md 2.3.  Thread-safe. */
#ifndef TRIMTAB_AWS_IMDS_H
#define TRIMTAB_AWS_IMDS_H

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/http.h"
#include "providers/aws/model/aws_env.h"

#include <stdbool.h>

#define AWS_IMDS_ROLE     "/latest/meta-data/iam/security-credentials/"
#define AWS_IMDS_DOCUMENT "/latest/dynamic/instance-identity/document"
#define AWS_IMDS_INSTANCE "/latest/meta-data/instance-id"

/* Advice if its tokens do not get through. */
#define AWS_IMDS_HOPS "its hop limit (HttpPutResponseHopLimit) must be 2, or use the host's network"

struct aws_imds;
struct aws_imds_config {
    const char *base; /* aws_endpoint_imds(); copied */
    const struct aws_env *env;
    struct clock *clock;
    /* Called when reads begin to go without a token, which operators want to know: `lost`, because
     * the PUT is not answered (a hop limit of 1 in front of a container), else because the service
     * knows none.  NULL: nothing is logged. */
    void (*on_without)(void *arg, bool lost);
    void *arg;
};
struct aws_imds *aws_imds_new(const struct aws_imds_config *cfg) _warn_unused_;
void aws_imds_free(struct aws_imds *m);              /* NULL is fine */
bool aws_imds_is_disabled(const struct aws_imds *m); /* AWS_EC2_METADATA_DISABLED */

/* One read in progress. */
struct aws_imds_get {
    struct aws_imds *imds;
    struct arena *a; /* for its requests and its answer */
    const char *path;
    const char *body; /* the answer; NULL until it is there */
    int tries;
    int phase;
    bool without; /* this read goes without a token */
    bool lost;    /* because the PUT for one did not get through */
    bool denied;  /* 401 was answered once */
    struct http_header header;
};
void aws_imds_begin(struct aws_imds_get *g, struct aws_imds *imds, struct arena *a,
                    const char *path);
/* The next request, or HTTP_DONE: then either g->body is there or *err says why not.  `resp` NULL
 * at first; with status 0, *err holds the transport's error.  `unit` in [0,1) is the randomness.
 * NOT_FOUND (404), TRANSIENT, CANCELLED, INVALID (AWS_EC2_METADATA_DISABLED). */
enum http_next aws_imds_step(struct aws_imds_get *g, struct http_request *req,
                             const struct http_response *resp, double unit, struct err *err);
/* The whole read; blocks. */
int aws_imds_read(struct aws_imds *imds, struct http *http, struct arena *a, const char *path,
                  struct cancel *cancel, const char **ret, struct err *err) _warn_unused_;
/* The member `region` of the identity document (2.5). */
int aws_imds_region(struct aws_imds *imds, struct http *http, struct arena *a,
                    struct cancel *cancel, const char **ret, struct err *err) _warn_unused_;

#endif
