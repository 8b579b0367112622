/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_targets.c: registering and deregistering targets, and their health.
 *
 * A target is an id with a port.  Registering is all or nothing: one instance that is not running
 * refuses the call.  Deregistering what is not there is fine; what is there drains for setting
 * "draining_ms" (at latency none it is gone at once; at latency cloud it takes the group's own
 * delay) and can be registered again meanwhile.  The stored state is that of the health check
 * ("healthy" once setting "healthy_after_ms" is over); what follows from the rest of the cloud (no
 * listener, a zone that is not enabled, an instance that is stopped) is worked out when it is read.
 * Source: docs/spec/aws.md §5.6, §10.4 rows 14–16. */
#include "sim/aws/elb/nlb.h"

#include "common/base/ip.h"

#include <stdio.h>
#include <string.h>

#define NLB_GROUP_TARGETS_MAX 1000 /* quota "targets_per_group" */
#define NLB_HEALTHY_MS        15000

static const char draining[] = "Target.DeregistrationInProgress";

/* --- moments ---------------------------------------------------------------------------------- */

/* When targets change their state: in `extra` of the group's health document. */
struct moment {
    char key[64]; /* "i-…:30080" */
    int64_t until_ms;
};
struct moments {
    size_t n;
    struct moment at[];
};

static void make_key(char out[64], struct json_object *target)
{
    (void)snprintf(out, 64, "%s:%lld", str_nonnull(json_str(target, "Id")),
                   (long long)json_int(target, "Port", 0));
}

static struct moment *find_moment(const struct amz_resource *health, struct json_object *target)
{
    struct moments *m = health ? health->extra : NULL;
    char key[64];
    make_key(key, target);
    for (size_t i = 0; m && i < m->n; i++) {
        if (str_eq(m->at[i].key, key)) {
            return &m->at[i];
        }
    }
    return NULL;
}

static void set_moment(struct amz_resource *health, struct json_object *target, int64_t until_ms)
{
    struct moment *found = find_moment(health, target);
    if (!found) {
        struct moments *old = health->extra;
        size_t n = old ? old->n : 0;
        struct moments *m = xrealloc(old, sizeof(*m) + (n + 1) * sizeof(m->at[0]));
        m->n = n + 1;
        health->extra = m;
        found = &m->at[n];
        make_key(found->key, target);
    }
    found->until_ms = until_ms;
}

static void drop_moment(struct amz_resource *health, struct json_object *target)
{
    struct moment *found = find_moment(health, target);
    if (found) {
        struct moments *m = health->extra;
        *found = m->at[--m->n];
    }
}

/* --- the list --------------------------------------------------------------------------------- */

static struct json_object *target_of(struct json_object *item)
{
    return json_member(item, "Target");
}

bool nlb_target_drains(struct json_object *item)
{
    return str_eq(json_str(json_member(item, "TargetHealth"), "Reason"), draining);
}

static struct json_object *find_target(struct json_object *list, const char *id, int64_t port)
{
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        struct json_object *target = target_of(item);
        if (str_eq(json_str(target, "Id"), id) && json_int(target, "Port", 0) == port) {
            return item;
        }
    }
    return NULL;
}

/* "id:port" → item, borrowed, for a request about many targets; map_free() it. */
static struct map *index_targets(struct json_object *list)
{
    struct map *index = map_new(NULL);
    char key[64];
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        make_key(key, target_of(item));
        map_set(index, key, item);
    }
    return index;
}

static struct json_object *indexed(const struct map *index, const char *id, int64_t port)
{
    char key[64];
    (void)snprintf(key, sizeof(key), "%s:%lld", str_nonnull(id), (long long)port);
    return map_get(index, key);
}

size_t nlb_count_targets(struct amz_resource *health)
{
    size_t n = 0;
    for (size_t i = 0; health && i < json_len(health->body); i++) {
        n += !nlb_target_drains(json_object_array_get_idx(health->body, i));
    }
    return n;
}

static int64_t drain_ms(const struct aws *aws, const char *group)
{
    struct amz_resource *attributes = amz_get(aws, AMZ_TARGET_GROUP_ATTRIBUTES, group);
    const char *text =
        nlb_attribute(attributes ? attributes->body : NULL, "deregistration_delay.timeout_seconds");
    int64_t seconds = 300;
    (void)!str_to_i64(text, &seconds);
    return lb_delay_ms(aws, "draining_ms", seconds * 1000);
}

