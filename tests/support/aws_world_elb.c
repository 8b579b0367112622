/* SPDX-License-Identifier: Apache-2.0 */
/* aws_world_elb.c: classic load balancers of aws_world.h.
 *
 * A back-end keeps its policies when its listener goes; a new TLS listener has AWS' own policy.
 * Two subnets of a zone, no subnet at all, a listener on a port that has one, and an undefined
 * policy are refused. */
#include "tests/support/aws_world.h"

#include <stdlib.h>
#include <string.h>

#define AWS_SSL_POLICY "ELBSecurityPolicy-2016-08"

static bool has(const struct aws_texts *items, const char *text)
{
    for (size_t i = 0; i < items->n; i++) {
        if (str_eq(items->items[i], text)) {
            return true;
        }
    }
    return false;
}

static struct aws_texts with(struct arena *a, const struct aws_texts *x, const char *text)
{
    const char **items = ARENA_ARRAY(a, const char *, x->n + 1);
    for (size_t i = 0; i < x->n; i++) {
        items[i] = x->items[i];
    }
    items[x->n] = text;
    return (struct aws_texts){items, x->n + 1};
}

static struct aws_texts without(struct arena *a, const struct aws_texts *x,
                                const struct aws_texts *y)
{
    const char **items = ARENA_ARRAY(a, const char *, x->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        if (!has(y, x->items[i])) {
            items[n++] = x->items[i];
        }
    }
    return (struct aws_texts){items, n};
}

static bool same(const struct aws_texts *x, const struct aws_texts *y)
{
    bool equal = x->n == y->n;
    for (size_t i = 0; equal && i < x->n; i++) {
        equal = has(y, x->items[i]);
    }
    return equal;
}

static struct aws_classic *balancer_of(struct aws_world_call *c)
{
    const char *name = aws_world_needed(c, "LoadBalancerName");
    for (size_t i = 0; i < c->w->n_classics; i++) {
        if (str_eq(c->w->classics[i].name, name)) {
            return &c->w->classics[i];
        }
    }
    (void)aws_world_refuse(c, ERR_NOT_FOUND, "LoadBalancerNotFound", "%s", name);
    return NULL;
}

static size_t at_of(const struct aws_world_call *c, const struct aws_classic *b)
{
    return (size_t)(b - c->w->classics);
}

/* ---- subnets and groups ---------------------------------------------------------------------- */

static void check_subnets(struct aws_world_call *c, const struct aws_texts *ids)
{
    for (size_t i = 0; i < ids->n; i++) {
        const struct aws_subnet *s = aws_world_subnet(c->w, ids->items[i]);
        if (s == NULL) {
            (void)aws_world_refuse(c, ERR_INVALID, "SubnetNotFound", "%s", ids->items[i]);
            return;
        }
        for (size_t k = 0; k < i; k++) {
            const struct aws_subnet *t = aws_world_subnet(c->w, ids->items[k]);
            if (t != NULL && str_eq(s->zone, t->zone)) {
                (void)aws_world_refuse(c, ERR_INVALID, "InvalidConfigurationRequest",
                                       "%s and %s are both in %s", s->id, t->id, s->zone);
            }
        }
    }
    if (ids->n == 0) {
        (void)aws_world_refuse(c, ERR_INVALID, "InvalidConfigurationRequest", "no subnet");
    }
}

static void attach(struct aws_world_call *c)
{
    struct aws_classic *b = balancer_of(c);
    struct aws_texts more = aws_world_list(c, "Subnets.member.%zu");
    if (b == NULL) {
        return;
    }
    struct aws_texts all = b->subnets;
    for (size_t i = 0; i < more.n; i++) {
        if (!has(&all, more.items[i])) {
            all = with(c->w->a, &all, more.items[i]);
            c->changed = true;
        }
    }
    check_subnets(c, &all);
    b->subnets = aws_world_sorted(c->w->a, all);
}

static void detach(struct aws_world_call *c)
{
    struct aws_classic *b = balancer_of(c);
    struct aws_texts less = aws_world_list(c, "Subnets.member.%zu");
    if (b == NULL) {
        return;
    }
    struct aws_texts left = without(c->w->a, &b->subnets, &less);
    check_subnets(c, &left);
    c->changed = left.n + less.n == b->subnets.n && less.n > 0;
    b->subnets = left;
}

static void check_groups(struct aws_world_call *c, const struct aws_texts *ids)
{
    for (size_t i = 0; i < ids->n; i++) {
        if (aws_world_group(c->w, ids->items[i]) == NULL) {
            (void)aws_world_refuse(c, ERR_INVALID, "InvalidSecurityGroup", "%s", ids->items[i]);
        }
    }
    if (ids->n == 0 || aws_world_sorted(c->w->a, *ids).n != ids->n) {
        (void)aws_world_refuse(c, ERR_BUG, "MissingParameter", "SecurityGroups, each once");
    }
}

