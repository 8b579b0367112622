/* SPDX-License-Identifier: Apache-2.0 */
/* options.c: the command line of trimtab-sim.
 *
 * Flags are "--name=value" or "--name value"; interfaces.md fixes their names and meaning.  An
 * error is one line with the allowed values.  Reads no file. */
#include "sim/program.h"

#include <stdio.h>
#include <string.h>

#define ZONES_MAX 64

/* One flag: where its value goes. */
struct flag {
    const char *name;
    const char *arg; /* in the help; NULL: takes none */
    const char *help;
    int (*set)(struct arena *a, struct sim_options *o, const char *value, struct err *err);
};

static int set_int(const char *value, int64_t max, int *ret, struct err *err)
{
    int64_t n;
    if (!str_to_i64(value, &n) || n < 0 || n > max) {
        return err_set(err, ERR_INVALID, "\"%s\" is not a number from 0 to %lld", value,
                       (long long)max);
    }
    *ret = (int)n;
    return ERR_OK;
}

static int set_port(struct arena *a, struct sim_options *o, const char *value, struct err *err)
{
    int port = 0;
    (void)a;
    int code = set_int(value, 65535, &port, err);
    o->cfg.port = (uint16_t)port;
    return code;
}

static int set_tls(struct arena *a, struct sim_options *o, const char *value, struct err *err)
{
    (void)a;
    return str_to_go_bool(value ? value : "true", &o->cfg.tls)
               ? ERR_OK
               : err_set(err, ERR_INVALID, "\"%s\" is neither true nor false", value);
}

static int set_cloud(struct arena *a, struct sim_options *o, const char *value, struct err *err)
{
    (void)a;
    o->cfg.cloud = value;
    return str_eq(value, "gce") || str_eq(value, "azure") || str_eq(value, "aws") ||
                   str_eq(value, "none")
               ? ERR_OK
               : err_set(err, ERR_INVALID,
                         "\"%s\" is not a cloud that is simulated; allowed: gce, azure, aws, none",
                         value);
}

static int set_zones(struct arena *a, struct sim_options *o, const char *value, struct err *err)
{
    size_t n = 0;
    char **zones = str_split(a, value, ',', &n);
    for (size_t i = 0; i < n; i++) {
        const char *dash = strrchr(zones[i], '-');
        if (!dash || dash == zones[i] || dash[1] == '\0') {
            return err_set(err, ERR_INVALID, "\"%s\" is not a zone; want REGION-LETTER", zones[i]);
        }
    }
    if (n > ZONES_MAX) {
        return err_set(err, ERR_INVALID, "at most %d zones are simulated", ZONES_MAX);
    }
    o->cfg.zones = (const char *const *)zones;
    o->cfg.n_zones = n;
    return ERR_OK;
}

static int set_nodes(struct arena *a, struct sim_options *o, const char *value, struct err *err)
{
    (void)a;
    return set_int(value, 10000, &o->cfg.nodes, err);
}

static int set_node_images(struct arena *a, struct sim_options *o, const char *value,
                           struct err *err)
{
    (void)a;
    return set_int(value, 1000, &o->cfg.node_images, err);
}

static int set_services(struct arena *a, struct sim_options *o, const char *value, struct err *err)
{
    const char *colon = strchr(value, ':');
    const char *count = colon ? arena_strndup(a, value, (size_t)(colon - value)) : value;
    o->cfg.service_class = colon ? colon + 1 : NULL;
    return set_int(count, 100000, &o->cfg.services, err);
}

static int set_families(struct arena *a, struct sim_options *o, const char *value, struct err *err)
{
    size_t n = 0;
    char **words = str_split(a, value, ',', &n);
    for (size_t i = 0; i < n; i++) {
        bool v4 = str_eq(words[i], "IPv4"), v6 = str_eq(words[i], "IPv6");
        if (!v4 && !v6) {
            return err_set(err, ERR_INVALID, "\"%s\" is no IP family; allowed: IPv4, IPv6",
                           words[i]);
        }
        o->cfg.ipv6_first = o->cfg.ipv6_first || (v6 && !o->cfg.ipv4);
        o->cfg.ipv4 = o->cfg.ipv4 || v4;
        o->cfg.ipv6 = o->cfg.ipv6 || v6;
    }
    return ERR_OK;
}

