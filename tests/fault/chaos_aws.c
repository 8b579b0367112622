/* SPDX-License-Identifier: Apache-2.0 */
/* chaos_aws.c: fault-chaos in AWS: network and classic balancers side by side (chaos.h).
 *
 * The seed chooses a family: what the cloud-config says, how late and how strictly the simulated
 * AWS answers, how many Services there are.  What a Service is once and for all (kind, scheme, tags
 * of a network balancer) is chosen when it comes, so that a cloud that is rebuilt is the same.  A
 * Service that asks for the other kind is refused for as long as it does; before the end it asks
 * for its own again. */
#include <stdlib.h>
#include <string.h>

#include "sim/aws/aws.h"
#include "sim/aws/ec2/ec2.h"
#include "tests/fault/chaos.h"
#include "tests/fault/world.h"
#include "tests/fault/writer_aws.h"

#define NODES_MIN 2
#define NODES_MAX 9
#define NOTE(x)   "\"service.beta.kubernetes.io/aws-load-balancer-" x "\""

/* Users' groups, which Services name: those of tests/data/fault/foreign-aws.json. */
#define USERS_GROUP_1 "sg-0f000000000000001"
#define USERS_GROUP_2 "sg-0f000000000000002"
#define HEALTH_RULE   "kubernetes.io/rule/nlb/health="
#define SHARED_PORT   10256 /* of probe mode Shared */
#define CERTIFICATE   "arn:aws:acm:us-east-1:123456789012:certificate/chaos"

/* A kind of episode; the seed chooses one. */
struct family {
    const char *name;
    const char *config;   /* of [Global]; NULL: nothing */
    const char *settings; /* "sim.aws"; NULL: none */
    bool managed;         /* network balancers have groups */
    bool no_ingress;      /* nodes' groups are not trimtab's */
    size_t services;      /* at once */
    size_t at_first;
    int actions;
    int64_t start_ms; /* what a process did right before the next one came, AWS may not show yet */
};
#define QUOTA(n) "\"quotas\":{\"rules_per_group\":" #n "}"
static const struct family families[] = {
    {.name = "plain", .settings = "{" QUOTA(300) "}", .services = 6, .actions = 60},
    {.name = "managed",
     .config = "NLBSecurityGroupMode = Managed",
     .settings = "{" QUOTA(300) "}",
     .managed = true,
     .services = 6,
     .actions = 60},
    {.name = "late", /* answers are behind, groups are held */
     .config = "NLBSecurityGroupMode = Managed",
     .settings = "{" QUOTA(300) ",\"consistency_ms\":3000,\"group_release_ms\":90000,"
                                "\"target_group_release_ms\":15000,"
                                "\"draining_ms\":30000,\"healthy_after_ms\":20000}",
     .managed = true,
     .services = 6,
     .actions = 60,
     .start_ms = 5000}, /* an unreleased lease takes longer than that */
    {.name = "strict",  /* few calls, small pages */
     .config = "ClusterServiceLoadBalancerHealthProbeMode = Shared",
     .settings = "{" QUOTA(300) ",\"page_size\":2,\"throttle\":{"
                                "\"ec2\":{\"reads\":{\"bucket\":20,\"per_second\":5},"
                                "\"heavy\":{\"bucket\":5,\"per_second\":1}},"
                                "\"elbv2\":{\"writes\":{\"bucket\":5,\"per_second\":2}}}}",
     .services = 6,
     .actions = 60},
    {.name = "shared-group",
     .config = "ElbSecurityGroup = " USERS_GROUP_2,
     .settings = "{" QUOTA(300) ",\"group_release_ms\":40000}",
     .services = 6,
     .actions = 60},
    {.name = "no-ingress",
     .config = "DisableSecurityGroupIngress = true\nNLBSecurityGroupMode = Managed",
     .managed = true,
     .no_ingress = true,
     .services = 6,
     .actions = 60},
};

