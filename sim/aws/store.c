/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: the resources of the simulated AWS: documents by kind and id, in order of creation; and
 * their place in a world.
 *
 * A world's member "aws" has the form of the describe calls: lists of documents that name
 * themselves, and maps from ids to what belongs to them.  Instances lie in their reservations
 * there, here each is a resource.  Loading takes documents as they are; members of no kind are kept
 * and given back.  Lists are dumped in order of creation, maps by id.
 * Source: docs/spec/aws.md §10.3; tests/data/aws/world.json. */
#include "sim/aws/aws.h"

#include <string.h>

#define MISSHAPEN "a list or a structure where the API has none, or none where it has one"

const struct amz_kind amz_kinds[AMZ_KINDS_MAX] = {
    [AMZ_ZONE] = {"ec2", "AvailabilityZones", "ZoneName"},
    [AMZ_VPC] = {"ec2", "Vpcs", "VpcId"},
    [AMZ_SUBNET] = {"ec2", "Subnets", "SubnetId"},
    [AMZ_ROUTE_TABLE] = {"ec2", "RouteTables", "RouteTableId"},
    [AMZ_INTERNET_GATEWAY] = {"ec2", "InternetGateways", "InternetGatewayId"},
    [AMZ_SECURITY_GROUP] = {"ec2", "SecurityGroups", "GroupId"},
    [AMZ_INTERFACE] = {"ec2", "NetworkInterfaces", "NetworkInterfaceId"},
    [AMZ_ADDRESS] = {"ec2", "Addresses", "AllocationId"},
    [AMZ_RESERVATION] = {"ec2", "Reservations", "ReservationId"},
    [AMZ_INSTANCE] = {"ec2", NULL, "InstanceId"}, /* in its reservation */
    [AMZ_CERTIFICATE] = {"acm", "Certificates", "CertificateArn"},
    [AMZ_CLASSIC] = {"elb", "LoadBalancerDescriptions", "LoadBalancerName"},
    [AMZ_CLASSIC_ATTRIBUTES] = {"elb", "Attributes", NULL},
    [AMZ_CLASSIC_POLICIES] = {"elb", "PolicyDescriptions", NULL},
    [AMZ_CLASSIC_TAGS] = {"elb", "Tags", "LoadBalancerName"},
    [AMZ_LOAD_BALANCER] = {"elbv2", "LoadBalancers", "LoadBalancerArn"},
    [AMZ_LOAD_BALANCER_ATTRIBUTES] = {"elbv2", "Attributes", NULL},
    [AMZ_LISTENER] = {"elbv2", "Listeners", "ListenerArn"},
    [AMZ_LISTENER_ATTRIBUTES] = {"elbv2", "ListenerAttributes", NULL},
    [AMZ_TARGET_GROUP] = {"elbv2", "TargetGroups", "TargetGroupArn"},
    [AMZ_TARGET_GROUP_ATTRIBUTES] = {"elbv2", "TargetGroupAttributes", NULL},
    [AMZ_TARGET_HEALTH] = {"elbv2", "TargetHealth", NULL},
    [AMZ_V2_TAGS] = {"elbv2", "Tags", "ResourceArn"},
};

/* --- documents -------------------------------------------------------------------------------- */

static void free_resource(void *p)
{
    struct amz_resource *res = p;
    json_object_put(res->body);
    json_object_put(res->stale);
    free(res->extra);
    free(res->parent);
    free(res->id);
    free(res);
}

void amz_store_init(struct aws *aws)
{
    for (int i = 0; i < AMZ_KINDS_MAX; i++) {
        aws->by_id[i] = map_new(free_resource);
    }
}

void amz_store_done(struct aws *aws)
{
    for (int i = 0; i < AMZ_KINDS_MAX; i++) {
        map_free(aws->by_id[i]);
    }
    json_object_put(aws->rest);
}

