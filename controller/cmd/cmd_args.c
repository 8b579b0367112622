/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_args.c: the table of flags and its parser.
 *
 * Forms: --flag=value, --flag value, -f value, -fvalue; switches --flag and --flag=true|false; `_`
 * counts as `-`; `--` ends the flags.  A provider's options are parsed by their names in
 * its own table. */
#include "controller/cmd/cmd_args.h"

#include <string.h>

#include "common/base/clock.h"
#include "controller/options/options.h"

#define ALL_CLOUD (CMD_PLAN | CMD_EXPLAIN | CMD_CHECK_CONFIG | CMD_ORPHANS)
#define LOADS     (CMD_PLAN | CMD_EXPLAIN | CMD_ORPHANS) /* cluster and cloud */
#define INSIDE    (CMD_TRACE | CMD_RENDER)               /* the cluster; of trace the cloud, too */
/* Services are named. */
#define ABOUT     (CMD_PLAN | CMD_EXPLAIN | CMD_STATUS | CMD_ORPHANS)
#define OFFSET(m) offsetof(struct cmd_args, m)

#define TIMEOUT_MS         ((int64_t)2 * 60 * 1000)
#define ORPHANS_TIMEOUT_MS ((int64_t)15 * 60 * 1000)

const struct cmd_flag cmd_flags[] = {
    {"cloud-provider", "NAME", "the provider: a built-in one, or NAME.so in --provider-plugin-dir",
     ALL_CLOUD | CMD_TRACE | CMD_RBAC, OFFSET(cloud_provider), 0, false},
    {"cloud-config", "FILE", "the provider's configuration file", ALL_CLOUD | CMD_TRACE,
     OFFSET(cloud_config), 0, false},
    {"cloud-config-secret-name", "NAME",
     "a Secret of the cluster that holds the configuration, or a part",
     LOADS | CMD_TRACE | CMD_RBAC, OFFSET(secret_name), 0, false},
    {"cloud-config-secret-namespace", "NAME", "its namespace (default kube-system)",
     LOADS | CMD_TRACE | CMD_RBAC, OFFSET(secret_ns), 0, false},
    {"cloud-config-key", "KEY", "its key (default cloud-config)", LOADS | CMD_TRACE,
     OFFSET(secret_key), 0, false},
    {"cluster-name", "NAME", "the cluster's name, as the controller gets it (default kubernetes)",
     ALL_CLOUD | CMD_TRACE, OFFSET(cluster_name), 0, false},
    {"provider-plugin-dir", "DIR", "where NAME.so is looked for", ALL_CLOUD | CMD_TRACE | CMD_RBAC,
     OFFSET(plugin_dir), 0, false},
    {"allow-writable-plugins", NULL, "load NAME.so although others may write it or its folder",
     ALL_CLOUD | CMD_TRACE | CMD_RBAC, OFFSET(allow_writable_plugins), 0, false},
    {"leader-elect", "BOOL", "as with the controller's flag of that name", CMD_RBAC,
     OFFSET(leader_elect), 0, false},
    {"leader-elect-resource-name", "NAME", "as with the controller's flag of that name", CMD_RBAC,
     OFFSET(lease_name), 0, false},
    {"leader-elect-resource-namespace", "NAME", "as with the controller's flag of that name",
     CMD_RBAC, OFFSET(lease_ns), 0, false},
    {"service-account", "NAMESPACE/NAME",
     "the account that gets the roles (default kube-system/trimtab)", CMD_RBAC,
     OFFSET(service_account), 0, false},
    {"use-service-account-credentials", NULL,
     "as with the controller's flag of that name: two sets of roles", CMD_RBAC, OFFSET(use_account),
     0, false},
    {"kubeconfig", "FILE", "the cluster; else KUBECONFIG, ~/.kube/config, or the pod's own",
     LOADS | CMD_STATUS | INSIDE, OFFSET(kubeconfig), 0, false},
    {"context", "NAME", "a context of the kubeconfig other than the current one",
     LOADS | CMD_STATUS | INSIDE, OFFSET(context), 0, false},
    {"master", "URL", "the API server, in place of the kubeconfig's", LOADS | INSIDE,
     OFFSET(master), 0, false},
    {"nodes", "FILE", "nodes from a file in place of a cluster", CMD_PLAN | CMD_EXPLAIN,
     OFFSET(nodes_file), 0, false},
    {"state", "WORLD", "the cloud as a saved state, in place of the live one", LOADS | INSIDE,
     OFFSET(state_file), 0, false},
    {"filename", "FILE",
     "the Services of a manifest (trace, render: all objects), of a folder's *.yaml, *.yml, "
     "*.json, "
     "or of stdin (-); may be given several times",
     ABOUT | INSIDE, OFFSET(files), 'f', true},
    {"namespace", "NAME", "the namespace of names without one, and of all that is shown",
     ABOUT | INSIDE, OFFSET(ns), 'n', false},
    {"all-namespaces", NULL, "all Services, which is so without names, too", ABOUT,
     OFFSET(all_namespaces), 'A', false},
    {"validate", "MODE",
     "strict (default, or true): unknown and duplicate fields of a manifest are errors; warn; "
     "ignore "
     "(or false)",
     CMD_PLAN | CMD_EXPLAIN, OFFSET(validate), 0, false, "strict"},
    {"server-dry-run", NULL,
     "with -f: plan with the manifests as the API server completes them (defaults, webhooks), "
     "without storing them; needs the rights to create and patch Services",
     CMD_PLAN | CMD_EXPLAIN, OFFSET(server_dry_run), 0, false},
    {"output", "FORMAT", "json: one document for programs",
     ALL_CLOUD | CMD_VERSION | CMD_STATUS | CMD_RBAC | CMD_TRACE, OFFSET(output), 'o', false},
    {"controllers", "LIST", "as with the controller's flag of that name", ALL_CLOUD | CMD_TRACE,
     OFFSET(controllers), 0, false},
    {"repair-adopted", NULL, "as with the controller's flag of that name", LOADS,
     OFFSET(repair_adopted), 0, false},
    {"verbose", NULL, "also what stays as it is; trace, explain: all pods and nodes; trace: rules",
     CMD_PLAN | CMD_TRACE | CMD_EXPLAIN, OFFSET(verbose), 'v', false},
    {"no-color", NULL, "no colour (so does NO_COLOR in the environment)", CMD_PLAN | CMD_ORPHANS,
     OFFSET(no_color), 0, false},
    {"from", "CLIENT",
     "the client: an address, node/NAME, pod/NAMESPACE/NAME; else a client outside the cluster",
     CMD_TRACE, OFFSET(from), 0, false},
    {"to", "ADDRESS:PORT",
     "the destination: an address of a Service or node, a load balancer's host name, a node's "
     "name, or NAME.NAMESPACE of a Service for its cluster IP",
     CMD_TRACE, OFFSET(to), 0, false},
    {"protocol", "NAME", "TCP (default), UDP or SCTP", CMD_TRACE, OFFSET(protocol), 0, false},
    {"node", "NAME", "the node that gets the packet, or whose rules are printed", INSIDE,
     OFFSET(node), 0, false},
    {"all-nodes", NULL, "each node may get the packet: the share of each pod over all of them",
     CMD_TRACE, OFFSET(all_nodes), 0, false},
    {"mode", "MODE",
     "kube-proxy's mode: iptables, ipvs or nftables (default: as the ConfigMap "
     "kube-system/kube-proxy says, else iptables)",
     INSIDE, OFFSET(mode), 0, false},
    {"family", "FAMILY", "IPv4 (default) or IPv6", CMD_RENDER, OFFSET(family), 0, false},
    {"form", "FORM",
     "of iptables: saved (default), as iptables-save prints it; restore, as iptables-restore reads "
     "it; load, the same with the jumps from the kernel's own chains, which kube-proxy makes "
     "apart: all that an empty node or namespace needs",
     CMD_RENDER, OFFSET(form), 0, false},
    {"diff", "FILE",
     "describe how a node differs: iptables-save; ipvsadm -S -n and ipset save; nft "
     "-j "
     "list table ip kube-proxy",
     CMD_RENDER, OFFSET(diff), 0, false},
    {"strict", NULL, "exit 2 when there are findings", CMD_CHECK_CONFIG, OFFSET(strict), 0, false},
    {"server", "URL", "the HTTPS port of a running trimtab (default https://127.0.0.1:10258)",
     CMD_STATUS, OFFSET(server), 0, false},
    {"certificate-authority", "FILE", "CA file for that port's certificate", CMD_STATUS,
     OFFSET(ca_file), 0, false},
    {"insecure-skip-tls-verify", NULL, "do not check it", CMD_STATUS, OFFSET(insecure), 0, false},
    {"timeout", "DURATION",
     "how long it may take in all, as in 90s (default 2m; orphans 15m, the answer to its question "
     "not counted)",
     LOADS | CMD_STATUS | INSIDE, OFFSET(timeout), 0, false},
    {"v", "LEVEL",
     "log lines on stderr: 0 none, from 1 on as with the controller's flag (default 0)",
     ALL_CLOUD | CMD_STATUS | INSIDE, OFFSET(log_level), 0, false},
    {"delete", NULL, "take them away, after a question", CMD_ORPHANS, OFFSET(delete), 0, false},
    {"yes", NULL, "do not ask", CMD_ORPHANS, OFFSET(yes), 'y', false},
    {"force", NULL, "though a controller is running", CMD_ORPHANS, OFFSET(force), 0, false},
    {"help", NULL, "this text",
     ALL_CLOUD | CMD_VERSION | CMD_COMPLETION | CMD_STATUS | CMD_RBAC | INSIDE, OFFSET(help), 'h',
     false},
};
const size_t cmd_flags_n = ARRAY_LEN(cmd_flags);