/* One in this number of episodes has a large cluster. */
#define LARGE_EVERY 24
static const struct family large = {
    .name = "large",
    .config = "NLBSecurityGroupMode = Managed",
    .settings = "{\"quotas\":{\"rules_per_group\":2000,\"load_balancers\":200,"
                "\"classic_load_balancers\":200,\"groups_per_vpc\":500},"
                "\"group_release_ms\":20000}",
    .managed = true,
    .services = 110,
    .at_first = 100,
    .actions = 60,
};

struct episode_aws {
    const struct family *family;
    struct writer_aws *writer;
};

static struct episode_aws *own_of(const struct chaos *c)
{
    return c->own;
}

static void choose(struct chaos *c, uint64_t seed)
{
    struct episode_aws *own = xcalloc(1, sizeof(*own));
    const struct family *f =
        seed % LARGE_EVERY == 0 ? &large : &families[seed % ARRAY_LEN(families)];
    own->family = f;
    own->writer = writer_aws_new(rng_u64(c->rng));
    c->own = own;
    c->n_services = f->services;
    c->n_at_first = f->at_first;
    c->actions = f->actions;
    c->deny = f->no_ingress;
    c->s.config = f->config;
    c->s.start_ms = f->start_ms;
    c->s.settings = f->settings;
    str_appendf(&c->story, "family %s\n", f->name);
}

static void prepare(struct chaos *c, struct json_object *world)
{
    if (c->s.settings != NULL) {
        stage_set(&c->s, world);
    }
}

static void listen(struct chaos *c)
{
    probe_listen(c->s.probe, writer_aws_before_call, own_of(c)->writer);
}

/* ---- Services -------------------------------------------------------------------------------- */

static const char *text_or_null(struct arena *a, const char *text)
{
    return text == NULL ? "null" : arena_printf(a, "\"%s\"", text);
}

static const char *annotations(struct arena *a, const struct wish *w)
{
    bool asks_nlb = w->nlb != w->flipped;
    const char *group = w->groups == 0 ? NULL : w->groups == 1 ? USERS_GROUP_1 : USERS_GROUP_2;
    const char *tags = w->tags == 0 ? NULL : w->tags == 1 ? "team=a" : "team=a,tier=web";
    return arena_printf(
        a,
        "{" NOTE("type") ":%s," NOTE("internal") ":%s," NOTE("ssl-cert") ":%s," NOTE(
            "backend-protocol") ":%s," NOTE("security-groups") ":%s," NOTE("additional-resource-"
                                                                           "tags") ":%s," NOTE("hea"
                                                                                               "lth"
                                                                                               "che"
                                                                                               "ck-"
                                                                                               "pro"
                                                                                               "toc"
                                                                                               "ol") ":%s," NOTE("healthcheck-interval") ":%s," NOTE("cross-zone-load-balancing-enabled") ":%s," NOTE("proxy-protocol") ":%s}",
        text_or_null(a, asks_nlb ? "nlb" : NULL), text_or_null(a, w->internal ? "true" : NULL),
        text_or_null(a, w->tls ? CERTIFICATE : NULL), text_or_null(a, w->back_tls ? "ssl" : NULL),
        text_or_null(a, group), text_or_null(a, tags), text_or_null(a, w->checked ? "HTTP" : NULL),
        text_or_null(a, w->checked ? "20" : NULL), text_or_null(a, w->cross_zone ? "true" : NULL),
        text_or_null(a, w->proxy ? "*" : NULL));
}

static void fit(struct chaos *c, struct wish *w)
{
    w->sticky = false; /* is refused */
    w->udp = w->udp && w->nlb;
    w->tls = w->tls && !w->udp;
    w->back_tls = w->back_tls && w->tls;
    w->proxy = w->proxy && !w->nlb;
    if (w->nlb && !own_of(c)->family->managed) {
        w->groups = 0;
    }
    w->was_none = w->was_none || w->cluster_ip;
    w->flipped = w->flipped && !w->was_none;
}