void amz_store_clear(struct aws *aws)
{
    for (int i = 0; i < AMZ_KINDS_MAX; i++) {
        map_clear(aws->by_id[i]);
        aws->first[i] = aws->last[i] = NULL;
    }
    json_object_put(aws->rest);
    aws->rest = NULL;
}

struct amz_resource *amz_get(const struct aws *aws, enum amz_kind_id kind, const char *id)
{
    return id ? map_get(aws->by_id[kind], id) : NULL;
}

struct amz_resource *amz_first(const struct aws *aws, enum amz_kind_id kind)
{
    return aws->first[kind];
}

size_t amz_count(const struct aws *aws, enum amz_kind_id kind)
{
    return map_size(aws->by_id[kind]);
}

struct amz_resource *amz_set(struct aws *aws, enum amz_kind_id kind, const char *id,
                             struct json_object *body)
{
    struct amz_resource *res = amz_get(aws, kind, id);
    if (res) {
        if (res->body != body) {
            json_object_put(res->body);
        }
        res->body = body;
        return res;
    }
    res = xcalloc(1, sizeof(*res));
    res->kind = kind;
    res->id = xstrdup(id);
    res->body = body;
    res->seq = aws->next_seq++;
    res->prev = aws->last[kind];
    *(res->prev ? &res->prev->next : &aws->first[kind]) = res;
    aws->last[kind] = res;
    map_set(aws->by_id[kind], id, res);
    return res;
}

void amz_unset(struct aws *aws, enum amz_kind_id kind, const char *id)
{
    struct amz_resource *res = amz_get(aws, kind, id);
    if (!res) {
        return;
    }
    *(res->prev ? &res->prev->next : &aws->first[kind]) = res->next;
    *(res->next ? &res->next->prev : &aws->last[kind]) = res->prev;
    map_take(aws->by_id[kind], res->id);
    free_resource(res);
}

/* --- eventual consistency --------------------------------------------------------------------- */

void amz_unsettle(struct aws *aws, struct amz_resource *res, struct json_object *was)
{
    int64_t ms = amz_setting(aws, "consistency_ms", 0), now = clock_now_ms(sim_clock(aws->sim));
    if (ms <= 0 || res->settles_ms > now) { /* readers still see what was before */
        return;
    }
    json_object_put(res->stale);
    res->stale = was ? json_copy(was) : NULL;
    res->settles_ms = now + ms;
}

struct json_object *amz_seen(const struct aws *aws, struct amz_resource *res)
{
    return clock_now_ms(sim_clock(aws->sim)) < res->settles_ms ? res->stale : res->body;
}

/* --- worlds ----------------------------------------------------------------------------------- */

static int bad(struct err *err, const struct amz_kind *k, const char *what)
{
    return err_set(err, ERR_INVALID, "aws.%s.%s: %s", k->service, k->member, what);
}

static int load_reservation(struct aws *aws, struct json_object *item, const char *id,
                            struct err *err)
{
    struct json_object *body = json_copy(item), *instances = json_member(item, "Instances");
    json_object_object_del(body, "Instances");
    (void)amz_set(aws, AMZ_RESERVATION, id, body);
    for (size_t i = 0; i < json_len(instances); i++) {
        struct json_object *one = json_object_array_get_idx(instances, i);
        const char *instance = json_str(one, "InstanceId");
        if (!instance) {
            return bad(err, &amz_kinds[AMZ_RESERVATION], "an instance without InstanceId");
        }
        struct amz_resource *res = amz_set(aws, AMZ_INSTANCE, instance, json_copy(one));
        free(res->parent);
        res->parent = xstrdup(id);
    }
    return ERR_OK;
}

static int load_list(struct aws *aws, enum amz_kind_id kind, struct json_object *list,
                     struct err *err)
{
    const struct amz_kind *k = &amz_kinds[kind];
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        const char *id = json_str(item, k->id);
        if (!id || amz_get(aws, kind, id)) {
            return bad(err, k, id ? "an id twice" : "a document without id");
        }
        if (!amz_shape_fits(kind, item)) {
            return bad(err, k, MISSHAPEN);
        }
        if (kind != AMZ_RESERVATION) {
            (void)amz_set(aws, kind, id, json_copy(item));
            continue;
        }
        int code = load_reservation(aws, item, id, err);
        if (code) {
            return code;
        }
    }
    return ERR_OK;
}

