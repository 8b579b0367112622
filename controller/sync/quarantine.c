/* SPDX-License-Identifier: Apache-2.0 */
/* quarantine.c: see quarantine.h. */
#include "controller/sync/quarantine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/net/http.h"
#include "controller/host/identity.h"
#include "controller/metrics/metrics.h"

#define TRIES      5    /* the election renews the same lease */
#define REQUEST_MS 3000 /* the dying process waits for 5 s */
#define OBJECT_MAX ((size_t)1024 * 1024)

/* ---- the object ------------------------------------------------------------------------------ */

struct object {
    char *path;
    struct json_object *tree; /* NULL if there is none */
};

static int path_of(const struct quarantine_place *p, struct arena *a, const char *map_name,
                   char **ret, struct err *err)
{
    const struct options *o = p->options;

    return o->leader_elect
               ? kube_path(a, "coordination.k8s.io/v1", o->lease_ns, "leases", o->lease_name, NULL,
                           ret, err)
               : kube_path(a, "v1", o->lease_ns, "configmaps", map_name, NULL, ret, err);
}

static int get_object(const struct quarantine_place *p, struct arena *a, struct object *ret,
                      struct err *err)
{
    struct kube_response answer = {0};
    int rc = path_of(p, a, QUARANTINE_CONFIG_MAP, &ret->path, err);

    if (rc != ERR_OK) {
        return rc;
    }
    const struct kube_request req = {
        .method = "GET", .path = ret->path, .timeout_ms = REQUEST_MS, .max_body = OBJECT_MAX};
    rc = kube_client_do(p->client, a, &req, p->cancel, &answer, err);
    ret->tree = NULL;
    if (rc == ERR_NOT_FOUND) {
        err_clear(err);
        return ERR_OK;
    }
    if (rc != ERR_OK) {
        return rc;
    }
    return json_parse_arena(a, answer.body, answer.body_len, NULL, &ret->tree, NULL) == ERR_OK
               ? ERR_OK
               : err_set(err, ERR_TRANSIENT, "the API server's answer is no JSON");
}

static const char *text_of(const struct quarantine_place *p, const struct object *o)
{
    struct json_object *holder = p->options->leader_elect
                                     ? json_member(json_member(o->tree, "metadata"), "annotations")
                                     : json_member(o->tree, "data");

    return json_str(holder, p->options->leader_elect ? QUARANTINE_ANNOTATION : QUARANTINE_KEY);
}

int quarantine_read(const struct quarantine_place *place, struct arena *a,
                    struct quarantine_record *ret, struct err *err)
{
    struct object o = {0};
    int rc = get_object(place, a, &o, err);

    if (rc == ERR_OK) {
        *ret = quarantine_parse(a, text_of(place, &o));
    }
    return rc;
}

/* ---- counting -------------------------------------------------------------------------------- */

/* The member of `o`, made when it is not there. */
static struct json_object *member_made(struct json_object *o, const char *name)
{
    struct json_object *m = json_member(o, name);

    if (!json_object_is_type(m, json_type_object)) {
        m = json_object_new_object();
        json_add(o, name, m);
    }
    return m;
}

static struct json_object *new_map(const struct options *o)
{
    struct json_object *map = json_object_new_object();
    struct json_object *meta = member_made(map, "metadata");

    json_add_str(map, "apiVersion", "v1");
    json_add_str(map, "kind", "ConfigMap");
    json_add_str(meta, "name", QUARANTINE_CONFIG_MAP);
    json_add_str(meta, "namespace", o->lease_ns);
    return map;
}

/* The whole object goes back with the resourceVersion that was read: the server refuses what
 * another has overtaken. */
