/* SPDX-License-Identifier: Apache-2.0 */
/* module.c: AWS as a module of the simulator: its life, its part of a world, and the configuration
 * for its clients.
 *
 * A world's member "aws" holds the documents (store.c), "sim.aws" the settings.  Without a world,
 * `--cloud aws` seeds a VPC.  Which VPC, region and cluster id are meant is read from the world's
 * own cloud configuration, else from its instances.
 * Source: interfaces.md, "World"; docs/spec/aws.md §1.2, §1.3. */
#include "common/data/gcfg.h"
#include "sim/aws/aws.h"

#include <string.h>
#include <strings.h>

#define CLUSTER_TAG "kubernetes.io/cluster/"

static void set_text(char **at, const char *text)
{
    if (!str_is_empty(text)) {
        char *copy = xstrdup(text);
        free(*at);
        *at = copy;
    }
}

static bool is_ours(const struct aws *aws)
{
    return str_eq(sim_cfg(aws->sim)->cloud, "aws");
}

/* --- life ------------------------------------------------------------------------------------- */

static int module_init(struct sim *sim, void **ret_state, struct err *err)
{
    const struct sim_config *cfg = sim_cfg(sim);
    struct aws *aws = xcalloc(1, sizeof(*aws));
    struct arena *a = arena_new();
    (void)err;
    aws->sim = sim;
    aws->region = xstrdup("us-east-1");
    aws->vpc_id = xstrdup("");
    aws->cluster = xstrdup(AMZ_CLUSTER);
    aws->imds_tokens = map_new(free);
    aws->buckets = map_new(free);
    aws->held = map_new(free);
    aws->certificates = map_new(free);
    aws->ended = map_new(free);
    amz_keys_init(aws);
    amz_store_init(aws);
    if (is_ours(aws)) {
        set_text(&aws->region, amz_region_of_zone(a, cfg->zones[0]));
        amz_seed(aws);
    }
    arena_free(a);
    *ret_state = aws;
    return ERR_OK;
}

static void module_done(void *state)
{
    struct aws *aws = state;
    amz_store_done(aws);
    map_free(aws->keys);
    map_free(aws->imds_tokens);
    map_free(aws->buckets);
    map_free(aws->held);
    map_free(aws->certificates);
    map_free(aws->ended);
    json_object_put(aws->settings);
    free(aws->role_key);
    free(aws->region);
    free(aws->vpc_id);
    free(aws->cluster);
    free(aws);
}

static bool module_claims(const void *state, const char *method, const char *path)
{
    (void)state;
    return str_eq(path, "/") && str_eq(method, "POST");
}

/* --- settings --------------------------------------------------------------------------------- */

static void take_settings(struct aws *aws, struct json_object *settings)
{
    json_object_put(aws->settings);
    aws->settings = settings ? json_copy(settings) : NULL;
    map_clear(aws->buckets);
    map_clear(aws->certificates);
}

static int module_configure(void *state, struct json_object *settings, struct err *err)
{
    int code = amz_settings_check(settings, err);
    if (!code) {
        take_settings(state, settings);
    }
    return code;
}

/* --- worlds ----------------------------------------------------------------------------------- */

/* Region and network by the instances and zones. */
static void look_around(struct aws *aws)
{
    struct amz_resource *instance = amz_first(aws, AMZ_INSTANCE);
    struct amz_resource *vpc = amz_first(aws, AMZ_VPC), *zone = amz_first(aws, AMZ_ZONE);
    struct json_object *tags = instance ? json_member(instance->body, "Tags") : NULL;
    set_text(&aws->region, zone ? json_str(zone->body, "RegionName") : NULL);
    set_text(&aws->vpc_id, vpc ? vpc->id : NULL);
    set_text(&aws->vpc_id, instance ? json_str(instance->body, "VpcId") : NULL);
    for (size_t i = 0; i < json_len(tags); i++) {
        const char *key = json_str(json_object_array_get_idx(tags, i), "Key");
        if (key && str_has_prefix(key, CLUSTER_TAG)) {
            set_text(&aws->cluster, key + strlen(CLUSTER_TAG));
        }
    }
}

