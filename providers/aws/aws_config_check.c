/* SPDX-License-Identifier: Apache-2.0 */
/* aws_config_check.c: see aws_config_check.h.
 *
 * aws_config.c reads as upstream does; this file adds where (file:line), what would be right, and
 * for check-config what a person should look at although the controller would start.
 * Opens no connection. */
#include "providers/aws/aws_config_check.h"

#include "common/base/str.h"
#include "common/cloud/config_findings.h"
#include "common/lb/exposed.h"
#include "common/net/url.h"
#include "providers/aws/auth/aws_auth.h"
#include "providers/aws/auth/aws_endpoint.h"
#include "providers/aws/model/aws_config_keys.h"
#include "providers/aws/model/aws_name_rules.h"

#include <string.h>

#define NAMES_MAX 32

/* Shared by the functions below. */
struct checker {
    struct config_findings f;
    const struct aws_config *c;
};

static void warn(const struct checker *k, const char *where, const char *text)
{
    config_finding(k->f.args, TT_LOG_WARNING, where, text);
}

static const char *at_line(const struct checker *k, int line)
{
    return config_line(k->f.a, config_file(k->f.args), line);
}

static const char *where_is(const struct checker *k, const char *key)
{
    static const char *const sections[] = {AWS_SECTION_GLOBAL, AWS_SECTION_OPTIONS};
    return config_where(&k->f, sections, ARRAY_LEN(sections), key);
}

/* ---- unknown keys ---------------------------------------------------------------------------- */

/* The known key that was meant, perhaps, as it is written. */
static const char *nearest(const struct checker *k, const struct gcfg_key *keys,
                           const struct gcfg_unknown *u)
{
    const char *names[NAMES_MAX];
    const char *word = u->key;
    size_t n = 0;
    for (const struct gcfg_key *key = keys; key->section != NULL && n < NAMES_MAX; key++) {
        if (keys == aws_override_keys || gcfg_name_is(key->section, u->section)) {
            names[n++] = str_lower(k->f.a, key->key);
        }
    }
    const char *near = str_nearest(str_lower(k->f.a, word), names, n);
    for (const struct gcfg_key *key = keys; near != NULL && key->section != NULL; key++) {
        if (str_eq_nocase(key->key, near)) {
            return key->key;
        }
    }
    return NULL;
}

/* The section in which the key would count, or NULL. */
static const char *right_section(const struct gcfg_unknown *u)
{
    for (const struct gcfg_key *key = aws_config_keys; key->section != NULL; key++) {
        if (gcfg_name_is(key->key, u->key)) {
            return key->section;
        }
    }
    return NULL;
}

