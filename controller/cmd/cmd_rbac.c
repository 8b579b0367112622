/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_rbac.c: `trimtab rbac`: the roles that the controller needs with a provider, as a manifest.
 *
 * Made from what the provider declares and the controller's own table (rbac_rules.h); opens nothing
 * and makes no request. */
#include <stdio.h>
#include <string.h>

#include "common/data/yaml.h"
#include "controller/cmd/cmd_session.h"
#include "controller/cmd/commands.h"
#include "controller/options/options.h"
#include "controller/rbac/rbac_rules.h"

static const char usage[] =
    "Prints the roles and bindings that the controller needs in the cluster, and nothing more.\n"
    "\n"
    "Usage:\n"
    "  trimtab rbac --cloud-provider=NAME [flags]\n"
    "\n"
    "Examples:\n"
    "  trimtab rbac --cloud-provider=gce --leader-elect-resource-name=trimtab | kubectl apply -f "
    "-\n"
    "  trimtab rbac --cloud-provider=vendor --provider-plugin-dir=. --service-account=vendor/lb\n";

static const char *flag_default(const char *name)
{
    for (size_t i = 0; i < options_table_n; i++) {
        if (str_eq(options_table[i].name, name)) {
            return options_table[i].default_text;
        }
    }
    return "";
}

static int read_input(struct cmd_session *s, struct rbac_input *ret, struct err *err)
{
    const struct cmd_args *args = &s->args;
    const char *account = str_or(args->service_account, "kube-system/trimtab");
    const char *slash = strchr(account, '/');

    if (args->words.n > 0) {
        return err_set(err, ERR_INVALID, "unknown argument \"%s\": only flags are taken here",
                       args->words.items[0]);
    }
    if (slash == NULL) {
        return err_set(err, ERR_INVALID, "--service-account=%s: want NAMESPACE/NAME", account);
    }
    bool elects = true;
    if (args->leader_elect != NULL && !str_to_go_bool(args->leader_elect, &elects)) {
        return err_set(err, ERR_INVALID, "--leader-elect=%s: want true or false",
                       args->leader_elect);
    }
    *ret = (struct rbac_input){
        .desc = &s->plugin->desc,
        .lease_ns = str_or(args->lease_ns, flag_default("leader-elect-resource-namespace")),
        .lease_name =
            elects ? str_or(args->lease_name, flag_default("leader-elect-resource-name")) : NULL,
        .quarantines = plugin_is_loaded(s->plugin),
        .secret_ns = str_or(args->secret_ns, "kube-system"),
        .secret_name = args->secret_name,
        .account_ns = arena_printf(s->a, "%.*s", (int)(slash - account), account),
        .account = slash + 1,
        .splits = args->use_account,
        .options = args->options,
        .n_options = args->n_options,
    };
    return ERR_OK;
}

/* `text` as one List. */
static int print_json(struct arena *a, const struct str_buf *text, struct err *err)
{
    struct json_object **docs = NULL;
    size_t n = 0;
    int code = yaml_parse_all(a, text->data, text->len, &docs, &n, err);

    if (code != ERR_OK) {
        return code;
    }
    struct json_object *list = json_object_new_object();
    struct json_object *items = json_object_new_array();
    json_add_str(list, "apiVersion", "v1");
    json_add_str(list, "kind", "List");
    for (size_t i = 0; i < n; i++) {
        json_object_array_add(items, json_object_get(docs[i]));
    }
    json_add(list, "items", items);
    puts(json_text(a, list, JSON_PRETTY));
    json_object_put(list);
    return ERR_OK;
}

static int print(struct cmd_session *s, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct rbac_input in;
    int code = read_input(s, &in, err);

    s->misused = code != ERR_OK;
    if (code == ERR_OK) {
        code = rbac_print(&b, s->a, &in, err);
    }
    if (code == ERR_OK && str_eq(s->args.output, "json")) {
        return print_json(s->a, &b, err);
    }
    if (code == ERR_OK) {
        printf("# Permissions of trimtab in the cluster with --cloud-provider=%s, made by "
               "\"trimtab rbac\".\n%s",
               s->plugin->desc.name, str_buf_text(&b));
    }
    return code;
}

int cmd_rbac(int argc, char **argv)
{
    struct cmd_session s;
    struct err err = ERR_INIT;
    bool done = false;
    int status = 0;
    int code = cmd_session_begin(&s, CMD_RBAC, usage, argc, argv, &done, &err);

    if (code == ERR_OK && !done) {
        code = print(&s, &err);
    }
    if (code != ERR_OK) {
        status = cmd_session_fail(&s, &err);
    }
    cmd_session_done(&s);
    return status;
}