void nlb_settle_targets(struct aws *aws, struct amz_resource *health)
{
    for (size_t i = 0; i < json_len(health->body);) {
        struct json_object *item = json_object_array_get_idx(health->body, i);
        struct moment *m = find_moment(health, target_of(item));
        if (nlb_target_drains(item) && !m) {
            /* from a world: start unknown */
            set_moment(health, target_of(item), lb_now_ms(aws) + drain_ms(aws, health->id));
            m = find_moment(health, target_of(item));
        }
        if (nlb_target_drains(item) && lb_now_ms(aws) >= m->until_ms) {
            drop_moment(health, target_of(item));
            amz_remove_at(health->body, i);
        } else {
            i++;
        }
    }
}

void nlb_forget_instance(struct aws *aws, struct amz_resource *health, const char *instance)
{
    bool told = false;
    for (size_t i = json_len(health->body); i > 0; i--) {
        struct json_object *target = target_of(json_object_array_get_idx(health->body, i - 1));
        if (str_eq(json_str(target, "Id"), instance)) {
            if (!told) {
                amz_unsettle(aws, health, health->body);
                told = true;
            }
            drop_moment(health, target);
            amz_remove_at(health->body, i - 1);
        }
    }
}

/* The list of a group's targets, made when there is none. */
static struct amz_resource *health_of(struct aws *aws, const char *group)
{
    struct amz_resource *health = amz_get(aws, AMZ_TARGET_HEALTH, group);
    if (!health || !json_object_is_type(health->body, json_type_array)) {
        return amz_set(aws, AMZ_TARGET_HEALTH, group, json_object_new_array());
    }
    nlb_settle_targets(aws, health);
    return health;
}

/* --- registering ------------------------------------------------------------------------------ */

static bool id_is_valid(const char *id)
{
    size_t n = str_has_prefix(id, "i-") ? strlen(id + 2) : 0;
    return (n == 8 || n == 17) && strspn(id + 2, "0123456789abcdef") == n;
}

static bool check_instance(struct amz_request *q, struct json_object *group,
                           struct json_object *target)
{
    const char *id = json_str(target, "Id");
    if (!id_is_valid(id)) {
        return amz_refuse_value(q, "Instance ID '%s' is not valid", id);
    }
    if (json_str(target, "AvailabilityZone")) {
        return amz_refuse_value(q, "You cannot specify an Availability Zone for targets in a "
                                   "target group with the target type 'instance'");
    }
    const char *state = amz_ec2_instance_state(q->aws, id);
    if (!state) {
        return amz_refuse(q, "InvalidTarget", "The following targets are not valid instances: '%s'",
                          id);
    }
    if (!str_eq(state, "running")) {
        return amz_refuse(q, "InvalidTarget",
                          "The following targets are not in a running state and cannot be "
                          "registered: '%s'",
                          id);
    }
    const char *vpc = json_str(group, "VpcId");
    if (!str_eq(amz_ec2_instance_vpc(q->aws, id), vpc)) {
        return amz_refuse(q, "InvalidTarget",
                          "The following targets are not in the target group VPC '%s': '%s'",
                          str_nonnull(vpc), id);
    }
    return true;
}

/* An address of the group's VPC, or one outside with the zone "all". */
static bool check_address(struct amz_request *q, struct json_object *group,
                          struct json_object *target)
{
    const char *id = json_str(target, "Id");
    struct ip_addr ip;
    if (!ip_parse(id, &ip) || (ip.len == 16) != str_eq(json_str(group, "IpAddressType"), "ipv6")) {
        return amz_refuse_value(q, "The IP address '%s' is not a valid %s address", id,
                                str_nonnull(json_str(group, "IpAddressType")));
    }
    struct amz_resource *vpc = amz_get(q->aws, AMZ_VPC, json_str(group, "VpcId"));
    struct ip_net net;
    bool inside = ip.len == 16 || !vpc ||
                  (ip_net_parse(str_nonnull(json_str(vpc->body, "CidrBlock")), &net) &&
                   ip_net_contains(&net, &ip));
    return inside || str_eq(json_str(target, "AvailabilityZone"), "all")
               ? true
               : amz_refuse_value(q,
                                  "The IP address '%s' is outside the VPC: its Availability "
                                  "Zone must be 'all'",
                                  id);
}