static void apply_groups(struct aws_world_call *c)
{
    struct aws_classic *b = balancer_of(c);
    struct aws_texts ids = aws_world_list(c, "SecurityGroups.member.%zu");
    check_groups(c, &ids);
    if (b != NULL) {
        c->changed = !same(&b->groups, &ids);
        b->groups = ids;
    }
}

/* ---- listeners ------------------------------------------------------------------------------- */

static bool is_one_of(const char *word, const char *words)
{
    const char *at = strstr(words, word);
    return at != NULL && word[0] != '\0';
}

static bool ends_tls(const char *protocol)
{
    return str_eq(protocol, "SSL") || str_eq(protocol, "HTTPS");
}

static bool read_listener(struct aws_world_call *c, size_t nth, struct aws_classic_listener *ret)
{
    static const char *const aws_policy[] = {AWS_SSL_POLICY};
    const char *head = arena_printf(c->w->a, "Listeners.member.%zu", nth);
    const char *protocol = aws_world_param(c, arena_printf(c->w->a, "%s.Protocol", head));
    if (protocol == NULL) {
        return false;
    }
    *ret = (struct aws_classic_listener){.protocol = str_upper(c->w->a, protocol)};
    ret->instance_protocol =
        str_upper(c->w->a, aws_world_needed(c, arena_printf(c->w->a, "%s.InstanceProtocol", head)));
    (void)aws_world_int(c, arena_printf(c->w->a, "%s.LoadBalancerPort", head), &ret->port);
    (void)aws_world_int(c, arena_printf(c->w->a, "%s.InstancePort", head), &ret->instance_port);
    ret->certificate = aws_world_param(c, arena_printf(c->w->a, "%s.SSLCertificateId", head));
    bool tls = ends_tls(ret->protocol);
    if (tls) {
        ret->policies = (struct aws_texts){aws_policy, 1};
    }
    if (!is_one_of(ret->protocol, "TCP SSL HTTP HTTPS") ||
        !is_one_of(ret->instance_protocol, "TCP SSL HTTP HTTPS") || ret->port < 1 ||
        ret->instance_port < 1 || tls != (ret->certificate != NULL)) {
        (void)aws_world_refuse(c, ERR_INVALID, "InvalidConfigurationRequest", "listener %d",
                               (int)ret->port);
    }
    return true;
}

static int by_port(const void *x, const void *y)
{
    const struct aws_classic_listener *a = x;
    const struct aws_classic_listener *b = y;
    return (a->port > b->port) - (a->port < b->port);
}

static void add_listeners(struct aws_world_call *c, struct aws_classic *b)
{
    struct aws_classic_listener *all =
        ARENA_ARRAY(c->w->a, struct aws_classic_listener, b->n_listeners + c->n_pairs + 1);
    size_t n = b->n_listeners;
    if (n > 0) {
        memcpy(all, b->listeners, n * sizeof *all);
    }
    for (size_t nth = 1; read_listener(c, nth, &all[n]); nth++, n++) {
        for (size_t i = 0; i < n; i++) {
            if (all[i].port == all[n].port) {
                (void)aws_world_refuse(c, ERR_EXISTS, "DuplicateListener", "%d", (int)all[n].port);
            }
        }
    }
    if (n == b->n_listeners) {
        (void)aws_world_refuse(c, ERR_BUG, "MissingParameter", "Listeners");
    }
    qsort(all, n, sizeof *all, by_port);
    b->listeners = all;
    b->n_listeners = n;
    c->changed = true;
}

static void create_listeners(struct aws_world_call *c)
{
    struct aws_classic *b = balancer_of(c);
    if (b != NULL) {
        add_listeners(c, b);
    }
}

static void delete_listeners(struct aws_world_call *c)
{
    struct aws_classic *b = balancer_of(c);
    struct aws_texts ports = aws_world_list(c, "LoadBalancerPorts.member.%zu");
    if (b == NULL) {
        return;
    }
    struct aws_classic_listener *left =
        ARENA_ARRAY(c->w->a, struct aws_classic_listener, b->n_listeners + 1);
    size_t n = 0;
    for (size_t i = 0; i < b->n_listeners; i++) {
        const char *port = arena_printf(c->w->a, "%d", (int)b->listeners[i].port);
        if (!has(&ports, port)) {
            left[n++] = b->listeners[i];
        }
    }
    c->changed = ports.n > 0 && n + ports.n == b->n_listeners;
    b->listeners = left;
    b->n_listeners = n;
}

