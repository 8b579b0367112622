/* SPDX-License-Identifier: Apache-2.0 */
/* aws_auth_internal.h: between aws_auth.c (the cache), aws_auth_chain.c (where keys come from),
 * aws_auth_fetch.c (getting them) and its sources aws_auth_sts.c and aws_auth_local.c.
 *
 * A chain is a list of stages: first one that has keys, then any number of roles that are assumed
 * with the keys of the stage before.  No other file includes it. */
#ifndef TRIMTAB_AWS_AUTH_INTERNAL_H
#define TRIMTAB_AWS_AUTH_INTERNAL_H

#include "providers/aws/auth/aws_auth.h"

#define AWS_CHAIN_MAX 8

enum aws_source {
    AWS_SOURCE_STATIC = 1, /* variables, a profile */
    AWS_SOURCE_WEB,        /* AssumeRoleWithWebIdentity */
    AWS_SOURCE_CONTAINER,
    AWS_SOURCE_IMDS,
    AWS_SOURCE_PROCESS,
    AWS_SOURCE_ROLE, /* AssumeRole */
};
struct aws_stage {
    enum aws_source source;
    const char *origin;       /* for messages: "web identity", "profile \"x\"" … */
    struct sigv4_keys keys;   /* STATIC */
    bool is_fixed;            /* STATIC: of variables; reading them again brings nothing new */
    const char *role_arn;     /* WEB, ROLE */
    const char *session_name; /* WEB, ROLE; "" = one is made */
    const char *token_file;   /* WEB; CONTAINER: "" = none */
    const char *token;        /* CONTAINER: "" = none */
    const char *url;          /* CONTAINER */
    const char *command;      /* PROCESS */
    const char *external_id;  /* ROLE: "" = none */
    int64_t duration_s;       /* ROLE */
    const char *account;      /* ROLE: of the cloud config's RoleARN (2.4); "" = not that one */
    const char *source_arn;   /* likewise */
};
struct aws_chain {
    struct aws_stage stages[AWS_CHAIN_MAX];
    size_t n;
    const char *origin; /* "web identity, role of the cloud config" */
};
/* Reads variables and profiles; strings live in the arena.  ERR_AUTH, ERR_INVALID (RoleARN). */
int aws_chain_resolve(struct arena *a, const struct aws_auth_config *cfg, struct aws_chain *ret,
                      struct err *err) _warn_unused_;

/* Result of a stage. */
struct aws_found {
    struct sigv4_keys keys; /* in the fetch's arena */
    bool expires;
    int64_t lasts_ms; /* from now */
};

/* One fetch: the stage it is at and what that one remembers.  In the fetch's arena. */
struct aws_stage_run {
    struct aws_fetch *f;
    const struct aws_auth_config *cfg;
    const struct aws_stage *stage;
    struct aws_found found; /* of the stage before; then of this one */
    struct http_header headers[4];
    int tries;
    bool asked;               /* its request is in progress */
    int64_t offset_s;         /* our clock is so far behind STS' */
    struct aws_imds_get imds; /* IMDS */
    bool has_role;            /* IMDS: the second read is in progress */
};
/* Each is asked as aws_fetch_step() is, until HTTP_DONE: then r->found, or *err. */
enum http_next aws_sts_step(struct aws_stage_run *r, struct http_request *req,
                            const struct http_response *resp, double unit, struct err *err);
enum http_next aws_container_step(struct aws_stage_run *r, struct http_request *req,
                                  const struct http_response *resp, double unit, struct err *err);
enum http_next aws_instance_step(struct aws_stage_run *r, struct http_request *req,
                                 const struct http_response *resp, double unit, struct err *err);
enum http_next aws_process_step(struct aws_stage_run *r, struct err *err); /* blocks */

/* ---- what sources share (aws_auth_fetch.c) ---- */

/* The time by the server that answered, else ours. */
int64_t aws_stage_now_s(const struct aws_stage_run *r, const struct http_response *resp);
/* Takes keys over if a request can carry them.  `expiration` RFC 3339; NULL: they last.  ERR_AUTH:
 * no keys, or over already; the error says "gave …" what. */
int aws_stage_take(struct aws_stage_run *r, const struct sigv4_keys *keys, const char *expiration,
                   int64_t now_s, struct err *err) _warn_unused_;
/* The JSON of containers, instances and processes; `token` is the name of its token's member. */
int aws_stage_take_json(struct aws_stage_run *r, const char *text, size_t n, const char *token,
                        int64_t now_s, struct err *err) _warn_unused_;
/* True: the same is to be sent again at req->not_before_ms; *err is cleared. */
bool aws_stage_again(struct aws_stage_run *r, struct http_request *req,
                     const struct http_response *resp, bool passes, double unit, struct err *err);
/* `text` when it looks like a machine's word (letters, digits, dots), else "". */
const char *aws_stage_code(struct arena *a, const char *text);
/* Says what was answered, by status and code; returns HTTP_DONE. */
enum http_next aws_stage_fail(struct aws_stage_run *r, const struct http_request *req,
                              const struct http_response *resp, const char *code, bool passes,
                              const char *advice, struct err *err);

/* ---- the cache (aws_auth.c) ---- */
const struct aws_auth_config *aws_auth_config_of(const struct aws_auth *auth);
void aws_auth_store(struct aws_auth *auth, const struct aws_chain *chain,
                    const struct aws_found *found);

#endif