static const char *unknown_text(const struct checker *k, const struct gcfg_unknown *u)
{
    if (u->key == NULL) {
        return arena_printf(k->f.a,
                            "unknown section [%.200s] is ignored; [Global], [ServiceOverride "
                            "\"label\"] and [Trimtab] are read",
                            u->section);
    }
    const char *right = right_section(u);
    if (right != NULL) {
        return arena_printf(k->f.a,
                            "unknown key \"%.200s\" in [%.200s] is ignored; it belongs in [%s]",
                            u->key, u->section, right);
    }
    bool in_override = str_has_prefix(u->section, AWS_SECTION_OVERRIDE);
    const char *near = nearest(k, in_override ? aws_override_keys : aws_config_keys, u);
    return arena_printf(k->f.a, "unknown key \"%.200s\" in [%.200s] is ignored%s", u->key,
                        u->section, config_near(k->f.a, near));
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Errors that every sync of some Service would meet (13 row 35): upstream starts with them, and so
 * does trimtab. */
static void warn_of_modes(const struct checker *k)
{
    if (aws_config_nlb_groups(k->c) == AWS_NLB_GROUPS_INVALID) {
        warn(k, where_is(k, "NLBSecurityGroupMode"),
             arena_printf(k->f.a,
                          "NLBSecurityGroupMode \"%.100s\" is unknown: every network load balancer "
                          "will be refused; want Managed, or nothing",
                          k->c->nlb_security_group_mode));
    }
    if (aws_config_probe_mode(k->c) == AWS_PROBE_INVALID) {
        warn(k, where_is(k, "ClusterServiceLoadBalancerHealthProbeMode"),
             arena_printf(k->f.a,
                          "ClusterServiceLoadBalancerHealthProbeMode \"%.100s\" is unknown: every "
                          "network load balancer will be refused, and classic ones probe the node "
                          "port; want ServiceNodePort or Shared",
                          k->c->probe_mode));
    }
}

/* Values that upstream's start refuses after reading the file. */
static int check_start(const struct checker *k, struct err *err)
{
    struct err why = ERR_INIT;
    struct aws_cluster cluster;
    const char *text;
    if (*k->c->zone != '\0' && aws_region_of_zone(k->f.a, k->c->zone, &text, &why) != ERR_OK) {
        return err_set(err, ERR_INVALID, "%s: Zone: %s", where_is(k, "Zone"), why.message);
    }
    if (*k->c->role_arn != '\0' &&
        aws_account_of_arn(k->f.a, k->c->role_arn, &text, &why) != ERR_OK) {
        return err_set(err, ERR_INVALID, "%s: RoleARN: %s", where_is(k, "RoleARN"), why.message);
    }
    if (aws_cluster_of_config(k->c, &cluster, &why) == ERR_INVALID) {
        return err_set(err, ERR_INVALID, "%s: %s", where_is(k, "KubernetesClusterID"), why.message);
    }
    return ERR_OK;
}

static int load(struct checker *k, struct aws_config *ret, struct err *err)
{
    const struct tt_open_args *args = k->f.args;
    struct gcfg_unknown *unknown;
    size_t n;
    if (aws_config_parse(k->f.a, args->config_text, args->config_len, ret, &unknown, &n, err) !=
        ERR_OK) {
        struct err why = *err;
        bool has_word = str_has_prefix(why.message, "line ");
        return err_set(err, ERR_INVALID, "%.200s:%.700s", config_file(args),
                       why.message + (has_word ? strlen("line ") : 0));
    }
    k->c = ret;
    config_findings_lines(&k->f);
    for (size_t i = 0; i < n; i++) {
        warn(k, at_line(k, unknown[i].line), unknown_text(k, &unknown[i]));
    }
    warn_of_modes(k);
    return check_start(k, err);
}

int aws_config_load(struct arena *a, const struct tt_open_args *args, struct aws_config *ret,
                    struct err *err)
{
    struct checker k = {.f = {.a = a, .args = args}};
    return load(&k, ret, err);
}

/* ---- check-config ---------------------------------------------------------------------------- */

static bool is_list(const struct gcfg_entry *e)
{
    for (const struct gcfg_key *row = aws_config_keys; row->section != NULL; row++) {
        if (row->type == GCFG_STRS && gcfg_name_is(row->key, e->key)) {
            return true;
        }
    }
    return false;
}

/* A list that confines (aws_name_rules.h): an empty item allows nothing. */
static bool confines(const struct gcfg_entry *e)
{
    return gcfg_name_is("AllowedSecurityGroups", e->key) || gcfg_name_is("AllowedBuckets", e->key);
}

/* Items that no name can equal, as two of them in one line. */
static void check_allowed(const struct checker *k)
{
    const struct {
        const char *key;
        const struct gcfg_list *list;
        enum aws_name_kind kind;
    } rows[] = {
        {"AllowedSecurityGroups", &k->c->options.allowed_groups, AWS_NAME_GROUP},
        {"AllowedBuckets", &k->c->options.allowed_buckets, AWS_NAME_BUCKET},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t n = 0; n < rows[i].list->n; n++) {
            const char *item = rows[i].list->items[n];
            if (*item != '\0' && !name_rule_holds(aws_name_rule(rows[i].kind), item)) {
                warn(k, where_is(k, rows[i].key),
                     arena_printf(k->f.a,
                                  "%s \"%.100s\" is not %s: it allows nothing; repeat the key "
                                  "for more",
                                  rows[i].key, item, aws_name_rule(rows[i].kind)->what));
            }
        }
    }
}

static void check_families(const struct checker *k)
{
    for (size_t i = 0; i < k->c->node_ip_families.n; i++) {
        const char *family = k->c->node_ip_families.items[i];
        if (!str_eq(family, "ipv4") && !str_eq(family, "ipv6")) {
            warn(k, where_is(k, "NodeIPFamilies"),
                 arena_printf(k->f.a, "NodeIPFamilies \"%.50s\" is skipped; want ipv4 or ipv6",
                              family));
        }
    }
}

/* The region of the clients, when the file tells it. */
static const char *region_of(const struct checker *k)
{
    const char *region = k->c->region;
    if (*k->c->zone != '\0' && aws_region_of_zone(k->f.a, k->c->zone, &region, NULL) != ERR_OK) {
        return "";
    }
    return region;
}

