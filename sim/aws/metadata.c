/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.c: what an instance of the simulated AWS asks about itself, and where it gets
 * credentials.
 *
 * The instance metadata service (version 2: a token first, by PUT), and the container credential
 * endpoints, of which the one for full URIs wants an authorization token.  The token service (STS)
 * is counted here, too: a request for credentials is not a call of a cloud API.  Lives on the state
 * of the module "aws"; nothing of it goes to a log.
 * Source: docs/spec/aws.md §2.2, §2.3. */
#include "sim/aws/aws.h"

#include <string.h>

#define ROOT           "/latest/"
#define TTL_MAX_S      21600
#define LIFETIME_S     21600
#define SPARE_S        300 /* credentials that live shorter are replaced */
#define TOKENS_MAX     10000
#define CREDENTIALS    "meta-data/iam/security-credentials/"
#define MACS           "meta-data/network/interfaces/macs/"
#define CONTAINER_PATH "/v2/credentials/"
#define FULL_PATH      "/v1/credentials"

static int metadata_init(struct sim *sim, void **ret_state, struct err *err)
{
    (void)err;
    *ret_state = sim_module_state(sim, "aws"); /* borrowed */
    return ERR_OK;
}

static void metadata_done(void *state)
{
    (void)state;
}

static bool metadata_claims(const void *state, const char *method, const char *path)
{
    (void)state;
    (void)method;
    return str_has_prefix(path, ROOT) || str_has_prefix(path, CONTAINER_PATH) ||
           str_eq(path, FULL_PATH);
}

static void metadata_name_call(void *state, struct sim_call *call)
{
    (void)state;
    call->op =
        str_has_prefix(call->path, ROOT) ? call->path + strlen(ROOT) : "container-credentials";
}

/* --- credentials ------------------------------------------------------------------------------ */

/* Those of the instance's role: the same ones until they are about to expire; new reference. */
static struct json_object *role_credentials(struct aws *aws, struct arena *a)
{
    int64_t lifetime = amz_setting(aws, "credentials_lifetime_s", LIFETIME_S);
    int64_t spare = lifetime / 2 < SPARE_S ? lifetime / 2 : SPARE_S;
    const struct amz_key *key = aws->role_key ? map_get(aws->keys, aws->role_key) : NULL;
    char expires[32];
    if (!key || key->expires_s - amz_wall_s(aws) < spare) {
        key = amz_key_new(
            aws, "arn:aws:sts::" AMZ_ACCOUNT ":assumed-role/" AMZ_ROLE_NAME "/i-trimtab", lifetime);
        free(aws->role_key);
        aws->role_key = xstrdup(key->id);
    }
    time_format_rfc3339(key->expires_s * 1000000, expires);
    struct json_object *o = json_object_new_object();
    json_add_str(o, "Code", "Success");
    json_add_str(o, "LastUpdated", amz_now(aws, a));
    json_add_str(o, "Type", "AWS-HMAC");
    json_add_str(o, "AccessKeyId", key->id);
    json_add_str(o, "SecretAccessKey", key->secret);
    json_add_str(o, "Token", key->session);
    json_add_str(o, "Expiration", expires);
    return o;
}

static void answer_container(struct aws *aws, struct sim_call *call)
{
    bool full = str_eq(call->path, FULL_PATH);
    const char *authorization = http_req_header(call->req, "Authorization");
    if (full && !str_eq(authorization, AMZ_CONTAINER_AUTH)) {
        struct json_object *o = json_object_new_object();
        json_add_str(o, "code", "InvalidAuthorizationToken");
        json_add_str(o, "message", "The authorization token is missing or wrong.");
        sim_answer(call, 401, o);
        return;
    }
    struct json_object *o = role_credentials(aws, call->arena);
    json_object_object_del(o, "Code");
    json_object_object_del(o, "LastUpdated");
    json_object_object_del(o, "Type");
    json_add_str(o, "RoleArn", "arn:aws:iam::" AMZ_ACCOUNT ":role/" AMZ_ROLE_NAME);
    sim_answer(call, 200, o);
}

/* --- what there is to know -------------------------------------------------------------------- */

/* The instance that asks; NULL if there is none. */
static struct amz_resource *self_of(const struct aws *aws)
{
    const char *id = json_str(aws->settings, "self");
    return id ? amz_get(aws, AMZ_INSTANCE, id) : amz_first(aws, AMZ_INSTANCE);
}

