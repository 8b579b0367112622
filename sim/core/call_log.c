/* SPDX-License-Identifier: Apache-2.0 */
/* call_log.c: the logs of calls, one JSON object per line, as tests/data/schemas/check_traffic.py
 * reads them.
 *
 * {"api","method","path","request","status","response"}: bodies as JSON where they are JSON, else
 * as text; with --rbac "user", who called.
 * A call whose answer never reached its client has the status 0.  Cloud APIs go to --traffic-log,
 * the Kubernetes API to --kube-log; metadata, tokens and /sim go to neither (interfaces.md). */
#include "sim/core/frame.h"

#include <errno.h>
#include <string.h>

#include "common/base/output.h"

FILE *sim_call_log_open(const char *path, struct err *err)
{
    FILE *f = fopen(path, "we");
    if (!f) {
        err_set(err, ERR_INVALID, "cannot write %s: %s", path, strerror(errno));
    }
    return f;
}

static int close_log(FILE **f, const char *path, struct err *err)
{
    FILE *open = *f;
    *f = NULL;
    return open ? output_close_stream(open, path, err) : ERR_OK;
}

int sim_logs_close(struct sim *s, struct err *err)
{
    int code = close_log(&s->traffic_log, s->cfg.traffic_log, err);
    int other = close_log(&s->kube_log, s->cfg.kube_log, code ? NULL : err);
    return code ? code : other;
}

static FILE *log_of(const struct sim_call *call)
{
    const struct sim_module *m = call->module;
    if (m && m->to_traffic_log) {
        return call->sim->traffic_log;
    }
    return m && m->to_kube_log ? call->sim->kube_log : NULL;
}

/* A body as JSON if it is JSON, as text if it is not, null if it is empty. */
static struct json_object *body_json(const char *body, size_t n)
{
    struct json_object *o = NULL;
    if (!body || n == 0) {
        return NULL;
    }
    if (json_parse(body, n, NULL, &o, NULL) == ERR_OK) {
        return o;
    }
    return json_object_new_string_len(body, (int)n);
}

void sim_call_log_write(struct sim_call *call, int status, struct json_object *response)
{
    FILE *f = log_of(call);
    if (!f || call->logged) {
        return;
    }
    call->logged = true;
    struct json_object *line = json_object_new_object();
    json_add_str(line, "api", call->module->name);
    json_add_str(line, "method", call->method);
    json_add_str(line, "path", call->target);
    json_object_object_add(line, "request", body_json(call->body, call->body_len));
    json_add_int(line, "status", status);
    json_object_object_add(line, "response", response ? json_object_get(response) : NULL);
    json_add_str(line, "user", call->user);
    struct str_buf b = STR_BUF_INIT;
    json_print(&b, line, JSON_COMPACT);
    str_append_c(&b, '\n');
    /* A failed write marks the stream; sim_logs_close() reports it. */
    (void)fwrite(b.data, 1, b.len, f);
    (void)fflush(f);
    str_buf_done(&b);
    json_object_put(line);
}

void sim_call_log(struct sim_call *call, int status, struct json_object *response)
{
    sim_call_log_write(call, status, response);
}