static int set_seed(struct arena *a, struct sim_options *o, const char *value, struct err *err)
{
    (void)a;
    return str_to_u64(value, &o->cfg.seed)
               ? ERR_OK
               : err_set(err, ERR_INVALID, "\"%s\" is not a number", value);
}

static int set_latency(struct arena *a, struct sim_options *o, const char *value, struct err *err)
{
    (void)a;
    bool cloud = str_eq(value, "cloud");
    o->cfg.latency = cloud ? SIM_LATENCY_CLOUD : SIM_LATENCY_NONE;
    return cloud || str_eq(value, "none")
               ? ERR_OK
               : err_set(err, ERR_INVALID, "\"%s\" is not allowed; want none or cloud", value);
}

static int set_strict(struct arena *a, struct sim_options *o, const char *value, struct err *err)
{
    (void)a;
    return str_to_go_bool(value ? value : "true", &o->cfg.strict_address_delete)
               ? ERR_OK
               : err_set(err, ERR_INVALID, "\"%s\" is neither true nor false", value);
}

static int set_quota(struct arena *a, struct sim_options *o, const char *value, struct err *err)
{
    const char *equals = strchr(value, '=');
    int limit;
    if (!equals || set_int(equals + 1, 1000000, &limit, err)) {
        return err_set(err, ERR_INVALID, "\"%s\" is no quota; want NAME=N, such as FIREWALLS=100",
                       value);
    }
    const char **quotas = ARENA_ARRAY(a, const char *, o->cfg.n_quotas + 1);
    for (size_t i = 0; i < o->cfg.n_quotas; i++) {
        quotas[i] = o->cfg.quotas[i];
    }
    quotas[o->cfg.n_quotas] = value;
    o->cfg.quotas = quotas;
    o->cfg.n_quotas++;
    return ERR_OK;
}

#define SET_TEXT(fn, member)                                                                       \
    static int fn(struct arena *a, struct sim_options *o, const char *value, struct err *err)      \
    {                                                                                              \
        (void)a;                                                                                   \
        (void)err;                                                                                 \
        o->member = value;                                                                         \
        return ERR_OK;                                                                             \
    }

SET_TEXT(set_world, world)
SET_TEXT(set_state, state)
SET_TEXT(set_faults, faults)
SET_TEXT(set_write_kubeconfig, write_kubeconfig)
SET_TEXT(set_write_cloud_config, write_cloud_config)
SET_TEXT(set_traffic_log, cfg.traffic_log)
SET_TEXT(set_kube_log, cfg.kube_log)
SET_TEXT(set_rbac, cfg.rbac)

static int set_help(struct arena *a, struct sim_options *o, const char *value, struct err *err)
{
    (void)a;
    (void)value;
    (void)err;
    o->help = true;
    return ERR_OK;
}

static int set_version(struct arena *a, struct sim_options *o, const char *value, struct err *err)
{
    (void)a;
    (void)value;
    (void)err;
    o->version = true;
    return ERR_OK;
}

static const struct flag flags[] = {
    {"port", "N", "the one port; 0 takes a free one (8811)", set_port},
    {"tls", NULL, "HTTPS with a throw-away CA", set_tls},
    {"cloud", "gce|azure|aws|none", "which cloud the nodes are in; none: no cloud (gce)",
     set_cloud},
    {"zones", "A,B,…", "zones (us-central1-a,…; eastus-1,…; us-east-1a,…)", set_zones},
    {"nodes", "N", "nodes at the start, each with its instance in the cloud (0)", set_nodes},
    {"node-images", "N", "images that each node lists (0)", set_node_images},
    {"services", "N[:CLASS]", "Services of type LoadBalancer at the start (0)", set_services},
    {"ip-families", "F[,F]", "IPv4, IPv6 or both, in order (IPv4)", set_families},
    {"seed", "N", "the same seed gives the same names and delays (0)", set_seed},
    {"latency", "none|cloud", "answer at once, or as slowly as the cloud (none)", set_latency},
    {"world", "FILE", "start from a recorded world", set_world},
    {"state", "FILE", "load if it exists, save on SIGTERM", set_state},
    {"write-kubeconfig", "FILE", "write a kubeconfig for this simulator", set_write_kubeconfig},
    {"write-cloud-config", "DIR",
     "write gce.conf, azure.json or aws.conf, env-CLOUD, credentials, ca.crt",
     set_write_cloud_config},
    {"traffic-log", "FILE", "log cloud API calls, one JSON object per line", set_traffic_log},
    {"kube-log", "FILE", "log Kubernetes API calls likewise", set_kube_log},
    {"rbac", "FILE", "enforce the roles of a manifest", set_rbac},
    {"faults", "FILE", "faults from the start, as POST /sim/faults takes them", set_faults},
    {"quota", "NAME=N", "limit of a kind, such as FIREWALLS=100 (none)", set_quota},
    {"strict-address-delete", NULL, "refuse to delete an address that a rule uses", set_strict},
    {"help", NULL, "this text", set_help},
    {"version", NULL, "the version", set_version},
};

