/* SPDX-License-Identifier: Apache-2.0 */
/* plan_kit.c: see plan_kit.h. */
#include "tests/unit/aws/plan_kit.h"

#include <stdio.h>
#include <string.h>

#include "common/data/json.h"
#include "providers/aws/aws_sync.h"
#include "tests/support/objects.h"

struct aws_texts kit_texts(struct kit *k, const char *blank_separated)
{
    size_t n = 0;
    char **items = str_split(k->a, blank_separated, ' ', &n);
    return (struct aws_texts){(const char *const *)items, str_is_empty(blank_separated) ? 0 : n};
}

struct kit *kit_new(void)
{
    static const struct aws_group_ref node_group = {"sg-nodes", "nodes"};
    static const struct aws_tag cluster[] = {{AWS_CLUSTER_TAG_PREFIX "c1", "owned"}};
    struct arena *a = arena_new();
    struct kit *k = ARENA_NEW(a, struct kit);
    k->a = a;
    aws_world_init(&k->world, a);
    for (int i = 0; i < 3; i++) {
        k->world.subnets[k->world.n_subnets++] = (struct aws_subnet){
            .id = arena_printf(a, "subnet-%d", i + 1),
            .vpc = "vpc-1",
            .zone = arena_printf(a, "us-east-1%c", 'a' + i),
            .cidr = arena_printf(a, "10.0.%d.0/24", i),
        };
    }
    for (int i = 0; i < 4; i++) {
        k->world.instances[k->world.n_instances++] = (struct aws_instance){
            .id = arena_printf(a, "i-%d", i + 1),
            .state = "running",
            .zone = "us-east-1a",
            .vpc = "vpc-1",
            .in_cluster = true,
            .groups = &node_group,
            .n_groups = 1,
        };
    }
    k->world.groups[k->world.n_groups++].group = (struct aws_group){.id = "sg-nodes",
                                                                    .name = "nodes",
                                                                    .description = "nodes",
                                                                    .vpc = "vpc-1",
                                                                    .tags = {cluster, 1}};
    k->naming = (struct aws_naming){
        .cluster_id = "c1",
        .cluster_name = "kubernetes",
        .region = "us-east-1",
        .vpc = "vpc-1",
        .probe_mode_text = "",
        .probe_port = 10256,
        .probe_path = "/healthz",
        .nlb_group_mode = "",
        .shared_group = "",
    };
    k->kind = "nlb";
    k->ports = "80:30080";
    k->lines = "";
    k->spec = "";
    k->instances = kit_texts(k, "i-1 i-2 i-3");
    k->subnets = kit_texts(k, "subnet-1 subnet-2");
    return k;
}

void kit_free(struct kit *k)
{
    str_buf_done(&k->log);
    arena_free(k->a);
}

/* ---- the Service ----------------------------------------------------------------------------- */

static void append_ports(struct kit *k, struct str_buf *b)
{
    struct aws_texts ports = kit_texts(k, k->ports);
    for (size_t i = 0; i < ports.n; i++) {
        int port = 0;
        int node_port = 0;
        char protocol[8] = "TCP";
        assert_true(sscanf(ports.items[i], "%d:%d/%7s", &port, &node_port, protocol) >= 2);
        str_appendf(b, "%s{\"name\":\"p%d\",\"port\":%d,\"nodePort\":%d,\"protocol\":\"%s\"}",
                    i > 0 ? "," : "", port, port, node_port, protocol);
    }
}

/* A line wins over earlier ones with its name. */
static bool is_overruled(char *const *lines, size_t n, size_t at)
{
    const char *is = strchr(lines[at], '=');
    for (size_t i = at + 1; is != NULL && i < n; i++) {
        if (strncmp(lines[i], lines[at], (size_t)(is - lines[at]) + 1) == 0) {
            return true;
        }
    }
    return false;
}

static void append_annotations(struct kit *k, struct str_buf *b)
{
    size_t n = 0;
    char **lines = str_split(k->a, k->lines, '\n', &n);
    str_appendf(b, "\"" AWS_ANNOTATION "type\":\"%s\"", k->kind);
    for (size_t i = 0; i < n; i++) {
        char *is = strchr(lines[i], '=');
        if (is != NULL && !is_overruled(lines, n, i)) {
            str_appendf(b, ",\"" AWS_ANNOTATION "%.*s\":", (int)(is - lines[i]), lines[i]);
            str_append_json_quoted(b, is + 1);
        }
    }
}

