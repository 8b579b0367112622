/* SPDX-License-Identifier: Apache-2.0 */
/* chaos_aws.c: fault-chaos in AWS: network and classic balancers side by side (chaos.h).
 *
 * The seed chooses a family: what the cloud-config says, how late and how strictly the simulated AWS answers, how many
 * Services there are.  What a Service is once and for all (kind, scheme, tags of a network balancer) is chosen when it
 * comes, so that a cloud that is built anew is the same.  A Service that asks for the other kind is refused for as long as it
 * does; before the end it asks for its own again. */
#include <stdlib.h>

#include "tests/fault/chaos.h"
#include "tests/fault/world.h"

#define NODES_MIN 2
#define NODES_MAX 9
#define NOTE(x)   "\"service.beta.kubernetes.io/aws-load-balancer-" x "\""

/* Users' groups, which Services name. */
#define USERS_GROUP_1 "sg-00000000000000a01"
#define USERS_GROUP_2 "sg-00000000000000a02"
#define CERTIFICATE   "arn:aws:acm:us-east-1:123456789012:certificate/chaos"

/* A kind of episode; the seed chooses one. */
struct family {
    const char *name;
    const char *config;   /* of [Global]; NULL: nothing */
    const char *settings; /* "sim.aws"; NULL: none */
    bool managed;         /* network balancers have groups */
    size_t services;      /* at once */
    size_t at_first;
    int actions;
};
static const struct family families[] = {
    {.name = "plain", .services = 6, .actions = 60},
    {.name = "managed",
     .config = "NLBSecurityGroupMode = Managed",
     .managed = true,
     .services = 6,
     .actions = 60},
};

struct episode_aws {
    const struct family *family;
};

static struct episode_aws *own_of(const struct chaos *c)
{
    return c->own;
}

static void choose(struct chaos *c, uint64_t seed)
{
    struct episode_aws *own = xcalloc(1, sizeof(*own));
    const struct family *f = &families[seed % ARRAY_LEN(families)];
    own->family = f;
    c->own = own;
    c->n_services = f->services;
    c->actions = f->actions;
    c->s.config = f->config;
    c->s.settings = f->settings;
    str_appendf(&c->story, "family %s\n", f->name);
}

static void prepare(struct chaos *c, struct json_object *world)
{
    if (c->s.settings != NULL) {
        stage_set(&c->s, world);
    }
}

/* ---- Services ------------------------------------------------------------------------------------ */

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
    struct json_object *services = json_path(rig_world(c->s.rig), "kubernetes.services");
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

/* ---- the end ------------------------------------------------------------------------------------- */

/* Everybody asks for what he can have. */
static int last(struct chaos *c)
{
    int rc = ERR_OK;
    for (size_t i = 0; i < c->n_services && rc == ERR_OK; i++) {
        struct wish *w = &c->wishes[i];
        if (w->name[0] != '\0' && w->flipped) {
            w->flipped = false;
            rc = chaos_edit_to(c, w);
        }
    }
    return rc;
}

/* Machines that stopped are noticed when a Service is looked at. */
static int part(struct chaos *c)
{
    int rc = stage_restart(&c->s);
    return rc == ERR_OK ? stage_settle(&c->s, RIG_LATER) : rc;
}

static void done(struct chaos *c)
{
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
    .change_nodes = change_nodes,
    .annotations = annotations,
    .special = special,
    .first = first,
    .fit = fit,
    .choose = choose,
    .prepare = prepare,
    .last = last,
    .part = part,
    .done = done,
};