/* ---- policies -------------------------------------------------------------------------------- */

static void create_policy(struct aws_world_call *c)
{
    struct aws_classic *b = balancer_of(c);
    const char *name = aws_world_needed(c, "PolicyName");
    const char *type = aws_world_needed(c, "PolicyTypeName");
    (void)aws_world_needed(c, "PolicyAttributes.member.1.AttributeName");
    (void)aws_world_needed(c, "PolicyAttributes.member.1.AttributeValue");
    if (!is_one_of(type, "ProxyProtocolPolicyType SSLNegotiationPolicyType")) {
        (void)aws_world_refuse(c, ERR_INVALID, "PolicyTypeNotFound", "%s", type);
    }
    if (b == NULL || has(&b->other_policies, name)) {
        (void)aws_world_refuse(c, ERR_EXISTS, "DuplicatePolicyName", "%s", name);
        return;
    }
    b->other_policies = aws_world_sorted(c->w->a, with(c->w->a, &b->other_policies, name));
    c->changed = true;
}

/* "PolicyNames=" is an empty list. */
static struct aws_texts policy_names(struct aws_world_call *c, const struct aws_classic *b)
{
    struct aws_texts names = aws_world_list(c, "PolicyNames.member.%zu");
    if (names.n == 0 && aws_world_param(c, "PolicyNames") == NULL) {
        (void)aws_world_refuse(c, ERR_BUG, "MissingParameter", "PolicyNames");
    }
    for (size_t i = 0; b != NULL && i < names.n; i++) {
        if (!has(&b->other_policies, names.items[i])) {
            (void)aws_world_refuse(c, ERR_NOT_FOUND, "PolicyNotFound", "%s", names.items[i]);
        }
    }
    return names;
}

static int by_instance_port(const void *x, const void *y)
{
    const struct aws_classic_backend *a = x;
    const struct aws_classic_backend *b = y;
    return (a->port > b->port) - (a->port < b->port);
}

static void set_backend(struct aws_world_call *c)
{
    struct aws_classic *b = balancer_of(c);
    struct aws_texts names = policy_names(c, b);
    int32_t port = 0;
    (void)aws_world_int(c, "InstancePort", &port);
    if (b == NULL) {
        return;
    }
    struct aws_classic_backend *all =
        ARENA_ARRAY(c->w->a, struct aws_classic_backend, b->n_backends + 1);
    size_t n = 0;
    struct aws_texts had = {0};
    for (size_t i = 0; i < b->n_backends; i++) {
        if (b->backends[i].port == port) {
            had = b->backends[i].policies;
        } else {
            all[n++] = b->backends[i];
        }
    }
    all[n++] = (struct aws_classic_backend){port, names};
    qsort(all, n, sizeof *all, by_instance_port);
    c->changed = !same(&had, &names);
    b->backends = all;
    b->n_backends = n;
}

static void set_certificate(struct aws_world_call *c)
{
    struct aws_classic *b = balancer_of(c);
    const char *certificate = aws_world_param(c, "SSLCertificateId");
    int32_t port = 0;
    (void)aws_world_int(c, "LoadBalancerPort", &port);
    if (b == NULL) {
        return;
    }
    struct aws_classic_listener *all =
        ARENA_ARRAY(c->w->a, struct aws_classic_listener, b->n_listeners + 1);
    for (size_t i = 0; i < b->n_listeners; i++) {
        all[i] = b->listeners[i];
        if (all[i].port == port && !str_is_empty(all[i].certificate)) {
            c->changed = !str_eq(all[i].certificate, certificate);
            all[i].certificate = certificate;
        }
    }
    b->listeners = all;
}

static void set_listener(struct aws_world_call *c)
{
    struct aws_classic *b = balancer_of(c);
    struct aws_texts names = policy_names(c, b);
    int32_t port = 0;
    (void)aws_world_int(c, "LoadBalancerPort", &port);
    if (b == NULL) {
        return;
    }
    struct aws_classic_listener *all =
        ARENA_ARRAY(c->w->a, struct aws_classic_listener, b->n_listeners + 1);
    bool found = false;
    for (size_t i = 0; i < b->n_listeners; i++) {
        all[i] = b->listeners[i];
        if (all[i].port == port) {
            found = true;
            c->changed = !same(&all[i].policies, &names);
            all[i].policies = names;
        }
    }
    if (!found) {
        (void)aws_world_refuse(c, ERR_NOT_FOUND, "ListenerNotFound", "%d", (int)port);
    }
    b->listeners = all;
}