/* "enable_x=1" is the flag "enable-x": compares up to '=' or the end. */
static bool flag_is(const char *word, const char *name)
{
    for (; *name != '\0'; word++, name++) {
        if ((*word == '_' ? '-' : *word) != *name) {
            return false;
        }
    }
    return *word == '\0' || *word == '=';
}

/* Position in the command line and what comes out. */
struct parse {
    struct arena *a;
    unsigned command;
    int argc;
    char *const *argv;
    int i;
    const struct tt_option *extra;
    size_t n_extra;
    const char *shown; /* the flag at hand, for messages: "--x", "'f' in -f" */
    struct cmd_args *out;
};

/* The flag's value: behind '=', else `bare`, else the next word. */
static int take_value(struct parse *p, const char *word, const char *bare, const char **ret,
                      struct err *err)
{
    const char *eq = strchr(word, '=');
    if (eq != NULL) {
        *ret = eq + 1;
        return ERR_OK;
    }
    if (bare != NULL) {
        *ret = bare;
        return ERR_OK;
    }
    if (p->i + 1 >= p->argc) {
        return err_set(err, ERR_INVALID, "flag needs an argument: %s", p->shown);
    }
    *ret = p->argv[++p->i];
    return ERR_OK;
}

static int take_bool(struct parse *p, const char *word, bool *ret, struct err *err)
{
    const char *eq = strchr(word, '=');
    *ret = true;
    if (eq != NULL && !str_to_go_bool(eq + 1, ret)) {
        return err_set(err, ERR_INVALID, "invalid argument \"%s\" for \"%s\": want true or false",
                       eq + 1, p->shown);
    }
    return ERR_OK;
}

