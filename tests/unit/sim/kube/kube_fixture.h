/* SPDX-License-Identifier: Apache-2.0 */
/* kube_fixture.h: a simulator with a fake clock and clients for it, all in one thread and one event
 * loop.
 *
 * A client sends a request and reads until the server closes, so that a watch can be open while
 * other requests are made.  When nothing moves any more, waiting moves the fake clock: a watch of
 * 75 seconds takes no time. */
#ifndef TRIMTAB_TESTS_SIM_KUBE_FIXTURE_H
#define TRIMTAB_TESTS_SIM_KUBE_FIXTURE_H

#include "common/data/json.h"
#include "sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SERVICES  "/api/v1/namespaces/default/services"
#define STRATEGIC "application/strategic-merge-patch+json"
#define MERGE     "application/merge-patch+json"
#define JSONPATCH "application/json-patch+json"

struct event_base;

struct kf {
    struct arena *a; /* life of the fixture */
    struct event_base *base;
    struct clock *clock; /* fake; starts at 2026-11-21T00:00:00Z */
    struct sim *sim;
};

/* One request and, once it is done, its answer.  Lives as long as the fixture. */
struct kf_call {
    int status;          /* 0: no answer */
    const char *headers; /* all of them, "" if none */
    const char *body;    /* without chunks */
    size_t body_len;
    struct json_object *json;  /* the body, or NULL when it is no JSON document */
    struct json_object *lines; /* array: the body line by line, for watches */
    bool done;
    struct kf_io *io;
};

struct kf *kf_start(const struct sim_config *cfg); /* NULL: no nodes */
void kf_stop(struct kf *f);
/* Sends; `headers` are "Name: value\r\n" lines or NULL. */
struct kf_call *kf_send(struct kf *f, const char *method, const char *target, const char *headers,
                        const char *body);
/* The same for a body that may hold NUL bytes. */
struct kf_call *kf_send_bytes(struct kf *f, const char *method, const char *target,
                              const char *headers, const void *body, size_t n);
/* Runs the loop until the server closed; moves time when it waits. */
void kf_wait(struct kf *f, struct kf_call *c);
/* Runs the loop until nothing moves; time stands still. */
void kf_settle(struct kf *f);
/* The output so far, parsed as lines. */
void kf_look(struct kf *f, struct kf_call *c);
/* send + wait.  A body gets Content-Type application/json unless it is a PATCH, whose
 * type is `type`. */
struct kf_call *kf_do(struct kf *f, const char *method, const char *target, const char *body);
struct kf_call *kf_patch(struct kf *f, const char *target, const char *type, const char *body);
/* The text at a path of the answer ("metadata.name"), or "". */
const char *kf_text(struct kf_call *c, const char *path);
/* Fails with the answer unless the status is this. */
void kf_expect(struct kf_call *c, int status, const char *what);
/* JSON that is written with single quotes, with double ones. */
const char *kf_quoted(struct kf *f, const char *json);
/* A Service "name" of type LoadBalancer in default, as JSON. */
const char *kf_service(struct kf *f, const char *name);
/* "type name rv" of a watch's line, e.g. "ADDED web". */
const char *kf_line(struct kf *f, struct kf_call *c, size_t i);

#endif