/* A section that no API takes: a wrong name, or another region. */
static void check_overrides(const struct checker *k)
{
    static const char *const names[] = {
        "EC2",         "Elastic Load Balancing", "Elastic Load Balancing v2", "STS", "KMS",
        "ec2imds",     "elasticloadbalancing",   "elasticloadbalancingv2",    "elb", "elbv2",
        "ec2metadata",
    };
    const char *region = region_of(k);
    for (size_t i = 0; i < k->c->n_overrides; i++) {
        const struct aws_override *o = &k->c->overrides[i];
        bool known = false;
        for (size_t j = 0; j < ARRAY_LEN(names); j++) {
            known = known || str_eq_nocase(o->service, names[j]);
        }
        bool of_imds =
            str_eq_nocase(o->service, "ec2imds") || str_eq_nocase(o->service, "ec2metadata");
        if (!known) {
            const char *near = str_nearest(o->service, names, ARRAY_LEN(names));
            warn(k, at_line(k, o->line),
                 arena_printf(k->f.a,
                              "ServiceOverride \"%.100s\": service \"%.100s\" is not used%s",
                              o->label, o->service, config_near(k->f.a, near)));
        } else if (!of_imds && *region != '\0' && !str_eq(o->region, region)) {
            warn(
                k, at_line(k, o->line),
                arena_printf(k->f.a,
                             "ServiceOverride \"%.100s\" is for region %.100s and has no effect in "
                             "%.100s",
                             o->label, o->region, region));
        }
    }
}

/* They depend on the environment and the machine, which may be others where the controller runs. */
static void check_surroundings(const struct checker *k)
{
    const struct aws_env *env = &aws_env_process;
    const struct aws_profiles *profiles = NULL;
    struct err err = ERR_INIT;
    struct aws_endpoint e = {0};
    const char *imds = "";
    int rc = aws_profiles_read(k->f.a, env, &profiles, &err);
    const struct aws_endpoint_args args = {.config = k->c,
                                           .env = env,
                                           .profiles = profiles,
                                           .region = str_or(region_of(k), "us-east-1")};
    for (enum aws_api api = 0; rc == ERR_OK && api < AWS_APIS; api++) {
        const char *before = str_nonnull(e.url);
        rc = aws_endpoint_resolve(k->f.a, &args, api, &e, &err);
        const char *exposed = rc != ERR_OK ? NULL : exposed_text(k->f.a, e.origin, e.url);
        if (exposed != NULL && !str_eq(before, e.url)) { /* one setting may be for all */
            warn(k, config_file(k->f.args), exposed);
        }
    }
    int attempts;
    rc = rc == ERR_OK ? aws_profile_max_attempts(profiles, env, &attempts, &err) : rc;
    rc = rc == ERR_OK ? aws_endpoint_imds(k->f.a, &args, &imds, &err) : rc;
    if (rc == ERR_OK) {
        const struct aws_imds_config imds_cfg = {.base = imds, .env = env, .clock = clock_real()};
        struct aws_imds *m = aws_imds_new(&imds_cfg);
        const struct aws_auth_config cfg = {
            .config = k->c, .env = env, .sts = &e, .imds = m, .clock = clock_real()};
        struct aws_auth *auth = NULL;
        rc = aws_auth_new(&cfg, &auth, &err);
        aws_auth_free(auth);
        aws_imds_free(m);
    }
    if (rc != ERR_OK) {
        warn(k, config_file(k->f.args),
             arena_printf(k->f.a, "with this environment the controller would not start: %s",
                          err.message));
    }
}

static void check_self(const struct checker *k)
{
    bool tries = *k->c->vpc != '\0' || *k->c->subnet_id != '\0';
    if (aws_config_is_off_instance(k->c)) {
        config_finding(k->f.args, TT_LOG_INFO, "",
                       "VPC and cluster come from the configuration: the controller "
                       "need not run on an EC2 instance");
    } else if (tries) {
        warn(
            k, where_is(k, "VPC"),
            "VPC counts only together with SubnetID or RoleARN and KubernetesClusterID: it is read "
            "from the instance that the controller runs on instead");
    } else {
        config_finding(k->f.args, TT_LOG_INFO, "",
                       "VPC and cluster are read from the EC2 instance that the "
                       "controller runs on");
    }
    if (*k->c->source_arn != '\0' && *k->c->role_arn == '\0') {
        warn(k, where_is(k, "SourceARN"), "SourceARN has no effect without RoleARN");
    }
}

int32_t aws_config_check(const struct tt_open_args *args, struct tt_result *result)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct err err = ERR_INIT;
    struct aws_config c;
    struct checker k = {.f = {.a = a, .args = args}};
    if (load(&k, &c, &err) != ERR_OK) {
        args->host->result_fail(result, TT_INVALID, err.message, 0);
        return TT_INVALID;
    }
    config_check_repeated(&k.f, is_list);
    config_check_empty(&k.f, confines);
    check_families(&k);
    check_allowed(&k);
    check_overrides(&k);
    check_self(&k);
    check_surroundings(&k);
    return TT_OK;
}