static int put_object(const struct quarantine_place *p, struct arena *a, const struct object *o,
                      const char *text, struct err *err)
{
    const struct options *opts = p->options;
    struct kube_response answer = {0};
    struct kube_request req = {.method = o->tree == NULL ? "POST" : "PUT",
                               .path = o->path,
                               .timeout_ms = REQUEST_MS,
                               .no_retry = true};

    if (o->tree == NULL && opts->leader_elect) {
        return err_set(err, ERR_NOT_FOUND, "the lease %s/%s is gone", opts->lease_ns,
                       opts->lease_name);
    }
    if (o->tree == NULL) {
        char *list = NULL;
        int rc = path_of(p, a, NULL, &list, err);
        if (rc != ERR_OK) {
            return rc;
        }
        req.path = list;
    }
    struct json_object *copy = o->tree == NULL ? new_map(opts) : json_copy(o->tree);
    struct json_object *holder = opts->leader_elect
                                     ? member_made(member_made(copy, "metadata"), "annotations")
                                     : member_made(copy, "data");
    json_add_str(holder, opts->leader_elect ? QUARANTINE_ANNOTATION : QUARANTINE_KEY, text);
    req.body = json_text(a, copy, JSON_COMPACT);
    json_object_put(copy);
    return kube_client_do(p->client, a, &req, p->cancel, &answer, err);
}

int quarantine_note(const struct quarantine_place *place, const struct tt_provider *desc,
                    const struct quarantine_entry *death, struct err *err)
{
    int rc = ERR_CONFLICT;

    for (int i = 0; i < TRIES && (rc == ERR_CONFLICT || rc == ERR_EXISTS); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct object o = {0};
        err_clear(err);
        rc = get_object(place, a, &o, err);
        if (rc == ERR_OK) {
            struct quarantine_record r = quarantine_parse(a, text_of(place, &o));
            quarantine_count(a, &r, desc, death);
            rc = put_object(place, a, &o, quarantine_print(a, &r), err);
        }
    }
    return rc;
}

/* ---- the program that counts ----------------------------------------------------------------- */

static void not_observed(void *arg, const struct kube_sent *sent)
{
    (void)arg;
    (void)sent;
}

/* "FUNCTION DIGEST KEY" */
static int read_death(struct arena *a, const char *text, struct quarantine_entry *ret,
                      struct err *err)
{
    size_t n = 0;
    char **words = str_split(a, text, ' ', &n);

    if (n != 3 || *words[0] == '\0' || *words[2] == '\0') {
        return err_set(err, ERR_INVALID, "\"%s\" is not FUNCTION DIGEST KEY", text);
    }
    *ret = (struct quarantine_entry){
        .key = words[2],
        .call = words[0],
        .digest = strtoull(words[1], NULL, 16),
        .at_us = clock_wall_us(clock_real()),
    };
    return ERR_OK;
}

static int note_as(const struct options *o, const struct tt_provider *desc,
                   const struct quarantine_entry *death, struct identity *identity, struct err *err)
{
    char agent[USER_AGENT_MAX];

    user_agent_make(USER_AGENT_LEASES, agent);
    const struct kube_client_args args = {
        .config = identity_main(identity),
        .user_agent = agent,
        .qps = -1,
        .clock = clock_real(),
        .observe = not_observed,
    };
    struct kube_client *client = kube_client_new(&args);
    const struct quarantine_place place = {.options = o, .client = client};
    int rc = quarantine_note(&place, desc, death, err);
    kube_client_free(client);
    return rc;
}

static int report(const struct options *o, const struct tt_provider *desc, const char *text,
                  struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct quarantine_entry death = {0};
    struct identity *identity = NULL;
    struct metrics *metrics = metrics_new();
    const struct identity_args who = identity_args_of(o, metrics, NULL);

    int rc = read_death(a, text, &death, err);
    if (rc == ERR_OK) {
        rc = identity_new(&who, &identity, err);
    }
    if (rc == ERR_OK) {
        rc = note_as(o, desc, &death, identity, err);
        log_info(0,
                 rc == ERR_OK ? "The death in the provider is counted"
                              : "The death in the provider could not be counted",
                 LOG_S("service", death.key), LOG_S("call", death.call),
                 LOG_S("err", rc == ERR_OK ? "" : err->message));
    }
    identity_free(identity);
    metrics_free(metrics);
    return rc;
}

int quarantine_report(const struct options *o, const struct tt_provider *desc, const char *death)
{
    struct err err = ERR_INIT;

    if (http_global_init(&err) != ERR_OK) {
        return 1;
    }
    int rc = report(o, desc, death, &err);
    http_global_done();
    return rc == ERR_OK ? 0 : 1;
}