static bool check_targets(struct amz_request *q, struct json_object *group,
                          struct json_object *targets)
{
    if (json_len(targets) == 0) {
        return amz_refuse_value(q, "At least one target must be specified");
    }
    bool by_address = str_eq(json_str(group, "TargetType"), "ip");
    for (size_t i = 0; i < json_len(targets); i++) {
        struct json_object *target = json_object_array_get_idx(targets, i);
        if (json_str(target, "QuicServerId")) {
            return amz_refuse_value(q, "A QUIC server ID needs a target group with the protocol "
                                       "QUIC");
        }
        if (!(by_address ? check_address(q, group, target) : check_instance(q, group, target))) {
            return false;
        }
    }
    return true;
}

static int64_t port_of(struct json_object *group, struct json_object *target)
{
    return json_int(target, "Port", json_int(group, "Port", 0));
}

/* Those that the group does not have yet; new reference. */
static struct json_object *new_ones(struct json_object *group, const struct map *index,
                                    struct json_object *targets)
{
    struct json_object *list = json_object_new_array();
    struct map *met = map_new(NULL);
    for (size_t i = 0; i < json_len(targets); i++) {
        struct json_object *t = json_object_array_get_idx(targets, i);
        char key[64];
        (void)snprintf(key, sizeof(key), "%s:%lld", json_str(t, "Id"),
                       (long long)port_of(group, t));
        struct json_object *have = indexed(index, json_str(t, "Id"), port_of(group, t));
        if ((!have || nlb_target_drains(have)) && !map_has(met, key)) {
            json_object_array_add(list, json_object_get(t));
        }
        map_set(met, key, NULL);
    }
    map_free(met);
    return list;
}

/* The targets of each balancer that uses the group stay within its quotas. */
static bool check_balancers(struct amz_request *q, const char *group, struct json_object *more)
{
    struct json_object *users = nlb_group_balancers(q->aws, group);
    bool fine = true;
    for (size_t i = 0; fine && i < json_len(users); i++) {
        fine = nlb_check_room(q, json_object_get_string(json_object_array_get_idx(users, i)), NULL,
                              more);
    }
    json_object_put(users);
    return fine;
}

static void set_state(struct json_object *item, const char *state, const char *reason,
                      const char *description)
{
    struct json_object *health = json_object_new_object();
    json_add_str(health, "State", state);
    json_add_str(health, "Reason", reason);
    json_add_str(health, "Description", description);
    json_add(item, "TargetHealth", health);
}

/* Which port of the target is asked. */
static void set_check(struct json_object *item, struct json_object *group)
{
    const char *check = str_or(json_str(group, "HealthCheckPort"), "traffic-port");
    char text[24];
    (void)snprintf(text, sizeof(text), "%lld", (long long)json_int(target_of(item), "Port", 0));
    json_add_str(item, "HealthCheckPort", str_eq(check, "traffic-port") ? text : check);
}

void nlb_check_targets(struct aws *aws, const struct amz_resource *group)
{
    struct amz_resource *health = amz_get(aws, AMZ_TARGET_HEALTH, group->id);
    for (size_t i = 0; health && i < json_len(health->body); i++) {
        set_check(json_object_array_get_idx(health->body, i), group->body);
    }
}

static struct json_object *new_target(struct json_object *group, struct json_object *from,
                                      int64_t port)
{
    struct json_object *target = json_copy(from), *item = json_object_new_object();
    json_add_int(target, "Port", port);
    json_add(item, "Target", target);
    set_check(item, group);
    struct json_object *compact = json_share(item); /* there may be two thousand in a group */
    json_object_put(item);
    return compact;
}

/* A shown state is replaced, never changed: thousands of targets share one. */
static void set_healthy(struct json_object *list, struct json_object *item)
{
    size_t n = json_len(list);
    struct json_object *last = n > 0 ? json_object_array_get_idx(list, n - 1) : NULL;
    struct json_object *health = json_member(last, "TargetHealth");
    bool plain = str_eq(json_str(health, "State"), "healthy") && !json_str(health, "Reason");
    if (plain) {
        json_add(item, "TargetHealth", json_object_get(health));
    } else {
        set_state(item, "healthy", NULL, NULL);
    }
}