static void list_push(struct arena *a, struct cmd_list *list, const char *item)
{
    const char **items = ARENA_ARRAY(a, const char *, list->n + 1);
    for (size_t i = 0; i < list->n; i++) {
        items[i] = list->items[i];
    }
    items[list->n] = item;
    list->items = items;
    list->n++;
}

static int apply_flag(struct parse *p, const struct cmd_flag *f, const char *word, struct err *err)
{
    void *at = (char *)p->out + f->offset;
    const char *value = NULL;
    int code;
    if (f->value == NULL) {
        return take_bool(p, word, at, err);
    }
    code = take_value(p, word, f->bare, &value, err);
    if (code != ERR_OK) {
        return code;
    }
    if (f->list) {
        list_push(p->a, at, value);
    } else {
        *(const char **)at = value;
    }
    return ERR_OK;
}

/* A duration reaches the provider as milliseconds; the others as they are written, once
 * they are valid. */
static int check_option(struct parse *p, const struct tt_option *o, const char *value,
                        const char **ret, struct err *err)
{
    int64_t number;
    bool flag;
    const char *shown = o->secret != 0 ? "***" : value;
    *ret = value;
    if (o->type == TT_OPTION_INT && !str_to_i64(value, &number)) {
        return err_set(err, ERR_INVALID, "invalid argument \"%s\" for \"--%s\": want a number",
                       shown, o->name);
    }
    if (o->type == TT_OPTION_BOOL) {
        if (!str_to_go_bool(value, &flag)) {
            return err_set(err, ERR_INVALID,
                           "invalid argument \"%s\" for \"--%s\": want true or false", shown,
                           o->name);
        }
        *ret = flag ? "true" : "false";
    }
    if (o->type == TT_OPTION_DURATION) {
        int code = duration_parse(value, &number, err);
        if (code != ERR_OK) {
            (void)err_prefix(err, "invalid argument for --%s", o->name);
            return code;
        }
        *ret = arena_printf(p->a, "%lld", (long long)(number / 1000000));
    }
    return ERR_OK;
}