static void first(struct chaos *c, struct wish *w)
{
    w->nlb = chaos_one_in(c, 2);
    w->internal = chaos_one_in(c, 4);
    w->tags = (unsigned)chaos_below(c, 3);
    w->tls = chaos_one_in(c, 4);
}

static bool has_balancer(struct chaos *c, const struct wish *w)
{
    struct json_object *services = rig_services(c->s.rig);
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *s = json_object_array_get_idx(services, i);
        if (str_eq(json_str(json_member(s, "metadata"), "name"), w->name)) {
            return world_published_address(s) != NULL;
        }
    }
    return false;
}

static bool special(struct chaos *c, struct wish *w)
{
    switch (chaos_below(c, 7)) {
    case 0:
        w->flipped = !w->flipped && has_balancer(c, w);
        break;
    case 1:
        w->tls = !w->tls;
        w->back_tls = chaos_one_in(c, 2);
        break;
    case 2:
        w->groups = (unsigned)chaos_below(c, 3);
        break;
    case 3:
        w->tags += !w->nlb && w->tags < 2;
        break;
    case 4:
        w->checked = !w->checked;
        break;
    case 5:
        w->cross_zone = !w->cross_zone;
        break;
    default:
        w->proxy = !w->proxy;
        break;
    }
    return false;
}

static int change_nodes(struct chaos *c)
{
    return chaos_some_nodes(c, NODES_MIN, NODES_MAX);
}

/* ---- machines -------------------------------------------------------------------------------- */

struct machine_change {
    const char *id;
    const char *state;
};

static void set_state(struct sim *s, void *arg)
{
    const struct machine_change *m = arg;
    (void)amz_ec2_set_instance_state(sim_module_state(s, "aws"), m->id, m->state);
}

/* A node's machine stops, or continues; one in four is terminated, and its node goes only later. */
static int change_machine(struct chaos *c)
{
    struct json_object *nodes = json_path(rig_world(c->s.rig), "kubernetes.nodes");
    size_t n = json_len(nodes);
    struct json_object *node = json_object_array_get_idx(nodes, chaos_below(c, n));
    const char *provider = str_nonnull(json_str(json_member(node, "spec"), "providerID"));
    const char *slash = strrchr(provider, '/');
    struct machine_change m = {.id = slash == NULL ? "" : slash + 1};
    m.state = chaos_one_in(c, 2) ? "stopped" : "running";
    if (n > NODES_MIN + 1 && chaos_one_in(c, 4)) {
        m.state = "terminated";
    }
    str_appendf(&c->story, "machine %s %s\n", m.id, m.state);
    rig_in_sim(c->s.rig, set_state, &m);
    if (!str_eq(m.state, "terminated")) {
        return ERR_OK;
    }
    int rc = stage_live(&c->s, chaos_one_in(c, 2) ? 0 : RIG_SOON);
    const char *name = json_str(json_member(node, "metadata"), "name");
    return rc == ERR_OK ? chaos_step(c, STEP_REMOVE_NODE, name, NULL) : rc;
}

/* ---- what AWS may say ------------------------------------------------------------------------ */