/* ---- settings -------------------------------------------------------------------------------- */

static void configure_health(struct aws_world_call *c)
{
    struct aws_classic *b = balancer_of(c);
    struct aws_classic_health h = {.known = true};
    const char *target = aws_world_needed(c, "HealthCheck.Target");
    const char *colon = strchr(target, ':');
    (void)aws_world_int(c, "HealthCheck.Interval", &h.interval);
    (void)aws_world_int(c, "HealthCheck.Timeout", &h.timeout);
    (void)aws_world_int(c, "HealthCheck.UnhealthyThreshold", &h.unhealthy);
    (void)aws_world_int(c, "HealthCheck.HealthyThreshold", &h.healthy);
    if (b == NULL || colon == NULL) {
        (void)aws_world_refuse(c, ERR_INVALID, "ValidationError", "%s", target);
        return;
    }
    char *protocol = str_upper(c->w->a, arena_strndup(c->w->a, target, (size_t)(colon - target)));
    h.target = arena_printf(c->w->a, "%s%s", protocol, colon);
    const struct aws_classic_health *was = &b->health;
    c->changed = !was->known || !str_eq(was->target, h.target) || was->interval != h.interval ||
                 was->timeout != h.timeout || was->unhealthy != h.unhealthy ||
                 was->healthy != h.healthy;
    b->health = h;
}

static void set_bool(struct aws_world_call *c, const char *name, int *at)
{
    const char *text = aws_world_param(c, arena_printf(c->w->a, "LoadBalancerAttributes.%s", name));
    int value = str_eq(text, "true");
    if (text != NULL) {
        c->changed |= value != *at;
        *at = value;
    }
}

static void set_int(struct aws_world_call *c, const char *name, int32_t *at)
{
    int32_t value = *at;
    (void)aws_world_int(c, arena_printf(c->w->a, "LoadBalancerAttributes.%s", name), &value);
    c->changed |= value != *at;
    *at = value;
}

static void set_text(struct aws_world_call *c, const char *name, const char **at)
{
    const char *text = aws_world_param(c, arena_printf(c->w->a, "LoadBalancerAttributes.%s", name));
    if (text != NULL) {
        c->changed |= !str_eq(text, *at);
        *at = text;
    }
}

static void modify_attributes(struct aws_world_call *c)
{
    const struct aws_classic *b = balancer_of(c);
    if (b == NULL) {
        return;
    }
    struct aws_classic_attributes *x = &c->w->classic_attributes[at_of(c, b)];
    set_bool(c, "AccessLog.Enabled", &x->access_log);
    set_int(c, "AccessLog.EmitInterval", &x->emit_interval);
    set_text(c, "AccessLog.S3BucketName", &x->bucket);
    set_text(c, "AccessLog.S3BucketPrefix", &x->prefix);
    set_bool(c, "ConnectionDraining.Enabled", &x->draining);
    set_int(c, "ConnectionDraining.Timeout", &x->draining_timeout);
    set_int(c, "ConnectionSettings.IdleTimeout", &x->idle_timeout);
    set_bool(c, "CrossZoneLoadBalancing.Enabled", &x->cross_zone);
}

static void add_tags(struct aws_world_call *c)
{
    const char *name = aws_world_needed(c, "LoadBalancerNames.member.1");
    struct aws_tags tags = aws_world_pairs(c, "Tags.member");
    for (size_t i = 0; i < c->w->n_classics; i++) {
        if (str_eq(c->w->classics[i].name, name)) {
            struct aws_tags *at = &c->w->classic_tags[i];
            *at = aws_world_merged(c->w->a, at, &tags);
            c->changed = tags.n > 0; /* present certificates are not checked */
        }
    }
    if (!c->changed) {
        (void)aws_world_refuse(c, ERR_CONFLICT, "LoadBalancerNotFound", "%s", name);
    }
}

/* ---- instances ------------------------------------------------------------------------------- */

static void change_instances(struct aws_world_call *c, bool come)
{
    struct aws_classic *b = balancer_of(c);
    struct aws_texts ids = aws_world_list(c, "Instances.member.%zu.InstanceId");
    for (size_t i = 0; i < ids.n; i++) {
        if (aws_world_instance(c->w, ids.items[i]) == NULL) {
            (void)aws_world_refuse(c, ERR_INVALID, "InvalidInstance", "%s", ids.items[i]);
        }
    }
    if (ids.n == 0 || ids.n > AWS_INSTANCES_PER_CALL) {
        (void)aws_world_refuse(c, ERR_BUG, "ValidationError", "%zu instances", ids.n);
    }
    if (b == NULL) {
        return;
    }
    struct aws_texts all = without(c->w->a, &b->instances, &ids);
    c->changed = come ? all.n == b->instances.n : all.n + ids.n == b->instances.n;
    for (size_t i = 0; come && i < ids.n; i++) {
        all = with(c->w->a, &all, ids.items[i]);
    }
    b->instances = aws_world_sorted(c->w->a, all);
}