static int apply_option(struct parse *p, size_t k, const char *word, struct err *err)
{
    const struct tt_option *o = &p->extra[k];
    const char *value = "true";
    int code = ERR_OK;
    if (o->type != TT_OPTION_BOOL || strchr(word, '=') != NULL) {
        code = take_value(p, word, NULL, &value, err);
    }
    if (code == ERR_OK) {
        code = check_option(p, o, value, &value, err);
    }
    for (uint32_t i = 0; code == ERR_OK && i < p->out->n_options; i++) {
        if (str_eq(p->out->options[i].key, o->name)) {
            p->out->options[i].value = value;
        }
    }
    return code;
}

static int unknown_flag(struct parse *p, struct err *err)
{
    const char **names = ARENA_ARRAY(p->a, const char *, cmd_flags_n + p->n_extra);
    size_t n = 0;
    for (size_t i = 0; i < cmd_flags_n; i++) {
        if ((cmd_flags[i].commands & p->command) != 0) {
            names[n++] = cmd_flags[i].name;
        }
    }
    for (size_t i = 0; i < p->n_extra; i++) {
        names[n++] = p->extra[i].name;
    }
    const char *near = str_nearest(p->shown + 2, names, n);
    return err_set(err, ERR_INVALID, "unknown flag: %s%s%s%s", p->shown,
                   near == NULL ? "" : "; did you mean --", str_nonnull(near),
                   near == NULL ? "" : "?");
}

static int parse_long(struct parse *p, const char *word, struct err *err)
{
    p->shown = arena_printf(p->a, "--%.*s", (int)strcspn(word, "="), word);
    for (size_t i = 0; i < cmd_flags_n; i++) {
        if ((cmd_flags[i].commands & p->command) != 0 && flag_is(word, cmd_flags[i].name)) {
            return apply_flag(p, &cmd_flags[i], word, err);
        }
    }
    for (size_t i = 0; i < p->n_extra; i++) {
        if (flag_is(word, p->extra[i].name)) {
            return apply_option(p, i, word, err);
        }
    }
    return unknown_flag(p, err);
}

static int parse_short(struct parse *p, const char *word, struct err *err)
{
    p->shown = arena_printf(p->a, "'%c' in -%s", word[0], word);
    for (size_t i = 0; i < cmd_flags_n; i++) {
        const struct cmd_flag *f = &cmd_flags[i];
        if ((f->commands & p->command) == 0 || f->shorthand != word[0]) {
            continue;
        }
        if (f->value == NULL) {
            *(bool *)((char *)p->out + f->offset) = true;
            return word[1] == '\0' ? ERR_OK : parse_short(p, word + 1, err);
        }
        if (word[1] != '\0') { /* -fFILE, -f=FILE */
            return apply_flag(
                p, f, arena_printf(p->a, "%c=%s", word[0], word + 1 + (word[1] == '=')), err);
        }
        return apply_flag(p, f, word, err);
    }
    return err_set(err, ERR_INVALID, "unknown shorthand flag: %s", p->shown);
}

static int cmp_kv(const void *a, const void *b)
{
    return strcmp(((const struct tt_kv *)a)->key, ((const struct tt_kv *)b)->key);
}

/* The provider's options with their defaults, in the form that open() takes. */
static int fill_defaults(struct parse *p, struct err *err)
{
    p->out->options = ARENA_ARRAY(p->a, struct tt_kv, p->n_extra + 1);
    p->out->n_options = (uint32_t)p->n_extra;
    for (size_t i = 0; i < p->n_extra; i++) {
        const struct tt_option *o = &p->extra[i];
        const char *value = str_or(o->default_text, o->type == TT_OPTION_BOOL ? "false" : "");
        if (*value != '\0') {
            int code = check_option(p, o, value, &value, err);
            if (code != ERR_OK) {
                return code;
            }
        }
        p->out->options[i] = (struct tt_kv){o->name, value};
    }
    return ERR_OK;
}

/* The options that the controller adds for every provider. */
static void finish_options(struct cmd_args *out)
{
    out->options[out->n_options++] =
        (struct tt_kv){"repair-adopted", out->repair_adopted ? "true" : "false"};
    qsort(out->options, out->n_options, sizeof *out->options, cmp_kv);
}

