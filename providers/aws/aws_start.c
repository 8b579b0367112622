/* SPDX-License-Identifier: Apache-2.0 */
/* aws_start.c: who and where we are: region, VPC, subnet, cluster (docs/spec/aws.md 1.4, 2.5).
 *
 * What the configuration says is taken; only what it does not say is asked of the metadata service and of EC2 (the own
 * instance).  A start that fails says which key of the cloud config would make it work without asking. */
#include "common/base/str.h"
#include "common/lb/budget_report.h"
#include "common/lb/exposed.h"
#include "providers/aws/api/aws_budget.h"
#include "providers/aws/aws_provider.h"
#include "providers/aws/model/aws_rules.h"

#include <string.h>

struct start {
    struct aws_provider *p;
    struct http *http;
    const struct aws_profiles *profiles;
    const char *region;
    /* the own instance, once it was asked for */
    bool has_self;
    const char *vpc;
    const char *subnet;
    struct aws_tags tags;
};

/* ---- region --------------------------------------------------------------------------------------------------- */

static struct aws_endpoint_args endpoint_args(const struct start *x)
{
    return (struct aws_endpoint_args){
        .config = &x->p->config, .env = &x->p->env, .profiles = x->profiles, .region = x->region};
}

static void say_without(void *arg, bool lost)
{
    const struct tt_host *host = ((const struct aws_provider *)arg)->host;
    host->log(
        host->ctx, TT_LOG_WARNING, 0,
        lost ? "The instance metadata service is asked without a session token (IMDSv1), since its "
               "tokens do not get through: inside a container " AWS_IMDS_HOPS
             : "The instance metadata service is asked without a session token (IMDSv1), since it "
               "knows none",
        NULL, 0);
}

static int make_imds(struct start *x, struct err *err)
{
    struct aws_provider *p = x->p;
    const struct aws_endpoint_args args = endpoint_args(x);
    const char *base = NULL;
    int rc = aws_endpoint_imds(p->a, &args, &base, err);
    const struct aws_imds_config cfg = {.base = base,
                                        .env = &p->env,
                                        .clock = p->clock,
                                        .on_without = p->host != NULL ? say_without : NULL,
                                        .arg = p};
    p->imds = rc == ERR_OK ? aws_imds_new(&cfg) : NULL;
    return rc;
}

static int find_region(struct start *x, struct err *err)
{
    struct aws_provider *p = x->p;
    if (!str_is_empty(p->config.zone)) {
        return aws_region_of_zone(p->a, p->config.zone, &x->region, err);
    }
    if (!str_is_empty(p->config.region)) {
        x->region = p->config.region;
        return ERR_OK;
    }
    if (p->offline) {
        return err_set(err, ERR_INVALID,
                       "Region is not in the cloud config; a saved state does not tell it");
    }
    int rc = aws_imds_region(p->imds, x->http, p->a, p->cancel, &x->region, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "the region is not in the cloud config (Region), and the metadata "
                              "service did not tell it");
    }
    return rc;
}

/* ---- the clients ------------------------------------------------------------------------------------------------ */

static int make_client(struct start *x, bool answers_once, struct err *err)
{
    struct aws_provider *p = x->p;
    const struct aws_endpoint_args args = endpoint_args(x);
    struct aws_client_config cfg = {
        .host = p->host, .clock = p->clock, .region = x->region, .answers_once = answers_once};
    int rc = aws_profile_max_attempts(x->profiles, &p->env, &cfg.max_attempts, err);
    for (int api = 0; rc == ERR_OK && api < AWS_APIS; api++) {
        rc = aws_endpoint_resolve(p->a, &args, (enum aws_api)api, &cfg.endpoints[api], err);
        if (rc == ERR_OK) {
            exposed_log(p->host, p->a, cfg.endpoints[api].origin, cfg.endpoints[api].url);
        }
    }
    struct aws_endpoint *sts = ARENA_NEW(p->a, struct aws_endpoint);
    *sts = cfg.endpoints[AWS_STS];
    const struct aws_auth_config auth = {
        .config = &p->config,
        .env = &p->env,
        .sts = sts,
        .imds = p->imds,
        .max_attempts = cfg.max_attempts,
        .clock = p->clock,
        .rng = p->rng,
    };
    rc = rc == ERR_OK ? aws_auth_new(&auth, &p->auth, err) : rc;
    cfg.auth = p->auth;
    cfg.budgets = p->budgets =
        budgets_new(aws_budget_limits, AWS_BUDGETS, p->clock, lb_budget_report, (void *)p->host);
    p->client = rc == ERR_OK ? aws_client_new(&cfg) : NULL;
    return rc;
}

/* ---- the own instance ---------------------------------------------------------------------------------------------- */

static struct aws_tags read_tags(struct arena *a, const struct aws_node *instance)
{
    struct aws_tag *items = ARENA_ARRAY(a, struct aws_tag, aws_xml_count(instance, "tagSet") + 1);
    size_t n = 0;
    AWS_XML_EACH(tag, instance, "tagSet")
    {
        items[n++] = (struct aws_tag){arena_strdup(a, str_nonnull(aws_xml_text(tag, "key"))),
                                      arena_strdup(a, str_nonnull(aws_xml_text(tag, "value")))};
    }
    return (struct aws_tags){.items = items, .n = n};
}