static void register_instances(struct aws_world_call *c)
{
    change_instances(c, true);
}

static void deregister_instances(struct aws_world_call *c)
{
    change_instances(c, false);
}

/* ---- balancers ------------------------------------------------------------------------------- */

static void create(struct aws_world_call *c)
{
    struct aws_world *w = c->w;
    const char *name = aws_world_needed(c, "LoadBalancerName");
    const char *scheme = aws_world_param(c, "Scheme");
    struct aws_classic b = {
        .name = name,
        .vpc = w->vpc,
        .scheme = scheme != NULL ? scheme : "internet-facing",
        .dns = arena_printf(w->a, "%s-1.us-east-1.elb.amazonaws.com", name),
        .subnets = aws_world_list(c, "Subnets.member.%zu"),
        .groups = aws_world_list(c, "SecurityGroups.member.%zu"),
    };
    struct aws_tags tags = aws_world_pairs(c, "Tags.member");
    check_subnets(c, &b.subnets);
    check_groups(c, &b.groups);
    add_listeners(c, &b);
    for (size_t i = 0; i < w->n_classics; i++) {
        if (str_eq(w->classics[i].name, name)) {
            (void)aws_world_refuse(c, ERR_EXISTS, "DuplicateLoadBalancerName", "%s", name);
        }
    }
    if (aws_world_failed(c) || w->n_classics == AWS_WORLD_MAX || tags.n == 0) {
        (void)aws_world_refuse(c, ERR_QUOTA, "TooManyLoadBalancers", "%zu", w->n_classics);
        return;
    }
    b.subnets = aws_world_sorted(w->a, b.subnets);
    b.health = (struct aws_classic_health){
        .known = true,
        .target = arena_printf(w->a, "TCP:%d", (int)b.listeners[0].instance_port),
        .interval = 30,
        .timeout = 5,
        .unhealthy = 2,
        .healthy = 10,
    };
    w->classic_tags[w->n_classics] = tags;
    w->classic_attributes[w->n_classics] = (struct aws_classic_attributes){
        .emit_interval = -1, .draining_timeout = 300, .idle_timeout = 60};
    w->classics[w->n_classics++] = b;
    aws_world_output(c, "DNSName", b.dns);
}

static void delete(struct aws_world_call *c)
{
    struct aws_world *w = c->w;
    const struct aws_classic *b = balancer_of(c);
    if (b == NULL) {
        return;
    }
    size_t at = at_of(c, b);
    size_t rest = w->n_classics - at - 1;
    memmove(&w->classics[at], &w->classics[at + 1], rest * sizeof w->classics[0]);
    memmove(&w->classic_tags[at], &w->classic_tags[at + 1], rest * sizeof w->classic_tags[0]);
    memmove(&w->classic_attributes[at], &w->classic_attributes[at + 1],
            rest * sizeof w->classic_attributes[0]);
    w->n_classics--;
    c->changed = true;
}

void aws_world_elb(struct aws_world_call *c)
{
    static const struct {
        const char *name;
        void (*run)(struct aws_world_call *c);
    } actions[] = {
        {"AddTags", add_tags},
        {"ApplySecurityGroupsToLoadBalancer", apply_groups},
        {"AttachLoadBalancerToSubnets", attach},
        {"ConfigureHealthCheck", configure_health},
        {"CreateLoadBalancer", create},
        {"CreateLoadBalancerListeners", create_listeners},
        {"CreateLoadBalancerPolicy", create_policy},
        {"DeleteLoadBalancer", delete},
        {"DeleteLoadBalancerListeners", delete_listeners},
        {"DeregisterInstancesFromLoadBalancer", deregister_instances},
        {"DetachLoadBalancerFromSubnets", detach},
        {"ModifyLoadBalancerAttributes", modify_attributes},
        {"RegisterInstancesWithLoadBalancer", register_instances},
        {"SetLoadBalancerListenerSSLCertificate", set_certificate},
        {"SetLoadBalancerPoliciesForBackendServer", set_backend},
        {"SetLoadBalancerPoliciesOfListener", set_listener},
    };
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (str_eq(actions[i].name, c->action)) {
            actions[i].run(c);
            return;
        }
    }
    (void)aws_world_refuse(c, ERR_BUG, "InvalidAction", "of Elastic Load Balancing");
}
