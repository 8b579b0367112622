/* SPDX-License-Identifier: Apache-2.0 */
/* writer_aws.c: see writer_aws.h.  All is touched in the simulator's thread only.
 *
 * What he has written is a list of marks.  A mark counts as long as its document is the one that it
 * was put on: groups and network balancers have ids that never come back, a classic balancer is
 * known by its host name. */
#include "tests/fault/writer_aws.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/net/url.h"
#include "sim/aws/aws.h"
#include "sim/aws/ec2/ec2_parts.h"

#define AUTHORIZE "ec2.AuthorizeSecurityGroupIngress"
#define NODES     "nodes" /* name of the nodes' group */
#define OURS      "k8s-"  /* groups that trimtab makes */
#define USERS     "users-"
#define MINE      "writer-"
#define TAG       "writer"
#define MARKS_MAX 60
#define ONE_OF    4 /* writes are forestalled */

struct mark {
    enum amz_kind_id kind; /* AMZ_SECURITY_GROUP: a rule, or with `tag` a tag */
    char *id;
    char *host; /* of a classic balancer; NULL: of anything else */
    bool tag;
    bool gone; /* he took it back */
    /* a Service is served by it; trimtab hears of no change of a group, so he takes it back when he
     * leaves, before Services are checked again */
    bool serves;
    unsigned n;
    struct ec2_rule rule; /* its texts are in `a` */
};

struct writer_aws {
    struct arena *a;
    struct rng *rng;
    struct mark marks[MARKS_MAX];
    size_t n;
    bool left;
    bool paused;
};

struct writer_aws *writer_aws_new(uint64_t seed)
{
    struct writer_aws *w = xcalloc(1, sizeof(*w));
    w->a = arena_new();
    w->rng = rng_seeded_new(seed);
    return w;
}

void writer_aws_free(struct writer_aws *w)
{
    if (w != NULL) {
        rng_free(w->rng);
        arena_free(w->a);
        free(w);
    }
}

static bool one_in(struct writer_aws *w, uint64_t n)
{
    return rng_below(w->rng, n) == 0;
}

/* ---- documents ------------------------------------------------------------------------------- */

static const char *name_of(const struct amz_resource *group)
{
    return str_nonnull(json_str(group->body, "GroupName"));
}

/* Of tests/data/fault/foreign-aws.json: another cluster's, which looks like ours. */
static bool is_foreign(const char *id)
{
    return str_has_prefix(id, "sg-0f0000");
}

/* Any group of this cluster whose name begins like that; NULL if there is none. */
static struct amz_resource *any_group(struct writer_aws *w, struct aws *aws, const char *prefix)
{
    struct amz_resource *picked = NULL;
    uint64_t n = 0;
    for (struct amz_resource *r = amz_first(aws, AMZ_SECURITY_GROUP); r; r = r->next) {
        if (str_has_prefix(name_of(r), prefix) && !(str_eq(prefix, OURS) && is_foreign(r->id)) &&
            one_in(w, ++n)) {
            picked = r;
        }
    }
    return picked;
}

static bool has_rule(struct arena *a, const struct amz_resource *group, const struct ec2_rule *r,
                     bool with_text)
{
    struct ec2_rule_list all = ec2_rules_of(a, json_member(group->body, "IpPermissions"));
    for (size_t i = 0; i < all.n; i++) {
        if (ec2_rule_eq(&all.rules[i], r) &&
            (!with_text || str_eq(all.rules[i].description, r->description))) {
            return true;
        }
    }
    return false;
}

/* As others see it at once: what a reader may see late is trimtab's own. */
static void change_rule(struct aws *aws, struct amz_resource *group, const struct ec2_rule *r,
                        bool add)
{
    struct json_object *body = json_copy(group->body);
    struct json_object *permissions = amz_list(body, "IpPermissions");
    if (add) {
        ec2_rule_add(permissions, r);
    } else {
        ec2_rule_remove(permissions, r);
    }
    (void)amz_set(aws, AMZ_SECURITY_GROUP, group->id, body);
}