/* `index` is of the group's list and stays so. */
static void put_target(struct aws *aws, struct amz_resource *health, struct map *index,
                       struct json_object *group, struct json_object *from)
{
    int64_t port = port_of(group, from), ms = lb_delay_ms(aws, "healthy_after_ms", NLB_HEALTHY_MS);
    struct json_object *item = indexed(index, json_str(from, "Id"), port);
    char key[64];
    if (item && !nlb_target_drains(item)) {
        return;
    }
    if (!item) {
        item = new_target(group, from, port);
        make_key(key, target_of(item));
        map_set(index, key, item);
        set_healthy(health->body, item);
        json_object_array_add(health->body, item);
    } else {
        set_state(item, "healthy", NULL, NULL);
    }
    if (ms > 0) {
        set_moment(health, target_of(item), lb_now_ms(aws) + ms);
    } else {
        drop_moment(health, target_of(item));
    }
}

/* The new ones of the request keep within the quotas. */
static bool check_room(struct amz_request *q, struct amz_resource *health, struct json_object *more)
{
    size_t n = json_len(more);
    if (n > 0 && (int64_t)(nlb_count_targets(health) + n) >
                     amz_quota(q->aws, "targets_per_group", NLB_GROUP_TARGETS_MAX)) {
        return amz_refuse(q, "TooManyTargets",
                          "The maximum number of targets of the target group '%s' has been reached",
                          health->id);
    }
    return n == 0 || check_balancers(q, health->id, more);
}

bool nlb_register_targets(struct amz_request *q)
{
    struct amz_resource *group = nlb_find_group(q, json_str(q->in, "TargetGroupArn"));
    struct json_object *targets = json_member(q->in, "Targets");
    if (!group || !check_targets(q, group->body, targets)) {
        return false;
    }
    struct amz_resource *health = health_of(q->aws, group->id);
    struct map *index = index_targets(health->body);
    struct json_object *more = new_ones(group->body, index, targets);
    bool fine = check_room(q, health, more);
    json_object_put(more);
    if (fine) {
        amz_unsettle(q->aws, health, health->body);
    }
    for (size_t i = 0; fine && i < json_len(targets); i++) {
        put_target(q->aws, health, index, group->body, json_object_array_get_idx(targets, i));
    }
    map_free(index);
    return fine;
}

bool nlb_deregister_targets(struct amz_request *q)
{
    struct amz_resource *group = nlb_find_group(q, json_str(q->in, "TargetGroupArn"));
    struct json_object *targets = json_member(q->in, "Targets");
    if (!group) {
        return false;
    }
    if (json_len(targets) == 0) {
        return amz_refuse_value(q, "At least one target must be specified");
    }
    struct amz_resource *health = health_of(q->aws, group->id);
    struct json_object *users = nlb_group_balancers(q->aws, group->id);
    int64_t ms = json_len(users) > 0 ? drain_ms(q->aws, group->id) : 0;
    json_object_put(users);
    struct map *index = index_targets(health->body);
    amz_unsettle(q->aws, health, health->body);
    for (size_t i = 0; i < json_len(targets); i++) {
        struct json_object *t = json_object_array_get_idx(targets, i);
        struct json_object *item = indexed(index, json_str(t, "Id"), port_of(group->body, t));
        if (item && !nlb_target_drains(item)) {
            set_state(item, "draining", draining, "Target deregistration is in progress");
            set_moment(health, target_of(item), lb_now_ms(q->aws) + ms);
        }
    }
    map_free(index);
    nlb_settle_targets(q->aws, health);
    return true;
}

/* --- health ----------------------------------------------------------------------------------- */

/* The zones in which a balancer of the group stands have this one (or balancing
 * goes across zones). */
static bool zone_is_enabled(struct aws *aws, struct json_object *users, const char *zone)
{
    for (size_t i = 0; i < json_len(users); i++) {
        const char *arn = json_object_get_string(json_object_array_get_idx(users, i));
        struct amz_resource *lb = amz_get(aws, AMZ_LOAD_BALANCER, arn);
        struct json_object *zones = lb ? json_member(lb->body, "AvailabilityZones") : NULL;
        if (zone[0] == '\0' || amz_find(zones, "ZoneName", zone, NULL)) {
            return true;
        }
    }
    return false;
}

