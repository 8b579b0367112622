/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h: a simulator in this process, on a free port, in a thread of its own, and a client for
 * it.
 *
 * The test thread talks HTTP only; nothing of the simulator is touched from outside its loop.
 * Bearer tokens are fetched once from the metadata server and sent with every call.  With a fake
 * clock, the test moves time. */
#ifndef TRIMTAB_TESTS_SIM_FIXTURE_H
#define TRIMTAB_TESTS_SIM_FIXTURE_H

#include "common/data/json.h"
#include "sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define P            "/compute/v1/projects/trimtab-sim"
#define R            P "/regions/us-central1"
#define Z            P "/zones/us-central1-a"
#define G            P "/global"
#define COMPUTE_LINK "https://www.googleapis.com/compute/v1/projects/trimtab-sim"

struct fixture {
    struct arena *a;            /* life of the fixture */
    struct json_object *answer; /* of the last call; NULL: no JSON */
    const char *text;           /* body of the last call */
    const char *token;          /* NULL: none is sent */
    const char *url;            /* "http://127.0.0.1:PORT" */
    int retry_after;            /* header of the last answer; -1: none */
    const char *const *headers; /* sent with every call; ends with NULL; NULL: none */
    const char *got_headers;    /* of the last answer, as they came */
    struct fixture_loop *loop;
};

/* `cfg` NULL: no nodes, latency none.  Six nodes are a cfg.nodes = 6 away. */
struct fixture *fixture_start(const struct sim_config *cfg);
/* The same with a service account (its key takes a while to make). */
struct fixture *fixture_start_signing(const struct sim_config *cfg);
void fixture_stop(struct fixture *f);
/* One call; status of the answer, 0 when the connection broke, -1 after a
 * time-out of `timeout_ms`. */
int fixture_call(struct fixture *f, const char *method, const char *path, const char *body);
int fixture_call_within(struct fixture *f, const char *method, const char *path, const char *body,
                        long timeout_ms);
/* error.errors[0].reason of the last answer, or "". */
const char *fixture_reason(struct fixture *f);
/* A text member of the last answer by its path ("error.message"), or "". */
const char *fixture_text(struct fixture *f, const char *path);
/* A header of the last answer, or NULL. */
const char *fixture_header(struct fixture *f, const char *name);
/* Makes the call and asserts 200. */
void fixture_must(struct fixture *f, const char *method, const char *path, const char *body);
/* Fails the test with the request unless status and reason are these (reason NULL:
 * not looked at). */
void fixture_expect(struct fixture *f, const char *what, int got, int want, const char *reason);
/* "hc", "tp" with node-0 and node-3, address "ip" and rule "fr" (TCP 80-90) on it. */
void fixture_make_external(struct fixture *f);
/* The service account's credentials file, made before the loop ran, so that no
 * thread touches it. */
const char *fixture_credentials(struct fixture *f);
/* The whole of a file below tests/data. */
char *fixture_data(struct arena *a, const char *name);

#endif