static int read_timeout(unsigned command, struct cmd_args *out, struct err *err)
{
    int64_t ns = 0;

    out->timeout_ms = command == CMD_ORPHANS ? ORPHANS_TIMEOUT_MS : TIMEOUT_MS;
    if (out->timeout == NULL) {
        return ERR_OK;
    }
    int code = duration_parse(out->timeout, &ns, err);
    if (code == ERR_OK && ns <= 0) {
        code = err_set(err, ERR_INVALID, "want a time to wait, as in 30s or 2m");
    }
    if (code != ERR_OK) {
        (void)err_prefix(err, "invalid argument \"%s\" for \"--timeout\"", out->timeout);
        return code;
    }
    out->timeout_ms = ns < 1000000 ? 1 : ns / 1000000;
    return ERR_OK;
}

static int read_verbosity(struct cmd_args *out, struct err *err)
{
    const char *level = str_or(out->log_level, "0");

    if (!str_to_i64(level, &out->verbosity) || out->verbosity < 0 || out->verbosity > 10) {
        return err_set(err, ERR_INVALID, "invalid argument \"%s\" for \"--v\": want 0 to 10",
                       level);
    }
    return ERR_OK;
}

static int check_args(unsigned command, struct cmd_args *out, struct err *err)
{
    if (*out->output != '\0' && !str_eq(out->output, "json")) {
        return err_set(err, ERR_INVALID,
                       "-o %s: unknown output format; allowed: json (without -o: text)",
                       out->output);
    }
    if (read_timeout(command, out, err) != ERR_OK || read_verbosity(out, err) != ERR_OK) {
        return err->code;
    }
    if (out->words.n > 0 && (command & (CMD_CHECK_CONFIG | CMD_VERSION)) != 0) {
        return err_set(err, ERR_INVALID, "unknown argument \"%s\": only flags are taken here",
                       out->words.items[0]);
    }
    return ERR_OK;
}

int cmd_args_parse(struct arena *a, unsigned command, int argc, char *const *argv,
                   const struct tt_option *extra, size_t n_extra, struct cmd_args *ret,
                   struct err *err)
{
    struct cmd_args out = {.cluster_name = "kubernetes", .output = "", .cloud_provider = ""};
    struct parse p = {a, command, argc, argv, 1, extra, n_extra, "", &out};
    int code = fill_defaults(&p, err);
    for (; code == ERR_OK && p.i < argc; p.i++) {
        const char *word = argv[p.i];
        if (str_eq(word, "--")) {
            while (++p.i < argc) {
                list_push(a, &out.words, argv[p.i]);
            }
        } else if (str_has_prefix(word, "--")) {
            code = parse_long(&p, word + 2, err);
        } else if (word[0] == '-' && word[1] != '\0') {
            code = parse_short(&p, word + 1, err);
        } else {
            list_push(a, &out.words, word);
        }
    }
    if (code == ERR_OK) {
        code = check_args(command, &out, err);
    }
    if (code == ERR_OK) {
        finish_options(&out);
        *ret = out;
    }
    return code;
}

static const char *default_plugin_dir(void)
{
    for (size_t i = 0; i < options_table_n; i++) {
        if (str_eq(options_table[i].name, "provider-plugin-dir")) {
            return options_table[i].default_text;
        }
    }
    return "";
}

void cmd_args_peek(int argc, char *const *argv, struct plugin_search *ret)
{
    struct {
        const char *name;
        const char **at;
    } wanted[] = {{"cloud-provider", &ret->name}, {"provider-plugin-dir", &ret->dir}};
    ret->name = "";
    ret->dir = default_plugin_dir();
    for (int i = 1; i < argc && !str_eq(argv[i], "--"); i++) {
        if (str_has_prefix(argv[i], "--") && flag_is(argv[i] + 2, "allow-writable-plugins")) {
            const char *eq = strchr(argv[i], '=');
            ret->allow_writable = true;
            (void)str_to_go_bool(eq != NULL ? eq + 1 : "true", &ret->allow_writable);
        }
        for (size_t k = 0; k < ARRAY_LEN(wanted); k++) {
            if (!str_has_prefix(argv[i], "--") || !flag_is(argv[i] + 2, wanted[k].name)) {
                continue;
            }
            const char *eq = strchr(argv[i], '=');
            *wanted[k].at = eq != NULL ? eq + 1 : i + 1 < argc ? argv[i + 1] : "";
        }
    }
}