static char *identity_document(struct aws *aws, struct arena *a, struct json_object *self)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "accountId", AMZ_ACCOUNT);
    json_add_str(o, "architecture", json_str(self, "Architecture"));
    json_add_str(o, "availabilityZone",
                 json_str(json_member(self, "Placement"), "AvailabilityZone"));
    json_add_str(o, "imageId", json_str(self, "ImageId"));
    json_add_str(o, "instanceId", json_str(self, "InstanceId"));
    json_add_str(o, "instanceType", json_str(self, "InstanceType"));
    json_add_str(o, "pendingTime", json_str(self, "LaunchTime"));
    json_add_str(o, "privateIp", json_str(self, "PrivateIpAddress"));
    json_add_str(o, "region", aws->region);
    json_add_str(o, "version", "2017-09-30");
    char *text = json_text(a, o, JSON_PRETTY);
    json_object_put(o);
    return text;
}

/* A value below the MAC of the instance's interface, or NULL. */
static const char *interface_value(struct aws *aws, struct json_object *nic, const char *name)
{
    static const struct {
        const char *path, *member;
    } rows[] = {
        {"vpc-id", "VpcId"},
        {"subnet-id", "SubnetId"},
        {"mac", "MacAddress"},
        {"interface-id", "NetworkInterfaceId"},
        {"owner-id", "OwnerId"},
        {"local-ipv4s", "PrivateIpAddress"},
        {"local-hostname", "PrivateDnsName"},
    };
    struct amz_resource *vpc = amz_get(aws, AMZ_VPC, json_str(nic, "VpcId"));
    struct amz_resource *subnet = amz_get(aws, AMZ_SUBNET, json_str(nic, "SubnetId"));
    if (str_eq(name, "vpc-ipv4-cidr-block")) {
        return vpc ? json_str(vpc->body, "CidrBlock") : NULL;
    }
    if (str_eq(name, "subnet-ipv4-cidr-block")) {
        return subnet ? json_str(subnet->body, "CidrBlock") : NULL;
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(rows[i].path, name)) {
            return json_str(nic, rows[i].member);
        }
    }
    return NULL;
}

static const char *self_value(struct aws *aws, struct arena *a, struct json_object *self,
                              const char *path)
{
    struct json_object *nic = amz_item(json_member(self, "NetworkInterfaces"));
    const char *mac = str_nonnull(json_str(nic, "MacAddress"));
    const char *zone = json_str(json_member(self, "Placement"), "AvailabilityZone");
    struct amz_resource *zone_res = amz_get(aws, AMZ_ZONE, zone);
    const struct {
        const char *path, *value;
    } rows[] = {
        {"meta-data/instance-id", json_str(self, "InstanceId")},
        {"meta-data/instance-type", json_str(self, "InstanceType")},
        {"meta-data/ami-id", json_str(self, "ImageId")},
        {"meta-data/local-ipv4", json_str(self, "PrivateIpAddress")},
        {"meta-data/local-hostname", json_str(self, "PrivateDnsName")},
        {"meta-data/hostname", json_str(self, "PrivateDnsName")},
        {"meta-data/mac", *mac ? mac : NULL},
        {"meta-data/placement/availability-zone", zone},
        {"meta-data/placement/availability-zone-id",
         zone_res ? json_str(zone_res->body, "ZoneId") : NULL},
        {MACS, *mac ? arena_printf(a, "%s/", mac) : NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(rows[i].path, path)) {
            return rows[i].value;
        }
    }
    if (str_eq(path, "dynamic/instance-identity/document")) {
        return identity_document(aws, a, self);
    }
    const char *below = arena_printf(a, MACS "%s/", mac);
    return *mac && str_has_prefix(path, below) ? interface_value(aws, nic, path + strlen(below))
                                               : NULL;
}

/* The text of a path, or NULL. */
static const char *value_of(struct aws *aws, struct arena *a, const char *path)
{
    struct amz_resource *self = self_of(aws);
    if (str_eq(path, "meta-data/placement/region")) {
        return aws->region;
    }
    if (str_eq(path, "meta-data/services/domain")) {
        return "amazonaws.com";
    }
    if (str_eq(path, "meta-data/services/partition")) {
        return "aws";
    }
    if (str_eq(path, CREDENTIALS) || str_eq(path, "meta-data/iam/security-credentials")) {
        return AMZ_ROLE_NAME;
    }
    if (str_eq(path, CREDENTIALS AMZ_ROLE_NAME)) {
        struct json_object *o = role_credentials(aws, a);
        char *text = json_text(a, o, JSON_PRETTY);
        json_object_put(o);
        return text;
    }
    return self ? self_value(aws, a, self->body, path) : NULL;
}

