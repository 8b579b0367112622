/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the program trimtab-sim: options, the loop, files at the start and at the end.
 *
 * Prints one line when it listens, runs until SIGTERM or SIGINT, saves --state then.  Everything
 * else is in the library (sim.h).  Exit status: 0 after a signal, 1 when it cannot start, 2 for a
 * bad command line. */
#include "common/base/file.h"
#include "common/base/output.h"
#include "common/net/http_server.h"
#include "sim/program.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORLD_MAX_BYTES (1024UL * 1024 * 1024)

static const struct json_limits world_limits = {
    .max_bytes = WORLD_MAX_BYTES, .max_depth = 64, .max_values = 100000000};

static int read_json(struct arena *a, const char *path, struct json_object **ret, struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    int code = file_read(a, path, WORLD_MAX_BYTES, &text, &n, err);
    if (code) {
        return code;
    }
    code = json_parse_arena(a, text, n, &world_limits, ret, err);
    if (code) {
        (void)err_prefix(err, "%s", path);
    }
    return code;
}

/* --state wins over --world once it exists. */
static int read_world(struct arena *a, const struct sim_options *o, struct json_object **ret,
                      struct err *err)
{
    if (o->state && access(o->state, F_OK) == 0) {
        return read_json(a, o->state, ret, err);
    }
    return o->world ? read_json(a, o->world, ret, err) : ERR_OK;
}

static int add_faults(struct arena *a, struct sim *s, const char *path, struct err *err)
{
    struct json_object *list = NULL;
    int code = read_json(a, path, &list, err);
    bool many = json_object_is_type(list, json_type_array);
    for (size_t i = 0; !code && i < (many ? json_len(list) : 1); i++) {
        code = sim_fault_add(s, many ? json_object_array_get_idx(list, i) : list, NULL, err);
        if (code) {
            err_prefix(err, "%s", path);
        }
    }
    return code;
}

static int save_state(struct sim *s, const char *path, struct err *err)
{
    struct str_buf b = STR_BUF_INIT;
    struct json_object *world = sim_dump(s);
    json_print(&b, world, JSON_SORTED_PRETTY);
    str_append_c(&b, '\n');
    json_object_put(world);
    int code = file_write_atomic(path, b.data, b.len, 0644, err);
    str_buf_done(&b);
    return code;
}

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
    (void)sig;
    (void)what;
    event_base_loopbreak(arg);
}

static int run(struct arena *a, struct event_base *base, struct sim_options *o, struct err *err)
{
    struct json_object *world = NULL;
    struct sim *s = NULL;
    int code = read_world(a, o, &world, err);
    o->cfg.world = world;
    if (!code) {
        code = sim_new(base, &o->cfg, &s, err);
    }
    if (!code && o->faults) {
        code = add_faults(a, s, o->faults, err);
    }
    if (!code) {
        code = sim_outputs_write(s, o, json_str(world, "cloud_config"), err);
    }
    if (!code) {
        printf("listening on %s\n", sim_url(s));
        code = output_flush(NULL); /* output_close() says why */
    }
    if (!code) {
        event_base_dispatch(base);
        code = o->state ? save_state(s, o->state, err) : ERR_OK;
    }
    if (!code) {
        code = sim_logs_close(s, err);
    }
    sim_free(s);
    return code;
}

/* From the start to the end of the loop. */
static int serve(struct arena *a, struct sim_options *o)
{
    struct err err = ERR_INIT;
    signal(SIGPIPE, SIG_IGN);
    struct event_base *base = NULL;
    if (http_server_new_loop(&base, &err) != ERR_OK) {
        fprintf(stderr, "error: %s\n", err.message);
        return 1;
    }
    struct event *term = evsignal_new(base, SIGTERM, on_signal, base);
    struct event *intr = evsignal_new(base, SIGINT, on_signal, base);
    event_add(term, NULL);
    event_add(intr, NULL);
    int code = run(a, base, o, &err);
    if (code && err.code) {
        fprintf(stderr, "error: %s\n", err.message);
    }
    event_free(term);
    event_free(intr);
    http_server_free_loop(base);
    return code ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct arena *a = arena_new();
    struct err err = ERR_INIT;
    struct sim_options o;
    int status = 0;
    if (sim_options_parse(a, argc, argv, &o, &err)) {
        fprintf(stderr, "error: %s\nRun 'trimtab-sim --help' for the flags.\n", err.message);
        status = 2;
    } else if (o.help) {
        sim_options_usage(stdout);
    } else if (o.version) {
        printf("trimtab-sim %s\n", TRIMTAB_VERSION);
    } else {
        status = serve(a, &o);
    }
    arena_free(a);
    return output_close(status);
}