/* Codes that come for reasons of its own, and answers that come late or never. */
static int odd_answers(struct chaos *c)
{
    static const char *const odd[] = {
        "{\"match\":{\"op\":\"ec2.*\"},\"count\":8,\"do\":\"throttle\"}",
        "{\"match\":{\"op\":\"elb.*\"},\"count\":8,\"do\":\"throttle\"}",
        "{\"match\":{\"op\":\"elbv2.*\"},\"count\":8,\"do\":\"throttle\"}",
        "{\"match\":{\"op\":\"ec2.Delete*\"},\"count\":3,\"do\":\"refuse\",\"status\":400,"
        "\"body\":{\"Code\":\"DependencyViolation\",\"Message\":\"Not now.\"}}",
        "{\"match\":{\"op\":\"ec2.Authorize*\"},\"count\":2,\"do\":\"refuse\",\"status\":400,"
        "\"body\":{\"Code\":\"InvalidGroup.NotFound\",\"Message\":\"Not yet.\"}}",
        "{\"match\":{\"op\":\"elbv2.Delete*\"},\"count\":2,\"do\":\"refuse\",\"status\":400,"
        "\"body\":{\"Code\":\"ResourceInUse\",\"Message\":\"Not now.\"}}",
        "{\"match\":{\"op\":\"elb*.Create*\"},\"count\":2,\"do\":\"lose\"}",
        "{\"match\":{\"op\":\"ec2.*Ingress\"},\"count\":2,\"do\":\"lose\"}",
        "{\"match\":{\"op\":\"elb*\"},\"count\":10,\"do\":\"delay\",\"ms\":20}",
        "{\"match\":{\"op\":\"ec2.*\"},\"count\":3,\"do\":\"close\"}",
    };
    const char *fault = odd[chaos_below(c, ARRAY_LEN(odd))];
    str_appendf(&c->story, "fault %s\n", fault);
    return rig_fault(c->s.rig, fault, NULL, c->s.err);
}

static void run_again(struct sim *s, void *arg)
{
    struct aws *aws = sim_module_state(s, "aws");
    (void)arg;
    for (struct amz_resource *r = amz_first(aws, AMZ_INSTANCE); r != NULL; r = r->next) {
        if (str_eq(json_str(json_member(r->body, "State"), "Name"), "stopped")) {
            (void)amz_ec2_set_instance_state(aws, r->id, "running");
        }
    }
}

static int meddle(struct chaos *c)
{
    str_appendf(&c->story, "somebody edits groups or tags\n");
    writer_aws_meddle(own_of(c)->writer, c->s.rig);
    return ERR_OK;
}

static const struct chaos_action more[] = {
    {change_machine, 5},
    {odd_answers, 6},
    {meddle, 5},
};

/* ---- the end --------------------------------------------------------------------------------- */

/* Each Service asks for what it can have.  Machines run: one that stopped stays a target where
 * it was one. */
static void others(struct chaos *c, bool act)
{
    writer_aws_pause(own_of(c)->writer, c->s.rig, !act);
}

static int last(struct chaos *c)
{
    int rc = ERR_OK;
    rig_in_sim(c->s.rig, run_again, NULL);
    for (size_t i = 0; i < c->n_services && rc == ERR_OK; i++) {
        struct wish *w = &c->wishes[i];
        if (w->name[0] != '\0' && w->flipped) {
            w->flipped = false;
            rc = chaos_edit_to(c, w);
        }
    }
    return rc;
}

/* Nothing of the other writer's was lost.  He goes, so that a world without him can be compared;
 * what he has spoilt, and machines that stopped, are noticed when Services are checked again. */
static int part(struct chaos *c)
{
    struct stage *s = &c->s;
    struct writer_aws *w = own_of(c)->writer;
    int rc = writer_aws_check(w, s->rig, s->a, s->err);
    writer_aws_leave(w, s->rig);
    rc = rc == ERR_OK ? stage_restart(s) : rc;
    return rc == ERR_OK ? stage_settle(s, RIG_LATER) : rc;
}

/* A port at which several balancers ask is open under the name of the first that came. */
static void level_rules(struct json_object *group)
{
    struct json_object *permissions = json_member(group, "IpPermissions");
    for (size_t i = 0; i < json_len(permissions); i++) {
        struct json_object *p = json_object_array_get_idx(permissions, i);
        struct json_object *ranges = json_member(p, "IpRanges");
        for (size_t k = 0; k < json_len(ranges); k++) {
            struct json_object *range = json_object_array_get_idx(ranges, k);
            if (str_has_prefix(str_nonnull(json_str(range, "Description")), HEALTH_RULE) &&
                json_int(p, "FromPort", 0) == SHARED_PORT) {
                json_add_str(range, "Description", HEALTH_RULE "any");
            }
        }
    }
}