static const struct flag *find_flag(const char *name, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        if (strlen(flags[i].name) == n && strncmp(flags[i].name, name, n) == 0) {
            return &flags[i];
        }
    }
    return NULL;
}

static int unknown_flag(const char *name, struct err *err)
{
    const char *names[ARRAY_LEN(flags)];
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        names[i] = flags[i].name;
    }
    const char *near = str_nearest(name, names, ARRAY_LEN(names));
    return err_set(err, ERR_INVALID, "unknown flag: --%s%s%s%s", name,
                   near ? "; did you mean --" : "", str_nonnull(near), near ? "?" : "");
}

/* Flags that steer a cloud have no effect without one. */
static int check_without_cloud(const struct sim_options *o, struct err *err)
{
    const struct {
        bool given;
        const char *flag, *advice;
    } rows[] = {
        {o->write_cloud_config != NULL, "--write-cloud-config",
         "trimtab --cloud-provider=local reads a file of your own"},
        {o->cfg.traffic_log != NULL, "--traffic-log", "--kube-log has the Kubernetes calls"},
        {o->cfg.latency == SIM_LATENCY_CLOUD, "--latency cloud", "leave it out"},
        {o->cfg.n_quotas > 0, "--quota", "leave it out"},
        {o->cfg.strict_address_delete, "--strict-address-delete", "leave it out"},
    };
    for (size_t i = 0; str_eq(o->cfg.cloud, "none") && i < ARRAY_LEN(rows); i++) {
        if (rows[i].given) {
            return err_set(err, ERR_INVALID,
                           "%s needs a cloud, and --cloud none simulates none; %s", rows[i].flag,
                           rows[i].advice);
        }
    }
    return ERR_OK;
}

int sim_options_parse(struct arena *a, int argc, char **argv, struct sim_options *ret,
                      struct err *err)
{
    *ret = (struct sim_options){.cfg = {.port = 8811}};
    for (int i = 1; i < argc; i++) {
        if (!str_has_prefix(argv[i], "--") || argv[i][2] == '\0') {
            return err_set(err, ERR_INVALID, "unexpected argument \"%s\"", argv[i]);
        }
        const char *name = argv[i] + 2;
        size_t n = strcspn(name, "=");
        const struct flag *f = find_flag(name, n);
        if (!f) {
            return unknown_flag(arena_strndup(a, name, n), err);
        }
        const char *value = name[n] == '=' ? name + n + 1 : NULL;
        if (f->arg && !value && i + 1 < argc) {
            value = argv[++i];
        }
        if (f->arg && !value) {
            return err_set(err, ERR_INVALID, "--%s needs a value: %s", f->name, f->arg);
        }
        int code = f->set(a, ret, value, err);
        if (code) {
            (void)err_prefix(err, "--%s", f->name);
            return code;
        }
    }
    return check_without_cloud(ret, err);
}

void sim_options_usage(FILE *to)
{
    fprintf(to,
            "trimtab-sim: a Kubernetes API and a cloud (Google, Azure, AWS or none) in memory, on "
            "one loopback port\n\n"
            "Usage: trimtab-sim [flags]\n\nFlags (defaults in parentheses):\n");
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        char left[64];
        snprintf(left, sizeof(left), "--%s%s%s", flags[i].name, flags[i].arg ? "=" : "",
                 str_nonnull(flags[i].arg));
        fprintf(to, "  %-30s %s\n", left, flags[i].help);
    }
    fprintf(
        to,
        "\nControl: GET|DELETE /sim/calls, GET|PUT /sim/state, GET|POST|DELETE /sim/faults[/ID],\n"
        "GET /sim/reach, POST /sim/nodes, DELETE /sim/nodes/NAME,\n"
        "PUT|DELETE /sim/pods/NAMESPACE/SERVICE;\n"
        "see docs/simulator.md.\n");
}