/* The same by the configuration; a file in another format is ignored. */
static void read_config(struct aws *aws, struct arena *a, const char *text)
{
    struct gcfg_entry *entries = NULL;
    size_t n = 0;
    if (!text || gcfg_parse(a, text, strlen(text), &entries, &n, NULL)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct gcfg_entry *e = &entries[i];
        if (!e->key || strcasecmp(e->section, "global") != 0) {
            continue;
        }
        if (strcasecmp(e->key, "Region") == 0) {
            set_text(&aws->region, e->value);
        } else if (strcasecmp(e->key, "VPC") == 0) {
            set_text(&aws->vpc_id, e->value);
        } else if (strcasecmp(e->key, "KubernetesClusterID") == 0) {
            set_text(&aws->cluster, e->value);
        }
    }
}

static int module_load(void *state, struct json_object *world, struct err *err)
{
    struct aws *aws = state;
    struct arena *a = arena_new();
    map_clear(aws->held);
    map_clear(aws->ended);
    take_settings(aws, json_path(world, "sim.aws"));
    int code = amz_store_load(aws, json_member(world, "aws"), err);
    if (!code && is_ours(aws) && amz_count(aws, AMZ_VPC) == 0) {
        amz_seed(aws);
    }
    for (struct amz_resource *r = amz_first(aws, AMZ_INSTANCE); !code && r; r = r->next) {
        if (str_eq(json_str(json_member(r->body, "State"), "Name"), "terminated")) {
            amz_balancers_expect_end(aws, r->id);
        }
    }
    if (!code) {
        look_around(aws);
        read_config(aws, a, json_str(world, "cloud_config"));
    }
    arena_free(a);
    return code;
}

static void module_dump(void *state, struct json_object *world)
{
    amz_balancers_settle(state);
    amz_store_dump(state, world);
}

/* --- for the frame ---------------------------------------------------------------------------- */

char *sim_aws_cloud_config(void *state, struct arena *a)
{
    static const char *const services[] = {"EC2", "Elastic Load Balancing",
                                           "Elastic Load Balancing v2"};
    struct aws *aws = state;
    struct amz_resource *subnet = amz_first(aws, AMZ_SUBNET);
    struct str_buf b = STR_BUF_INIT;
    while (subnet && !str_eq(json_str(subnet->body, "VpcId"), aws->vpc_id)) {
        subnet = subnet->next;
    }
    str_appendf(&b, "[Global]\nRegion = %s\nVPC = %s\n", aws->region, aws->vpc_id);
    str_appendf(&b, "SubnetID = %s\nKubernetesClusterID = %s\n", subnet ? subnet->id : "",
                aws->cluster);
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        str_appendf(&b,
                    "\n[ServiceOverride \"%zu\"]\nService = %s\nRegion = %s\nURL = %s\n"
                    "SigningRegion = %s\n",
                    i + 1, services[i], aws->region, sim_url(aws->sim), aws->region);
    }
    char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

char *sim_aws_env(void *state, struct arena *a, const char *ca_file)
{
    struct aws *aws = state;
    const char *url = sim_url(aws->sim);
    const char *ca = ca_file ? arena_printf(a,
                                            "AWS_CA_BUNDLE=%s\nSSL_CERT_FILE=%s\n"
                                            "CURL_CA_BUNDLE=%s\nREQUESTS_CA_BUNDLE=%s\n",
                                            ca_file, ca_file, ca_file, ca_file)
                             : "";
    return arena_printf(a,
                        "AWS_ACCESS_KEY_ID=" AMZ_ACCESS_KEY "\n"
                        "AWS_SECRET_ACCESS_KEY=" AMZ_SECRET_KEY "\n"
                        "AWS_REGION=%s\nAWS_DEFAULT_REGION=%s\nAWS_ENDPOINT_URL=%s\n"
                        "AWS_EC2_METADATA_SERVICE_ENDPOINT=%s\n%s",
                        aws->region, aws->region, url, url, ca);
}

const struct sim_module sim_aws_module = {
    .name = "aws",
    .to_traffic_log = true,
    .init = module_init,
    .done = module_done,
    .claims = module_claims,
    .name_call = amz_name_call,
    .handle = amz_handle,
    .refuse = amz_refuse_fault,
    .load = module_load,
    .dump = module_dump,
    .configure = module_configure,
};