void kit_read(struct kit *k)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "{\"metadata\":{\"name\":\"web\",\"namespace\":\"default\",\"uid\":"
                   "\"5f3a7c9e-0b1d-4e2f-8a6b-1c2d3e4f5a6b\",\"annotations\":{");
    append_annotations(k, &b);
    str_append(&b,
               "}},\"spec\":{\"type\":\"LoadBalancer\",\"sessionAffinity\":\"None\",\"ports\":[");
    append_ports(k, &b);
    str_appendf(&b, "]%s}}", k->spec);
    k->service =
        aws_service_read(k->a, &k->naming, test_service_text(k->a, str_buf_to_arena(&b, k->a)));
}

/* ---- planning -------------------------------------------------------------------------------- */

struct aws_planning kit_begin(struct kit *k)
{
    kit_read(k);
    k->seen = aws_world_observe(&k->world, &k->naming, k->service);
    k->around = aws_world_surroundings(&k->world, &k->naming);
    lb_plan_init(&k->plan, k->a);
    struct aws_planning p = {
        .a = k->a,
        .plan = &k->plan,
        .naming = &k->naming,
        .service = k->service,
        .seen = k->seen,
        .around = k->around,
        .repairs = k->repairs,
        .write_type = &aws_write_type,
    };
    aws_draft_begin(&p);
    return p;
}

struct aws_nlb_want kit_nlb_want(struct kit *k)
{
    struct err err = ERR_INIT;
    struct aws_nlb_want want = {0};
    if (aws_nlb_desired(k->a, &k->naming, k->service, k->subnets, k->instances, &want, &err) !=
        ERR_OK) {
        fail_msg("%s", err.message);
    }
    return want;
}

/* Stands for aws_plan_own_group(): one that is there, or is made. */
static struct lb_value own_group(struct kit *k, struct aws_planning *p,
                                 const struct aws_group_want *want)
{
    if (want == NULL || (k->seen->nlb != NULL && k->seen->nlb->groups.n == 0)) {
        return LB_VALUE(NULL);
    }
    for (size_t i = 0; i < k->world.n_groups; i++) {
        if (str_eq(k->world.groups[i].group.name, want->name)) {
            return LB_VALUE(k->world.groups[i].group.id);
        }
    }
    int d = aws_draft(p, AWS_PHASE_MAKE, LB_CREATE, "security group", want->name,
                      "the load balancer has none of its own yet");
    aws_draft_action(p, d, AWS_EC2, "CreateSecurityGroup");
    aws_draft_text(p, d, "GroupName", want->name);
    aws_draft_text(p, d, "GroupDescription", want->description);
    aws_draft_text(p, d, "VpcId", k->naming.vpc);
    aws_draft_text(p, d, "TagSpecification.1.ResourceType", "security-group");
    aws_draft_tags(p, d, "TagSpecification.1.Tag", &want->tags);
    aws_draft_output(p, d, "id", "groupId");
    return aws_draft_value_of(d, "id");
}