static struct mark *new_mark(struct writer_aws *w, enum amz_kind_id kind, const char *id)
{
    struct mark *m = &w->marks[w->n];
    *m = (struct mark){.kind = kind, .id = arena_strdup(w->a, id), .n = (unsigned)w->n};
    w->n++;
    return m;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* NULL: it is there, or there are too many. */
static struct mark *add_rule(struct writer_aws *w, struct aws *aws, struct amz_resource *group,
                             const struct ec2_rule *rule)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    if (group == NULL || w->n == MARKS_MAX || has_rule(a, group, rule, false)) {
        return NULL; /* EC2 would say Duplicate */
    }
    struct mark *m = new_mark(w, AMZ_SECURITY_GROUP, group->id);
    m->rule = *rule;
    m->rule.protocol = arena_strdup(w->a, rule->protocol);
    m->rule.source = arena_strdup(w->a, rule->source);
    m->rule.description = arena_printf(w->a, MINE "%u", m->n);
    change_rule(aws, group, &m->rule, true);
    return m;
}

static void add_own_rule(struct writer_aws *w, struct aws *aws, struct amz_resource *group)
{
    const struct ec2_rule rule = {
        .protocol = "tcp",
        .has_ports = true,
        .from = 20000 + (int64_t)w->n,
        .to = 20000 + (int64_t)w->n,
        .kind = EC2_CIDR,
        .source = arena_printf(w->a, "198.51.100.%zu/32", w->n),
    };
    (void)add_rule(w, aws, group, &rule);
}

/* By hand: nodes admit a balancer of trimtab's on one port. */
static void add_rule_about_ours(struct writer_aws *w, struct aws *aws)
{
    struct amz_resource *about = any_group(w, aws, OURS);
    if (about != NULL) {
        const struct ec2_rule rule = {.protocol = "tcp",
                                      .has_ports = true,
                                      .from = 8443,
                                      .to = 8443,
                                      .kind = EC2_GROUP,
                                      .source = about->id,
                                      .owner = AMZ_ACCOUNT};
        (void)add_rule(w, aws, any_group(w, aws, NODES), &rule);
    }
}

/* Rules that trimtab removes: its own groups hold its rules only. */
static void spoil_ours(struct writer_aws *w, struct aws *aws)
{
    struct amz_resource *group = any_group(w, aws, OURS);
    const struct ec2_rule rule = {.protocol = "tcp",
                                  .has_ports = true,
                                  .from = 22,
                                  .to = 22,
                                  .kind = EC2_CIDR,
                                  .source = "198.51.100.0/24",
                                  .description = "opened by hand"};
    _cleanup_(arena_freep) struct arena *a = arena_new();
    if (group != NULL && !has_rule(a, group, &rule, false)) {
        change_rule(aws, group, &rule, true);
    }
}

static void take_back(struct aws *aws, struct mark *m)
{
    struct amz_resource *group = amz_get(aws, AMZ_SECURITY_GROUP, m->id);
    m->gone = true;
    if (group != NULL) {
        change_rule(aws, group, &m->rule, false);
    }
}

static void take_back_one(struct writer_aws *w, struct aws *aws)
{
    for (size_t i = w->n; i > 0; i--) {
        struct mark *m = &w->marks[i - 1];
        if (!m->tag && !m->gone && !m->serves && one_in(w, 2)) {
            take_back(aws, m);
            return;
        }
    }
}

/* The first range that trimtab asks for, under his own name: the same port, the same clients. */
static void forestall(struct writer_aws *w, struct aws *aws, const struct sim_call *call)
{
    struct arena *a = call->arena;
    struct url_param *params = NULL;
    struct ec2_rule rule = {.kind = EC2_CIDR, .has_ports = true};
    struct amz_resource *group = NULL;
    size_t n = 0;
    if (url_query_parse(a, call->body, &params, &n, NULL) != ERR_OK) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *value = str_nonnull(params[i].value);
        if (str_eq(params[i].name, "GroupId")) {
            group = amz_get(aws, AMZ_SECURITY_GROUP, value);
        } else if (str_eq(params[i].name, "IpPermissions.1.IpProtocol")) {
            rule.protocol = value;
        } else if (str_eq(params[i].name, "IpPermissions.1.FromPort")) {
            (void)str_to_i64(value, &rule.from);
        } else if (str_eq(params[i].name, "IpPermissions.1.ToPort")) {
            (void)str_to_i64(value, &rule.to);
        } else if (str_eq(params[i].name, "IpPermissions.1.IpRanges.1.CidrIp")) {
            rule.source = value;
        }
    }
    if (group != NULL && str_eq(name_of(group), NODES) && rule.protocol != NULL &&
        rule.source != NULL) {
        struct mark *m = add_rule(w, aws, group, &rule);
        if (m != NULL) {
            m->serves = true;
        }
    }
}

