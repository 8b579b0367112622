/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_check_config.c: `trimtab check-config`: reads the provider's configuration as the controller
 * would, and says what is wrong with it.  Opens no connection. */
#include <stdio.h>
#include <unistd.h>

#include "controller/base/term.h"
#include "controller/cmd/cmd_session.h"
#include "controller/cmd/commands.h"

static const char usage[] =
    "Reads a cloud-config file as the controller would, and prints errors and warnings.\n"
    "\n"
    "Usage:\n"
    "  trimtab check-config --cloud-provider=NAME --cloud-config=FILE [flags]\n"
    "\n"
    "Exit status: 0 fine, 1 the controller would not start with it, 2 (with --strict) warnings.\n";

static const char *const severities[] = {"info", "warning", "error"};

static const char *severity_word(uint32_t severity)
{
    return severity < ARRAY_LEN(severities) ? severities[severity] : "warning";
}

/* On a terminal it is wrapped; elsewhere a finding is one line, for grep. */
static void print_line(struct arena *a, const char *text)
{
    const char *line = str_clean(a, text);
    _cleanup_(str_buf_done) struct str_buf b = {.columns = term_of(STDOUT_FILENO, false).columns};
    if (b.columns == 0) {
        str_append(&b, line);
    } else {
        str_append_wrapped(&b, line, 0, 4);
    }
    puts(str_buf_text(&b));
}

static void print_findings(const struct cmd_session *s, const struct err *err)
{
    const char *path = str_or(s->args.cloud_config, "without --cloud-config");
    if (err->code != ERR_OK) {
        fprintf(stderr, "error: %s\n", err->message);
    }
    for (size_t i = 0; i < s->n_findings; i++) {
        const struct cmd_finding *f = &s->findings[i];
        print_line(s->a, arena_printf(s->a, "%s: %s%s%s", severity_word(f->severity), f->where,
                                      *f->where == '\0' ? "" : ": ", f->message));
    }
    if (err->code == ERR_OK) {
        print_line(
            s->a, arena_printf(s->a, "%s: %s", path,
                               s->n_findings == 0 ? "fine" : "the controller would start with it"));
    }
}

static void print_json(struct cmd_session *s, const struct err *err)
{
    struct json_object *out = json_object_new_object();
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < s->n_findings; i++) {
        struct json_object *o = json_object_new_object();
        json_add_str(o, "severity", severity_word(s->findings[i].severity));
        json_add_str(o, "where", s->findings[i].where);
        json_add_str(o, "message", s->findings[i].message);
        json_object_array_add(list, o);
    }
    json_add_int(out, "format_version", JSON_FORMAT_VERSION);
    json_add_str(out, "config", s->args.cloud_config);
    json_add_bool(out, "starts", err->code == ERR_OK);
    if (err->code != ERR_OK) {
        json_add_str(out, "error", err->message);
    }
    json_add(out, "findings", list);
    puts(json_text(s->a, out, JSON_PRETTY));
    json_object_put(out);
}

/* A finding of severity `info` needs no change. */
static bool has_warnings(const struct cmd_session *s)
{
    for (size_t i = 0; i < s->n_findings; i++) {
        if (s->findings[i].severity != TT_LOG_INFO) {
            return true;
        }
    }
    return false;
}

static int check(struct cmd_session *s, struct err *err)
{
    struct host_call *call;
    int code;
    cmd_session_host(s);
    code = cmd_session_open_args(s, err);
    if (code != ERR_OK) {
        return code;
    }
    call = host_call_begin(s->host, s->a, 1, 10000, 0, NULL);
    struct tt_result *result = host_call_result(call, 0);
    host_call_enter(call, "check_config");
    code = s->plugin->desc.check_config(&s->open_args, result);
    code = host_result_outcome(result, code, false, err);
    host_call_end(call);
    return code;
}

int cmd_check_config(int argc, char **argv)
{
    struct cmd_session s;
    struct err err = ERR_INIT;
    bool done = false;
    int status = 0;
    int code = cmd_session_begin(&s, CMD_CHECK_CONFIG, usage, argc, argv, &done, &err);
    if (code == ERR_OK && !done && s.plugin->desc.check_config == NULL) {
        code = err_set(&err, ERR_INVALID, "the provider %s cannot check its configuration",
                       s.plugin->desc.name);
    }
    if (code != ERR_OK) {
        status = cmd_session_fail(&s, &err);
    } else if (!done) {
        code = check(&s, &err);
        if (str_eq(s.args.output, "json")) {
            print_json(&s, &err);
        } else {
            print_findings(&s, &err);
        }
        status = code != ERR_OK ? 1 : s.args.strict && has_warnings(&s) ? 2 : 0;
    }
    cmd_session_done(&s);
    return status;
}