/* AWS gives a classic balancer with TLS its default policy, which stays when TLS has gone. */
static void level_policies(struct json_object *world)
{
    struct json_object *balancers = json_path(world, "aws.elb.LoadBalancerDescriptions");
    for (size_t i = 0; i < json_len(balancers); i++) {
        struct json_object *policies =
            json_member(json_object_array_get_idx(balancers, i), "Policies");
        if (policies != NULL) {
            json_object_object_del(policies, "OtherPolicies");
        }
    }
    struct json_object *elb = json_path(world, "aws.elb");
    if (elb != NULL) {
        json_object_object_del(elb, "PolicyDescriptions");
    }
}

/* State that depends on the history: targets that drain, members of a health check that stay as
 * they were, names. */
static void level(struct arena *a, struct json_object *world)
{
    (void)a;
    struct json_object *security_groups = json_path(world, "aws.ec2.SecurityGroups");
    for (size_t i = 0; i < json_len(security_groups); i++) {
        struct json_object *group = json_object_array_get_idx(security_groups, i);
        struct json_object *tags = json_member(group, "Tags");
        if (tags != NULL) { /* those of an annotation that came later are on the balancer alone */
            amz_tags_drop(tags, "team", NULL);
            amz_tags_drop(tags, "tier", NULL);
        }
        level_rules(group);
    }
    struct json_object *groups = json_path(world, "aws.elbv2.TargetGroups");
    for (size_t i = 0; i < json_len(groups); i++) {
        struct json_object *g = json_object_array_get_idx(groups, i);
        json_object_object_del(g, "HealthCheckTimeoutSeconds");
        if (str_eq(json_str(g, "HealthCheckProtocol"), "TCP")) {
            json_object_object_del(g, "HealthCheckPath");
            json_object_object_del(g, "Matcher");
        }
    }
    level_policies(world);
    struct json_object *health = json_path(world, "aws.elbv2.TargetHealth");
    if (health == NULL) {
        return;
    }
    json_object_object_foreach(health, arn, list)
    {
        (void)arn;
        for (size_t i = json_len(list); i > 0; i--) {
            struct json_object *state =
                json_member(json_object_array_get_idx(list, i - 1), "TargetHealth");
            if (str_eq(json_str(state, "State"), "draining")) {
                json_object_array_del_idx(list, i - 1, 1);
            }
        }
    }
}

static void done(struct chaos *c)
{
    writer_aws_free(own_of(c)->writer);
    free(c->own);
}

static const char *const calls[] = {
    "ec2.*",
    "ec2.Describe*",
    "ec2.DescribeSecurityGroups",
    "ec2.AuthorizeSecurityGroupIngress",
    "ec2.RevokeSecurityGroupIngress",
    "ec2.CreateSecurityGroup",
    "ec2.DeleteSecurityGroup",
    "ec2.DescribeInstances",
    "elb.*",
    "elb.CreateLoadBalancer",
    "elb.CreateLoadBalancerListeners",
    "elb.RegisterInstancesWithLoadBalancer",
    "elb.DescribeLoadBalancers",
    "elbv2.*",
    "elbv2.Create*",
    "elbv2.CreateTargetGroup",
    "elbv2.ModifyListener",
    "elbv2.RegisterTargets",
    "elbv2.DeregisterTargets",
    "elbv2.DeleteTargetGroup",
    "elbv2.DescribeTargetHealth",
    "*.Delete*",
    "services.status.patch",
};

const struct chaos_cloud chaos_aws = {
    .name = "aws",
    .sim = "aws",
    .episodes = 24,
    .calls = calls,
    .n_calls = ARRAY_LEN(calls),
    .more = more,
    .n_more = ARRAY_LEN(more),
    .change_nodes = change_nodes,
    .annotations = annotations,
    .special = special,
    .first = first,
    .fit = fit,
    .choose = choose,
    .prepare = prepare,
    .listen = listen,
    .others = others,
    .calm = last,
    .last = last,
    .part = part,
    .level = level,
    .done = done,
};