/* A group cannot be deleted while the writer's rule refers to it: an event reports it, and the
 * writer removes it later. */
static void give_way(struct writer_aws *w, struct aws *aws, const struct sim_call *call)
{
    struct url_param *params = NULL;
    size_t n = 0;
    if (url_query_parse(call->arena, call->body, &params, &n, NULL) != ERR_OK) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < w->n && str_eq(params[i].name, "GroupId"); k++) {
            struct mark *m = &w->marks[k];
            if (!m->tag && !m->gone && m->rule.kind == EC2_GROUP &&
                str_eq(m->rule.source, params[i].value)) {
                take_back(aws, m);
            }
        }
    }
}

/* ---- tags ------------------------------------------------------------------------------------ */

/* The list of tags of a document, and the resource that bears them. */
static struct json_object *tags_of(struct aws *aws, const struct mark *m)
{
    if (m->kind == AMZ_SECURITY_GROUP) {
        struct amz_resource *group = amz_get(aws, AMZ_SECURITY_GROUP, m->id);
        return group == NULL ? NULL : amz_list(group->body, "Tags");
    }
    bool classic = m->kind == AMZ_CLASSIC;
    struct amz_resource *lb = amz_get(aws, m->kind, m->id);
    struct amz_resource *tags = amz_get(aws, classic ? AMZ_CLASSIC_TAGS : AMZ_V2_TAGS, m->id);
    if (lb == NULL || tags == NULL ||
        (m->host != NULL && !str_eq(m->host, json_str(lb->body, "DNSName")))) {
        return NULL;
    }
    return amz_list(tags->body, "Tags");
}

static void set_tag(struct json_object *tags, const char *value)
{
    amz_tags_drop(tags, TAG, NULL);
    if (value != NULL) {
        struct json_object *tag = json_object_new_object();
        json_add_str(tag, "Key", TAG);
        json_add_str(tag, "Value", value);
        json_object_array_add(tags, tag);
    }
}

static void add_tag(struct writer_aws *w, struct aws *aws)
{
    static const enum amz_kind_id kinds[] = {AMZ_SECURITY_GROUP, AMZ_CLASSIC, AMZ_LOAD_BALANCER};
    enum amz_kind_id kind = kinds[rng_below(w->rng, ARRAY_LEN(kinds))];
    struct amz_resource *picked = NULL;
    uint64_t n = 0;
    for (struct amz_resource *r = amz_first(aws, kind); r; r = r->next) {
        if (one_in(w, ++n)) {
            picked = r;
        }
    }
    if (picked == NULL || w->n == MARKS_MAX) {
        return;
    }
    for (size_t i = 0; i < w->n; i++) { /* the last one counts */
        w->marks[i].gone |= w->marks[i].tag && str_eq(w->marks[i].id, picked->id);
    }
    struct mark *m = new_mark(w, kind, picked->id);
    m->tag = true;
    m->host = kind == AMZ_CLASSIC ? arena_strdup(w->a, json_str(picked->body, "DNSName")) : NULL;
    struct json_object *tags = tags_of(aws, m);
    m->gone = tags == NULL;
    if (tags != NULL) {
        set_tag(tags, arena_printf(w->a, "%u", m->n));
    }
}

/* ---- when ------------------------------------------------------------------------------------ */

static void edit(struct writer_aws *w, struct aws *aws)
{
    switch (rng_below(w->rng, 8)) {
    case 0:
    case 1:
        add_own_rule(w, aws, any_group(w, aws, NODES));
        break;
    case 2:
        take_back_one(w, aws);
        break;
    case 3:
        add_rule_about_ours(w, aws);
        break;
    case 4:
        spoil_ours(w, aws);
        break;
    case 5:
        add_own_rule(w, aws, any_group(w, aws, USERS));
        break;
    default:
        add_tag(w, aws);
        break;
    }
}

