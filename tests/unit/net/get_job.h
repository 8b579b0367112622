/* SPDX-License-Identifier: Apache-2.0 */
/* get_job.h: a job that asks for one URL, once or several times, and keeps what came back.
 *
 * Included by test programs only; functions are static so that each program is whole by itself. */
#ifndef TRIMTAB_TESTS_GET_JOB_H
#define TRIMTAB_TESTS_GET_JOB_H

#include "tests/unit/net/http_fixture.h"

/* One GET per job; what came back. */
struct get_job {
    struct http_job job;
    int status;
    int steps;
    int sends; /* how many requests it makes; 0 = 1 */
    bool reused;
    struct str_buf body;
};

static inline enum http_next get_step(struct http_job *job, const struct http_response *resp)
{
    struct get_job *g = CONTAINER_OF(job, struct get_job, job);
    g->steps++;
    if (resp == NULL) {
        return HTTP_SEND;
    }
    g->status = resp->status;
    g->reused = resp->reused;
    if (resp->body_len > 0) {
        str_append_n(&g->body, resp->body, resp->body_len);
    }
    return g->steps <= g->sends ? HTTP_SEND : HTTP_DONE;
}

static inline struct get_job get_job(const char *url)
{
    return (struct get_job){.job = {.step = get_step, .req = {.method = "GET", .url = url}}};
}

static inline void run_get(struct fixture *f, struct get_job *jobs, size_t n)
{
    struct http_job **list = ARENA_ARRAY(f->arena, struct http_job *, n);
    for (size_t i = 0; i < n; i++) {
        list[i] = &jobs[i].job;
    }
    http_run(f->http, list, n);
}

#endif