static double unit_of(void *arg)
{
    return rng_unit(arg);
}

static int ask_self(struct start *x, const char *id, struct err *err)
{
    struct aws_provider *p = x->p;
    const struct aws_pair pairs[] = {{"InstanceId.1", id}};
    struct aws_call call = {.client = p->client,
                            .a = p->a,
                            .api = AWS_EC2,
                            .action = "DescribeInstances",
                            .pairs = pairs,
                            .n_pairs = ARRAY_LEN(pairs)};
    struct aws_call *calls[] = {&call};
    int rc = aws_auth_ready(p->auth, x->http, p->cancel, err);
    rc = rc == ERR_OK ? aws_calls_run(x->http, p->cancel, unit_of, p->rng, calls, 1, err) : rc;
    const struct aws_node *reservation =
        rc == ERR_OK ? aws_xml_first(call.root, "reservationSet") : NULL;
    const struct aws_node *self = aws_xml_first(reservation, "instancesSet");
    if (rc == ERR_OK && self == NULL) {
        return err_set(err, ERR_NOT_FOUND, "EC2 does not know instance %s", id);
    }
    if (rc == ERR_OK) {
        x->has_self = true;
        x->vpc = arena_strdup(p->a, str_nonnull(aws_xml_text(self, "vpcId")));
        x->subnet = arena_strdup(p->a, str_nonnull(aws_xml_text(self, "subnetId")));
        x->tags = read_tags(p->a, self);
    }
    return rc;
}

static int find_self(struct start *x, struct err *err)
{
    struct aws_provider *p = x->p;
    const char *id = NULL;
    if (x->has_self) {
        return ERR_OK;
    }
    if (p->offline) {
        return err_set(err, ERR_INVALID,
                       "a saved state does not tell which instance we are on: set VPC and "
                       "KubernetesClusterID in the cloud config");
    }
    int rc = aws_imds_read(p->imds, x->http, p->a, AWS_IMDS_INSTANCE, p->cancel, &id, err);
    rc = rc == ERR_OK ? ask_self(x, str_trim(p->a, id), err) : rc;
    if (rc != ERR_OK) {
        (void)err_prefix(err, "finding the instance that we run on (not needed with VPC, SubnetID "
                              "and KubernetesClusterID in the cloud config)");
    }
    return rc;
}

/* ---- names ------------------------------------------------------------------------------------------------------------ */

static int find_cluster(struct start *x, struct aws_cluster *ret, struct err *err)
{
    int rc = aws_cluster_of_config(&x->p->config, ret, err);
    if (rc != ERR_NOT_FOUND) {
        return rc;
    }
    err_clear(err);
    rc = find_self(x, err);
    rc = rc == ERR_OK ? aws_cluster_of_tags(x->tags.items, x->tags.n, ret, err) : rc;
    if (rc != ERR_OK) {
        (void)err_prefix(err, "KubernetesClusterID is not in the cloud config");
    }
    return rc;
}

static int find_network(struct start *x, struct err *err)
{
    struct aws_provider *p = x->p;
    bool off_instance = aws_config_is_off_instance(&p->config);
    int rc =
        off_instance || (p->offline && !str_is_empty(p->config.vpc)) ? ERR_OK : find_self(x, err);
    p->naming.vpc = str_or(x->vpc, p->config.vpc);
    p->own_subnet = str_or(x->subnet, p->config.subnet_id);
    if (rc == ERR_OK && str_is_empty(p->naming.vpc)) {
        return err_set(err, ERR_INVALID, "the VPC is not known: set VPC in the cloud config");
    }
    return rc;
}

static int make_naming(struct start *x, const struct tt_open_args *args, struct err *err)
{
    struct aws_provider *p = x->p;
    struct aws_cluster cluster = {0};
    int rc = find_network(x, err);
    rc = rc == ERR_OK ? find_cluster(x, &cluster, err) : rc;
    struct aws_naming *n = &p->naming;
    n->cluster_id = cluster.id;
    n->legacy_tags = cluster.legacy;
    n->cluster_name = arena_strdup(p->a, str_nonnull(args->cluster_name));
    n->region = x->region;
    n->probe_mode = aws_config_probe_mode(&p->config);
    n->probe_mode_text = p->config.probe_mode;
    n->probe_port = aws_config_probe_port(&p->config);
    n->probe_path = aws_config_probe_path(&p->config);
    n->nlb_group_mode = p->config.nlb_security_group_mode;
    n->shared_group = p->config.elb_security_group;
    n->no_node_rules = p->config.disable_security_group_ingress;
    n->options = p->config.options;
    return rc;
}

int aws_start(struct aws_provider *p, const struct tt_open_args *args, struct err *err)
{
    struct start x = {.p = p, .http = http_pool_get(p->http)};
    int rc = p->offline ? ERR_OK : aws_profiles_read(p->a, &p->env, &x.profiles, err);
    rc = rc == ERR_OK ? make_imds(&x, err) : rc;
    rc = rc == ERR_OK ? find_region(&x, err) : rc;
    rc = rc == ERR_OK && !p->offline
             ? make_client(&x, TT_HAS(args, planning) && args->planning != 0, err)
             : rc;
    rc = rc == ERR_OK ? make_naming(&x, args, err) : rc;
    http_pool_put(p->http, x.http);
    return rc;
}