static bool writes(const char *op)
{
    return (str_has_prefix(op, "ec2.") || str_has_prefix(op, "elb")) &&
           !str_glob("*.Describe*", op);
}

void writer_aws_before_call(void *arg, const struct sim_call *call)
{
    struct writer_aws *w = arg;
    struct aws *aws = sim_module_state(call->sim, "aws");
    if (str_eq(call->op, "ec2.DeleteSecurityGroup") && one_in(w, 2)) {
        give_way(w, aws, call);
    }
    if (w->left || w->paused || !writes(call->op) || !one_in(w, ONE_OF)) {
        return;
    }
    if (str_eq(call->op, AUTHORIZE) && one_in(w, 2)) {
        forestall(w, aws, call);
    } else {
        edit(w, aws);
    }
}

static void set_paused(struct sim *s, void *arg)
{
    (void)s;
    ((struct writer_aws *)arg)->paused = true;
}

static void set_resumed(struct sim *s, void *arg)
{
    (void)s;
    ((struct writer_aws *)arg)->paused = false;
}

void writer_aws_pause(struct writer_aws *w, struct rig *r, bool paused)
{
    rig_in_sim(r, paused ? set_paused : set_resumed, w);
}

static void meddle(struct sim *s, void *arg)
{
    struct writer_aws *w = arg;
    if (!w->left) {
        edit(w, sim_module_state(s, "aws"));
    }
}

void writer_aws_meddle(struct writer_aws *w, struct rig *r)
{
    rig_in_sim(r, meddle, w);
}

/* ---- the end --------------------------------------------------------------------------------- */

struct end {
    struct writer_aws *w;
    struct arena *a;
    const char *wrong; /* NULL: nothing */
};

/* A rule about a group goes with the group. */
static bool is_due(struct aws *aws, const struct mark *m)
{
    return !m->gone && (m->tag || m->rule.kind != EC2_GROUP ||
                        amz_get(aws, AMZ_SECURITY_GROUP, m->rule.source) != NULL);
}

static void check(struct sim *s, void *arg)
{
    struct end *e = arg;
    struct aws *aws = sim_module_state(s, "aws");
    for (size_t i = 0; i < e->w->n && e->wrong == NULL; i++) {
        const struct mark *m = &e->w->marks[i];
        struct amz_resource *group = amz_get(aws, AMZ_SECURITY_GROUP, m->id);
        if (!is_due(aws, m)) {
            continue;
        }
        struct json_object *tags = m->tag ? tags_of(aws, m) : NULL;
        if (tags != NULL && !str_eq(amz_tag(tags, TAG), arena_printf(e->a, "%u", m->n))) {
            e->wrong = arena_printf(e->a, "another writer's tag %u of %s is gone", m->n, m->id);
        } else if (!m->tag && group == NULL) {
            e->wrong = arena_printf(e->a, "group %s is gone", m->id);
        } else if (!m->tag && !has_rule(e->a, group, &m->rule, true)) {
            e->wrong = arena_printf(e->a, "another writer's rule %u of %s is gone: %s", m->n,
                                    name_of(group), ec2_rule_text(e->a, &m->rule));
        }
    }
}

int writer_aws_check(struct writer_aws *w, struct rig *r, struct arena *a, struct err *err)
{
    struct end e = {.w = w, .a = a};
    rig_in_sim(r, check, &e);
    return e.wrong == NULL ? ERR_OK : err_set(err, ERR_CONFLICT, "%s", e.wrong);
}

static void leave(struct sim *s, void *arg)
{
    struct writer_aws *w = arg;
    struct aws *aws = sim_module_state(s, "aws");
    w->left = true;
    for (size_t i = 0; i < w->n; i++) {
        struct mark *m = &w->marks[i];
        struct json_object *tags = m->tag ? tags_of(aws, m) : NULL;
        if (tags != NULL) {
            set_tag(tags, NULL);
        } else if (!m->tag && !m->gone) {
            take_back(aws, m);
        }
    }
}

void writer_aws_leave(struct writer_aws *w, struct rig *r)
{
    rig_in_sim(r, leave, w);
}
