/* SPDX-License-Identifier: Apache-2.0 */
/* eval_aws_config.c: aws.config and aws.sigv4 of trimtab-eval: a cloud config and what follows from
 * it, and a signature.
 *
 * The text goes through the provider's own reader; members of texts that are empty are left out. */
#include "tests/eval/eval.h"

#include "common/net/sigv4.h"
#include "providers/aws/model/aws_config.h"

#include <string.h>

static void add_texts(struct json_object *o, const struct aws_config *c)
{
    const struct {
        const char *name;
        const char *value;
    } rows[] = {
        {"zone", c->zone},
        {"region", c->region},
        {"vpc", c->vpc},
        {"subnetID", c->subnet_id},
        {"roleARN", c->role_arn},
        {"kubernetesClusterTag", c->cluster_tag},
        {"kubernetesClusterID", c->cluster_id},
        {"elbSecurityGroup", c->elb_security_group},
        {"probeMode", c->probe_mode},
        {"probePath", c->probe_path},
        {"nlbSecurityGroupMode", c->nlb_security_group_mode},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_add_str(o, rows[i].name, *rows[i].value != '\0' ? rows[i].value : NULL);
    }
}

static void add_cluster(struct json_object *o, const struct aws_config *c)
{
    struct aws_cluster cluster;
    int rc = aws_cluster_of_config(c, &cluster, NULL);
    if (rc == ERR_INVALID) {
        json_add_str(o, "cluster", "invalid");
    } else if (rc == ERR_OK) {
        struct json_object *sub = json_object_new_object();
        json_add_str(sub, "id", cluster.id);
        json_add_bool(sub, "legacy", cluster.legacy);
        json_add(o, "cluster", sub);
    }
}

static void add_derived(struct arena *a, struct json_object *o, const struct aws_config *c)
{
    const char *region = NULL;
    enum aws_nlb_groups groups = aws_config_nlb_groups(c);
    json_add_int(o, "probePort", c->probe_port);
    json_add_bool(o, "disableSecurityGroupIngress", c->disable_security_group_ingress);
    json_add(o, "nodeIPFamilies", json_strs(c->node_ip_families.items, c->node_ip_families.n));
    if (groups == AWS_NLB_GROUPS_INVALID) {
        json_add_str(o, "nlbManaged", "invalid");
    } else {
        json_add_bool(o, "nlbManaged", groups == AWS_NLB_GROUPS_MANAGED);
    }
    add_cluster(o, c);
    if (*c->zone != '\0') {
        int rc = aws_region_of_zone(a, c->zone, &region, NULL);
        json_add_str(o, "zoneRegion", rc == ERR_OK ? region : "invalid");
    }
    json_add_bool(o, "offInstance", aws_config_is_off_instance(c));
}

static void add_overrides(struct json_object *o, const struct aws_config *c)
{
    if (c->n_overrides == 0) {
        return;
    }
    struct json_object *all = json_object_new_object();
    for (size_t i = 0; i < c->n_overrides; i++) {
        const struct aws_override *from = &c->overrides[i];
        struct json_object *one = json_object_new_object();
        json_add_str(one, "service", from->service);
        json_add_str(one, "region", from->region);
        json_add_str(one, "url", from->url);
        json_add_str(one, "signingRegion", from->signing_region);
        json_add_str(one, "signingName", from->signing_name);
        json_add(all, from->label, one);
    }
    json_add(o, "overrides", all);
}

static int config(struct arena *a, struct json_object *in, struct json_object **ret,
                  struct err *err)
{
    const char *text = str_nonnull(json_str(in, "text"));
    struct gcfg_unknown *unknown;
    size_t n_unknown;
    struct aws_config c;
    int rc = aws_config_parse(a, text, strlen(text), &c, &unknown, &n_unknown, err);
    if (rc == ERR_OK) {
        struct json_object *o = json_object_new_object();
        add_texts(o, &c);
        add_derived(a, o, &c);
        add_overrides(o, &c);
        *ret = o;
    }
    return rc;
}

/* "20150830T123600Z" */
static bool read_time(struct arena *a, const char *s, int64_t *ret_s)
{
    int64_t us;
    if (strlen(s) != 16 || s[8] != 'T' || s[15] != 'Z') {
        return false;
    }
    const char *rfc3339 =
        arena_printf(a, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", s, s + 4, s + 6, s + 9, s + 11, s + 13);
    if (!time_parse_rfc3339(rfc3339, &us)) {
        return false;
    }
    *ret_s = us / 1000000;
    return true;
}

static const struct http_header *headers_of(struct arena *a, struct json_object *o, size_t *ret_n)
{
    struct http_header *list =
        ARENA_ARRAY(a, struct http_header, o != NULL ? (size_t)json_object_object_length(o) : 0);
    size_t n = 0;
    if (o != NULL) {
        json_object_object_foreach(o, name, value)
        {
            list[n++] = (struct http_header){name, str_nonnull(json_object_get_string(value))};
        }
    }
    *ret_n = n;
    return list;
}

static int sigv4(struct arena *a, struct json_object *in, struct json_object **ret, struct err *err)
{
    struct json_object *given = json_member(in, "headers");
    const struct sigv4_keys keys = {
        .access_key = str_nonnull(json_str(in, "accessKey")),
        .secret_key = str_nonnull(json_str(in, "secretKey")),
        .session_token = json_str(in, "sessionToken"),
    };
    struct sigv4_request req = {
        .method = str_nonnull(json_str(in, "method")),
        .url = str_nonnull(json_str(in, "url")),
        .body = str_nonnull(json_str(in, "body")),
        .region = str_nonnull(json_str(in, "region")),
        .service = str_nonnull(json_str(in, "service")),
    };
    struct sigv4_signature signature;
    if (!read_time(a, str_nonnull(json_str(in, "time")), &req.time_s)) {
        return err_set(err, ERR_INVALID, "time: want YYYYMMDDTHHMMSSZ");
    }
    req.body_len = strlen(req.body);
    req.headers =
        headers_of(a, json_object_is_type(given, json_type_object) ? given : NULL, &req.n_headers);
    int rc = sigv4_sign(a, NULL, &keys, &req, &signature, err);
    if (rc == ERR_OK) {
        struct json_object *o = json_object_new_object();
        json_add_str(o, "authorization", signature.authorization);
        json_add_str(o, "payloadHash", signature.payload_hash);
        *ret = o;
    }
    return rc;
}

const struct eval_fn eval_aws_config[] = {
    {"aws.config", config},
    {"aws.sigv4", sigv4},
    {0},
};