/* Context of a description of targets. */
struct shown {
    struct amz_request *q;
    struct amz_resource *group, *health;
    struct json_object *users;
    const struct reach_answers *answers;
};

/* The health check fails because of what the node answers. */
static void show_answer(const struct shown *w, struct json_object *item, const char *id)
{
    struct reach_probe check =
        reach_elbv2_check(w->group->body, port_of(w->group->body, target_of(item)));
    check.ipv6 = str_eq(json_str(w->group->body, "IpAddressType"), "ipv6");
    if (lb_answers_check(w->q, w->answers, id, check)) {
        return;
    }
    if (check.kind == REACH_PROBE_HTTP) {
        set_state(item, "unhealthy", "Target.ResponseCodeMismatch",
                  "Health checks failed with these codes: [503]");
    } else {
        set_state(item, "unhealthy", "Target.FailedHealthChecks", "Health checks failed");
    }
}

/* The state as it is shown now, in place. */
static void show(const struct shown *w, struct json_object *item)
{
    struct aws *aws = w->q->aws;
    struct json_object *users = w->users;
    struct amz_resource *health = w->health;
    struct json_object *target = target_of(item);
    const char *id = json_str(target, "Id");
    if (!str_eq(json_str(json_member(item, "TargetHealth"), "State"), "healthy")) {
        return;
    }
    if (json_len(users) == 0) {
        set_state(item, "unused", "Target.NotInUse",
                  "Target group is not configured to receive traffic from the load balancer");
        return;
    }
    const char *state = str_has_prefix(id, "i-") ? amz_ec2_instance_state(aws, id) : "running";
    const char *zone = str_has_prefix(id, "i-") ? amz_ec2_instance_zone(aws, id) : "";
    const struct moment *m = find_moment(health, target);
    if (!str_eq(state, "running")) {
        char text[80];
        (void)snprintf(text, sizeof(text), "Target is in the %s state",
                       str_or(state, "terminated"));
        set_state(item, "unused", "Target.InvalidState", text);
    } else if (!zone_is_enabled(aws, users, zone)) {
        set_state(item, "unused", "Target.NotInUse",
                  "Target is in an Availability Zone that is not enabled for the load balancer");
    } else if (m && lb_now_ms(aws) < m->until_ms) {
        set_state(item, "initial", "Elb.RegistrationInProgress",
                  "Target registration is in progress");
    } else if (str_has_prefix(id, "i-")) {
        show_answer(w, item, id);
    }
}

static struct json_object *not_registered(struct json_object *group, struct json_object *asked)
{
    struct json_object *item = json_object_new_object(), *target = json_copy(asked);
    json_add_int(target, "Port", port_of(group, asked));
    json_add(item, "Target", target);
    set_state(item, "unused", "Target.NotRegistered",
              "Target is not registered to the target group");
    return item;
}

bool nlb_describe_health(struct amz_request *q)
{
    struct amz_resource *group = nlb_find_group(q, json_str(q->in, "TargetGroupArn"));
    if (!group) {
        return false;
    }
    struct amz_resource *health = amz_get(q->aws, AMZ_TARGET_HEALTH, group->id);
    struct json_object *asked = json_member(q->in, "Targets"), *seen = NULL;
    if (health) {
        nlb_settle_targets(q->aws, health);
        seen = amz_seen(q->aws, health);
    }
    struct json_object *users = nlb_group_balancers(q->aws, group->id);
    struct json_object *list = amz_list(q->out, "TargetHealthDescriptions");
    const struct shown shown = {q, group, health, users, lb_answers(q)};
    size_t n = json_len(asked) > 0 ? json_len(asked) : json_len(seen);
    for (size_t i = 0; i < n; i++) {
        struct json_object *item;
        if (json_len(asked) > 0) {
            struct json_object *t = json_object_array_get_idx(asked, i);
            item = find_target(seen, json_str(t, "Id"), port_of(group->body, t));
            item = item ? json_share(item) : not_registered(group->body, t);
        } else {
            item = json_share(json_object_array_get_idx(seen, i));
        }
        show(&shown, item);
        json_object_array_add(list, item);
    }
    json_object_put(users);
    return true;
}