/* --- version 2 -------------------------------------------------------------------------------- */

static void drop_expired(struct aws *aws)
{
    size_t n = 0;
    const char **tokens = map_keys(aws->imds_tokens, &n);
    for (size_t i = 0; i < n; i++) {
        const int64_t *expiry = map_get(aws->imds_tokens, tokens[i]);
        if (*expiry <= clock_now_ms(sim_clock(aws->sim)) || n >= TOKENS_MAX) {
            map_remove(aws->imds_tokens, tokens[i]);
        }
    }
    free(tokens);
}

static void answer_token(struct aws *aws, struct sim_call *call)
{
    const char *text = http_req_header(call->req, "X-aws-ec2-metadata-token-ttl-seconds");
    int64_t ttl = 0;
    if (http_req_header(call->req, "X-Forwarded-For")) {
        sim_answer_text(call, 403, "text/plain", "403 - Forbidden\n");
        return;
    }
    if (!text || !str_to_i64(text, &ttl) || ttl < 1 || ttl > TTL_MAX_S) {
        sim_answer_text(call, 400, "text/plain", "400 - Bad Request\n");
        return;
    }
    drop_expired(aws);
    char *token = arena_printf(call->arena, "%s==", amz_new_hex(aws, call->arena, 54));
    int64_t *expiry = xcalloc(1, sizeof(*expiry));
    *expiry = clock_now_ms(sim_clock(aws->sim)) + ttl * 1000;
    map_set(aws->imds_tokens, token, expiry);
    http_req_add_header(call->req, "X-Aws-Ec2-Metadata-Token-Ttl-Seconds",
                        arena_printf(call->arena, "%lld", (long long)ttl));
    sim_answer_text(call, 200, "text/plain", token);
}

static bool may_ask(struct aws *aws, struct sim_call *call)
{
    const char *token = http_req_header(call->req, "X-aws-ec2-metadata-token");
    const int64_t *expiry = token ? map_get(aws->imds_tokens, token) : NULL;
    bool optional = str_eq(json_str(aws->settings, "imds_tokens"), "optional");
    return token ? expiry && clock_now_ms(sim_clock(aws->sim)) < *expiry : optional;
}

static void answer_value(struct aws *aws, struct sim_call *call)
{
    const char *value = value_of(aws, call->arena, call->path + strlen(ROOT));
    if (!str_eq(call->method, "GET")) {
        sim_answer_text(call, 405, "text/plain", "405 - Method Not Allowed\n");
    } else if (!may_ask(aws, call)) {
        sim_answer_text(call, 401, "text/plain", "401 - Unauthorized\n");
    } else if (!value) {
        sim_answer_text(call, 404, "text/plain", "404 - Not Found\n");
    } else {
        sim_answer_text(call, 200, "text/plain", value);
    }
}

static void metadata_handle(void *state, struct sim_call *call)
{
    if (str_eq(call->path, "/")) {
        amz_handle(state, call); /* STS */
        return;
    }
    amz_add_date(state, call);
    if (!str_has_prefix(call->path, ROOT)) {
        answer_container(state, call);
    } else if (str_eq(call->path, ROOT "api/token") && str_eq(call->method, "PUT")) {
        answer_token(state, call);
    } else {
        answer_value(state, call);
    }
}

static void metadata_refuse(void *state, struct sim_call *call, int status, const char *reason,
                            const char *message, struct json_object *body)
{
    if (str_eq(call->path, "/")) {
        amz_refuse_fault(state, call, status, reason, message, body);
    } else if (body) {
        sim_answer(call, status, json_object_get(body));
    } else {
        sim_answer_text(call, status, "text/plain", message);
    }
}

const struct sim_module sim_aws_metadata_module = {
    .name = "metadata",
    .init = metadata_init,
    .done = metadata_done,
    .claims = metadata_claims,
    .name_call = metadata_name_call,
    .handle = metadata_handle,
    .refuse = metadata_refuse,
};