void kit_plan_nlb(struct kit *k)
{
    struct aws_planning p = kit_begin(k);
    struct err err = ERR_INIT;
    struct aws_nlb_want want = kit_nlb_want(k);
    struct lb_value own = own_group(k, &p, want.own);
    assert_int_equal(aws_plan_nlb(&p, &want, own, &err), ERR_OK);
    assert_int_equal(aws_plan_left_target_groups(&p, &want, &err), ERR_OK);
    aws_draft_finish(&p);
    if (lb_plan_seal(&k->plan, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

void kit_run(struct kit *k)
{
    struct err err = ERR_INIT;
    str_buf_reset(&k->log);
    k->run.log = &k->log;
    k->run.stop_after = -1;
    if (aws_world_run(&k->world, &k->plan, &k->run, &err) != ERR_OK) {
        fail_msg("%s\n%s", err.message, str_buf_text(&k->log));
    }
}

void kit_settle_nlb(struct kit *k)
{
    kit_plan_nlb(k);
    kit_run(k);
    kit_plan_nlb(k);
    if (lb_plan_changes(&k->plan) != 0) {
        fail_msg("not settled: %s", kit_waves(k));
    }
}

/* ---- steps of a test ------------------------------------------------------------------------- */

void kit_expect(struct kit *k, const char *waves)
{
    kit_plan_nlb(k);
    assert_string_equal(kit_waves(k), waves);
    kit_run(k);
    struct lb_plan plan = k->plan;
    kit_plan_nlb(k);
    assert_string_equal(kit_waves(k), "");
    k->plan = plan;
}

struct kit *kit_settled(const char *ports, const char *lines)
{
    struct kit *k = kit_new();
    k->ports = ports;
    k->lines = lines;
    kit_settle_nlb(k);
    return k;
}

struct aws_world_target_group *kit_group_of_port(struct kit *k, int32_t port)
{
    for (size_t i = 0; i < k->world.n_listeners; i++) {
        for (size_t g = 0; g < k->world.n_target_groups; g++) {
            if (k->world.listeners[i].port == port &&
                str_eq(k->world.listeners[i].target_group, k->world.target_groups[g].group.arn)) {
                return &k->world.target_groups[g];
            }
        }
    }
    fail_msg("no target group of port %d", (int)port);
    return NULL;
}

/* ---- looking at a plan ----------------------------------------------------------------------- */

const char *kit_waves(struct kit *k)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    int wave = 0;
    for (size_t i = 0; i < k->plan.n_ops; i++) {
        const struct lb_op *op = &k->plan.ops[i];
        if (op->verb == LB_KEEP) {
            continue;
        }
        const struct aws_write *w = op->arg;
        if (op->wave != wave) {
            str_appendf(&b, "%s%d ", wave > 0 ? "; " : "", op->wave);
            wave = op->wave;
        } else {
            str_append(&b, ", ");
        }
        str_append(&b, w->action);
    }
    return str_buf_to_arena(&b, k->a);
}

const struct lb_op *kit_op(struct kit *k, const char *action, size_t nth)
{
    for (size_t i = 0; i < k->plan.n_ops; i++) {
        const struct aws_write *w = k->plan.ops[i].arg;
        if (w != NULL && str_eq(w->action, action) && nth-- == 0) {
            return &k->plan.ops[i];
        }
    }
    fail_msg("no %s in %s", action, kit_waves(k));
    return NULL;
}

static bool is_left_out(struct kit *k, const char *name, const char *but)
{
    size_t n = 0;
    char **names = str_split(k->a, but, ',', &n);
    for (size_t i = 0; i < n; i++) {
        if (names[i][0] != '\0' && str_has_prefix(name, names[i])) {
            return true;
        }
    }
    return false;
}

const char *kit_params(struct kit *k, const struct lb_op *op, const char *but)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    const struct aws_write *w = op->arg;
    for (size_t i = 0; i < w->n_params; i++) {
        const struct aws_param *p = &w->params[i];
        if (is_left_out(k, p->name, but)) {
            continue;
        }
        str_appendf(&b, "%s%s=", b.len > 0 ? " " : "", p->name);
        if (p->value.text != NULL) {
            str_append(&b, p->value.text);
        } else {
            const struct aws_write *from = k->plan.ops[p->value.op].arg;
            str_appendf(&b, "<%s %s>", from->action, p->value.output);
        }
    }
    return str_buf_to_arena(&b, k->a);
}

const char *kit_fields(struct kit *k, const struct lb_op *op)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    for (size_t i = 0; i < op->n_fields; i++) {
        const struct lb_field *f = &op->fields[i];
        const char *now = f->new_value.text != NULL ? f->new_value.text
                          : f->new_value.op >= 0    ? "<later>"
                                                    : "none";
        str_appendf(&b, "%s%s: %s -> %s", i > 0 ? "; " : "", f->path, str_or(f->old_text, "none"),
                    now);
    }
    return str_buf_to_arena(&b, k->a);
}

const char *kit_because(struct kit *k)
{
    const struct lb_plan_service *s = lb_plan_service(&k->plan, k->service->key);
    return str_join(k->a, s->because, s->n_because, "\n");
}