static int load_kind(struct aws *aws, enum amz_kind_id kind, struct json_object *member,
                     struct err *err)
{
    const struct amz_kind *k = &amz_kinds[kind];
    if (!json_object_is_type(member, k->id ? json_type_array : json_type_object)) {
        return bad(err, k, k->id ? "want a list" : "want an object");
    }
    if (k->id) {
        return load_list(aws, kind, member, err);
    }
    json_object_object_foreach(member, id, body)
    {
        if (!amz_shape_fits(kind, body)) {
            return bad(err, k, MISSHAPEN);
        }
        (void)amz_set(aws, kind, id, json_copy(body));
    }
    return ERR_OK;
}

int amz_store_load(struct aws *aws, struct json_object *world, struct err *err)
{
    amz_store_clear(aws);
    if (world && !json_object_is_type(world, json_type_object)) {
        return err_set(err, ERR_INVALID, "aws: want an object");
    }
    aws->rest = world ? json_copy(world) : json_object_new_object();
    for (int i = 0; i < AMZ_KINDS_MAX; i++) {
        const struct amz_kind *k = &amz_kinds[i];
        struct json_object *service = json_member(world, k->service);
        if (service && !json_object_is_type(service, json_type_object)) {
            return err_set(err, ERR_INVALID, "aws.%s: want an object", k->service);
        }
        struct json_object *member = k->member ? json_member(service, k->member) : NULL;
        if (!member) {
            continue;
        }
        int code = load_kind(aws, (enum amz_kind_id)i, member, err);
        if (code) {
            return code;
        }
        /* The rest is dumped unchanged; an empty list stays, so that the dump contains it, too. */
        struct json_object *empty = k->id ? json_object_new_array() : json_object_new_object();
        json_object_object_add(json_member(aws->rest, k->service), k->member, empty);
    }
    return ERR_OK;
}

static struct json_object *member_of(struct json_object *o, const char *name, bool list)
{
    struct json_object *member = json_member(o, name);
    if (!member) {
        member = list ? json_object_new_array() : json_object_new_object();
        json_add(o, name, member);
    }
    return member;
}

/* Reservations by id (borrowed from the dump), so that each takes its instances back. */
static void dump_instances(const struct aws *aws, struct map *reservations)
{
    for (struct amz_resource *r = aws->first[AMZ_INSTANCE]; r; r = r->next) {
        struct json_object *home = map_get(reservations, str_nonnull(r->parent));
        if (home) {
            json_object_array_add(member_of(home, "Instances", true), json_object_get(r->body));
        }
    }
}

void amz_store_dump(struct aws *aws, struct json_object *world)
{
    struct json_object *o = aws->rest ? json_copy(aws->rest) : json_object_new_object();
    struct map *reservations = map_new(NULL);
    for (int i = 0; i < AMZ_KINDS_MAX; i++) {
        const struct amz_kind *k = &amz_kinds[i];
        if (!k->member || !aws->first[i]) {
            continue;
        }
        struct json_object *to = member_of(member_of(o, k->service, false), k->member, k->id);
        for (struct amz_resource *r = aws->first[i]; r; r = r->next) {
            /* A dump is only read: it shares bodies, but for those that get instances. */
            struct json_object *copy =
                i == AMZ_RESERVATION ? json_copy(r->body) : json_object_get(r->body);
            if (k->id) {
                json_object_array_add(to, copy);
            } else {
                json_add(to, r->id, copy);
            }
            if (i == AMZ_RESERVATION) {
                map_set(reservations, r->id, copy);
            }
        }
    }
    dump_instances(aws, reservations);
    map_free(reservations);
    if (json_object_object_length(o) > 0) {
        json_add(world, "aws", o);
    } else {
        json_object_put(o);
    }
}
