/* SPDX-License-Identifier: Apache-2.0 */
/* gce_auth.h: the access token that goes with every request to Google.
 *
 * Where it comes from is decided once: the metadata server (default), an alternate token URL, or
 * Application Default Credentials (a service-account key, an authorized user, the metadata
 * server).  It is
 * cached in a struct token_cache: stale in its last 225 s, and after a failed early refresh not
 * fetched again before it has expired.
 *
 * Fetching is a small state machine of HTTP requests (gce_fetch), so that it can run by itself
 * or inside a cloud call that was answered 401.  Tokens and keys never appear in errors or logs.
 * Source: gce-cloud-provider.md §2.  Thread-safe. */
#ifndef TRIMTAB_GCE_AUTH_H
#define TRIMTAB_GCE_AUTH_H

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/cloud/token.h"
#include "common/net/http.h"
#include "common/net/jwt.h"

#include <stdbool.h>
#include <stdint.h>

#define GCE_TOKEN_EARLY_MS 225000 /* 3 min 45 s, as upstream */

enum gce_auth_kind {
    GCE_AUTH_METADATA = 0,    /* §2.1 */
    GCE_AUTH_TOKEN_URL,       /* §2.2 */
    GCE_AUTH_SERVICE_ACCOUNT, /* §2.4 */
    GCE_AUTH_USER,            /* §2.6 */
};

/* What to ask with.  Owned by the auth object; immutable but for `refresh_token`. */
struct gce_credentials {
    enum gce_auth_kind kind;
    const char *metadata_base; /* "http://169.254.169.254" */
    bool metadata_scopes;      /* by way of ADC: the URL names the scope */
    const char *token_url;     /* TOKEN_URL: the source; else the token endpoint */
    const char *token_body;
    const char *client_email; /* SERVICE_ACCOUNT */
    const char *key_id;
    struct jwt_key *key;   /* owned */
    const char *client_id; /* USER */
    const char *client_secret;
    const char *refresh_token;
    const char *quota_project; /* X-Goog-User-Project, or "" */
    const char *origin;        /* for messages: "metadata server", a file name */
};
struct gce_auth_config {
    const char *token_url; /* of gce.conf; "", "nil", or a URL */
    const char *token_body;
    const char *(*env)(const char *name); /* NULL: getenv */
    struct clock *clock;
    /* Told of each try at the alternate token source, for metrics; may be NULL. */
    void (*counted)(void *arg, bool failed);
    void *counted_arg;
};
/* Finds the credentials; strings and key live as long as `a`.  Reads files, never the network.
 * ERR_AUTH: an unreadable or unknown credentials file. */
int gce_credentials_find(struct arena *a, const struct gce_auth_config *cfg,
                         struct gce_credentials *ret, struct err *err) _warn_unused_;
/* "http://HOST" of the metadata server: GCE_METADATA_HOST or the link-local address. */
const char *gce_metadata_base(struct arena *a, const char *(*env)(const char *name));

struct gce_auth;
int gce_auth_new(const struct gce_auth_config *cfg, struct gce_auth **ret,
                 struct err *err) _warn_unused_;
void gce_auth_free(struct gce_auth *auth);
const struct gce_credentials *gce_auth_credentials(const struct gce_auth *auth);
/* Makes sure that a usable token is cached; blocks while one is fetched, by this caller or
 * another one. ERR_AUTH, TRANSIENT, CANCELLED. */
int gce_auth_ready(struct gce_auth *auth, struct http *http, struct cancel *cancel,
                   struct err *err) _warn_unused_;
/* A copy of the token, or NULL when there is none that is still valid. */
const char *gce_auth_token(struct gce_auth *auth, struct arena *a);
/* Google answered 401 to this token: it is not used again. */
void gce_auth_drop(struct gce_auth *auth, const char *token);

/* See token_cache_turn() and token_cache_ended(); the fetch is gce_fetch_begin() and _step(). */
enum token_turn gce_auth_turn(struct gce_auth *auth, struct token_wait *wait, struct err *err);
void gce_auth_ended(struct gce_auth *auth, const struct err *err);

/* One fetch under way. */
struct gce_fetch {
    struct gce_auth *auth;
    struct arena *a; /* for the requests */
    bool once;       /* the old token is still valid: a failed request is not repeated */
    int phase;
    int tries;
    const char *metadata_token; /* TOKEN_URL: what authenticates the POST */
    struct http_header headers[3];
};
void gce_fetch_begin(struct gce_fetch *f, struct gce_auth *auth, struct arena *a);
/* The next request, or HTTP_DONE: then either the token is cached, or *err says why not.  `resp`
 * NULL at first; with status 0, *err holds the transport's error. */
enum http_next gce_fetch_step(struct gce_fetch *f, struct http_request *req,
                              const struct http_response *resp, double unit, struct err *err);

/* Between gce_auth.c and gce_auth_fetch.c. */
struct clock *gce_auth_clock(struct gce_auth *auth);
int64_t gce_auth_throttle_ms(struct gce_auth *auth); /* when the alternate source may be asked */
void gce_auth_count(struct gce_auth *auth, bool failed);
/* It lasts by monotonic time: wall time may jump.  `refresh_token` may be NULL. */
void gce_auth_store(struct gce_auth *auth, const char *token, int64_t lasts_ms,
                    const char *refresh_token);
char *gce_auth_refresh_token(struct gce_auth *auth, struct arena *a);

#endif
