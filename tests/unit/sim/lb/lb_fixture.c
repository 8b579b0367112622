/* SPDX-License-Identifier: Apache-2.0 */
/* lb_fixture.c: see lb_fixture.h. */
#include "tests/unit/sim/lb/lb_fixture.h"

#include <stdlib.h>
#include <string.h>

static void put_json(void *o)
{
    json_object_put(o);
}

/* --- the world -------------------------------------------------------------------------------- */

static void add_address(struct lb_test *t, const char *name, const char *id, const char *ip)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "AllocationId", id);
    json_add_str(o, "PublicIp", ip);
    json_add_str(o, "Domain", "vpc");
    (void)amz_set(t->e->aws, AMZ_ADDRESS, id, o);
    lb_name(t, name, id);
}

static void add_application_balancer(struct lb_test *t)
{
    static const char arn[] = "arn:aws:elasticloadbalancing:us-east-1:" AMZ_ACCOUNT
                              ":loadbalancer/app/alb/0123456789abcdef";
    struct json_object *o = json_object_new_object(), *state = json_object_new_object();
    json_add_str(o, "LoadBalancerArn", arn);
    json_add_str(o, "LoadBalancerName", "alb");
    json_add_str(o, "Type", "application");
    json_add_str(o, "VpcId", t->e->vpc);
    json_add_str(state, "Code", "active_impaired");
    json_add(o, "State", state);
    (void)amz_set(t->e->aws, AMZ_LOAD_BALANCER, arn, o);
    lb_name(t, "alb", arn);
}

struct lb_test *lb_start(void)
{
    struct lb_test *t = xcalloc(1, sizeof(*t));
    struct ec2_test *e = t->e = ec2_test_start();
    t->names = map_new(free);
    lb_name(t, "vpc", e->vpc);
    lb_name(t, "a", e->subnet_a);
    lb_name(t, "b", e->subnet_b);
    lb_name(t, "other_vpc", e->other_vpc);
    lb_name(t, "nodes", e->nodes);
    lb_name(t, "other", e->other_group);
    lb_name(t, "i0", e->instance[0]);
    lb_name(t, "i1", e->instance[1]);
    lb_name(t, "a2", amz_ec2_add_subnet(e->aws, e->a, e->vpc, "us-east-1a", "10.0.2.0/24", NULL));
    lb_name(t, "c", amz_ec2_add_subnet(e->aws, e->a, e->vpc, "us-east-1c", "10.0.3.0/24", NULL));
    lb_name(t, "o",
            amz_ec2_add_subnet(e->aws, e->a, e->other_vpc, "us-east-1b", "172.31.0.0/24", NULL));
    lb_name(t, "tiny",
            amz_ec2_add_subnet(e->aws, e->a, e->other_vpc, "us-east-1c", "172.31.9.0/29", NULL));
    lb_name(t, "g", amz_ec2_add_group(e->aws, e->a, e->vpc, "balancers", "of balancers", NULL));
    struct amz_ec2_new_instance spec = {.subnet = e->subnet_b, .groups = &e->nodes, .n_groups = 1};
    const char *stopped = amz_ec2_add_instance(e->aws, e->a, &spec);
    assert_true(amz_ec2_set_instance_state(e->aws, stopped, "stopped"));
    lb_name(t, "stopped", stopped);
    spec.subnet = map_get(t->names, "o");
    lb_name(t, "stranger", amz_ec2_add_instance(e->aws, e->a, &spec));
    add_address(t, "ip1", "eipalloc-00000000000000001", "198.51.100.1");
    add_address(t, "ip2", "eipalloc-00000000000000002", "198.51.100.2");
    add_application_balancer(t);
    return t;
}

void lb_stop(struct lb_test *t)
{
    ec2_test_stop(t->e);
    map_free(t->names);
    free(t);
}

void lb_name(struct lb_test *t, const char *name, const char *text)
{
    assert_non_null(text);
    map_set(t->names, name, xstrdup(text));
}

void lb_keep(struct lb_test *t, const char *name, const char *path)
{
    assert_string_not_equal(lb_text(t, path), "");
    lb_name(t, name, lb_text(t, path));
}

/* --- requests --------------------------------------------------------------------------------- */

const char *lb_filled(struct lb_test *t, const char *text)
{
    size_t n = 0;
    const char **names = map_keys(t->names, &n);
    for (size_t i = 0; i < n; i++) {
        text = str_replace(t->e->a, text, arena_printf(t->e->a, "{%s}", names[i]),
                           map_get(t->names, names[i]));
    }
    free(names);
    assert_null(strchr(text, '{'));
    return text;
}

static void check_members(struct lb_test *t, int type, struct json_object *o, const char *where)
{
    if (json_object_is_type(o, json_type_array)) {
        assert_int_equal(amz_types[type].kind, AMZ_ARRAY);
        for (size_t i = 0; i < json_len(o); i++) {
            check_members(t, amz_types[type].item, json_object_array_get_idx(o, i), where);
        }
        return;
    }
    if (!json_object_is_type(o, json_type_object)) {
        return;
    }
    json_object_object_foreach(o, name, value)
    {
        const struct amz_field *f = amz_field_find(type, name);
        if (!f) {
            fail_msg("%s.%s is not in the pack", where, name);
        }
        check_members(t, f->type, value, arena_printf(t->e->a, "%s.%s", where, name));
    }
}

static const struct amz_action *find_action(enum amz_service service, const char *name)
{
    const struct amz_action *row = service == AMZ_ELB ? amz_elb_actions : amz_elbv2_actions;
    while (row->name && !str_eq(row->name, name)) {
        row++;
    }
    return row->name ? row : NULL;
}

bool lb_call(struct lb_test *t, enum amz_service service, const char *request)
{
    struct arena *a = t->e->a;
    struct amz_request q = {.aws = t->e->aws, .a = a, .service = service};
    struct url_param *params;
    struct amz_flaw flaw;
    size_t n;
    assert_int_equal(url_query_parse(a, lb_filled(t, request), &params, &n, NULL), ERR_OK);
    assert_string_equal(params[0].name, "Action");
    q.op = amz_op_find(service, params[0].value);
    q.action = find_action(service, params[0].value);
    assert_non_null(q.op);
    assert_non_null(q.action);
    if (!amz_params_decode(a, q.op, params + 1, n - 1, &q.in, &flaw)) {
        t->e->refusal =
            (struct amz_refusal){.status = 400, .code = "flaw", .message = flaw.message};
        return false;
    }
    arena_defer(a, put_json, q.in);
    q.out = t->e->out = json_object_new_object();
    arena_defer(a, put_json, q.out);
    bool ok = q.action->run(&q);
    t->e->refusal = q.refusal;
    if (ok) {
        assert_int_equal(q.refusal.status, 0);
        check_members(t, q.op->answer, t->e->out, q.op->name);
    } else {
        assert_int_not_equal(q.refusal.status, 0);
    }
    return ok;
}

static void must(struct lb_test *t, enum amz_service service, const char *request)
{
    if (!lb_call(t, service, request)) {
        fail_msg("%s: %s: %s", request, t->e->refusal.code, t->e->refusal.message);
    }
}

void v2(struct lb_test *t, const char *request)
{
    must(t, AMZ_ELBV2, request);
}

void v1(struct lb_test *t, const char *request)
{
    must(t, AMZ_ELB, request);
}

/* The code is one that the pack declares for the action, or one that all have. */
static int declared_status(enum amz_service service, const char *request, const char *code)
{
    size_t len = strcspn(request, "&") - strlen("Action=");
    char action[80] = "";
    assert_true(len < sizeof(action));
    memcpy(action, request + strlen("Action="), len);
    const struct amz_op *op = amz_op_find(service, action);
    int64_t status = 0;
    for (const char *const *e = op->errors; e && *e; e += 2) {
        if (str_eq(e[0], code)) {
            assert_true(str_to_i64(e[1], &status));
        }
    }
    return str_eq(code, "ValidationError") ? 400 : (int)status;
}

void lb_refused(struct lb_test *t, enum amz_service service, const struct lb_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct lb_row *r = &rows[i];
        const char *before = ec2_state(t->e);
        if (lb_call(t, service, r->request)) {
            fail_msg("%s: served, want %s", r->what, r->code);
        }
        const struct amz_refusal *got = &t->e->refusal;
        if (!str_eq(got->code, r->code) ||
            (r->text && !strstr(got->message, lb_filled(t, r->text)))) {
            fail_msg("%s: got %s: %s, want %s: %s", r->what, got->code, got->message, r->code,
                     str_nonnull(r->text));
        }
        int status = str_eq(r->code, "flaw") ? 400 : declared_status(service, r->request, r->code);
        if (got->status != status) {
            fail_msg("%s: status %d, the pack has %d for %s", r->what, got->status, status,
                     r->code);
        }
        if (!str_eq(ec2_state(t->e), before)) {
            fail_msg("%s: something changed", r->what);
        }
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

const char *lb_text(struct lb_test *t, const char *path)
{
    return ec2_text(t->e, path);
}

size_t lb_len(struct lb_test *t, const char *path)
{
    return ec2_len(t->e, path);
}

const char *lb_value(struct lb_test *t, const char *path, const char *key)
{
    for (size_t i = 0; i < lb_len(t, path); i++) {
        if (str_eq(lb_text(t, arena_printf(t->e->a, "%s.%zu.Key", path, i)), key)) {
            return lb_text(t, arena_printf(t->e->a, "%s.%zu.Value", path, i));
        }
    }
    return "(absent)";
}

/* --- short ways ------------------------------------------------------------------------------- */

void lb_make_nlb(struct lb_test *t)
{
    v2(t, "Action=CreateLoadBalancer&Name=nlb&Type=network&SubnetMappings.member.1.SubnetId={a}&"
          "SubnetMappings.member.2.SubnetId={b}&SecurityGroups.member.1={g}&"
          "Tags.member.1.Key=k&Tags.member.1.Value=v");
    lb_keep(t, "nlb", "LoadBalancers.0.LoadBalancerArn");
    v2(t, TG "&Name=tg&Tags.member.1.Key=k&Tags.member.1.Value=v");
    lb_keep(t, "tg", "TargetGroups.0.TargetGroupArn");
    v2(t, "Action=RegisterTargets&TargetGroupArn={tg}&Targets.member.1.Id={i0}&"
          "Targets.member.1.Port=30080");
    v2(t, "Action=CreateListener&LoadBalancerArn={nlb}&Port=80&Protocol=TCP&"
          "DefaultActions.member.1.Type=forward&DefaultActions.member.1.TargetGroupArn={tg}");
    lb_keep(t, "l", "Listeners.0.ListenerArn");
    v2(t, "Action=CreateLoadBalancer&Name=bare&Type=network&Scheme=internal&Subnets.member.1={a}");
    lb_keep(t, "bare", "LoadBalancers.0.LoadBalancerArn");
}

void lb_make_clb(struct lb_test *t)
{
    v1(t, "Action=CreateLoadBalancer&LoadBalancerName=clb&Subnets.member.1={a}&"
          "SecurityGroups.member.1={g}&Listeners.member.1.Protocol=tcp&"
          "Listeners.member.1.LoadBalancerPort=80&Listeners.member.1.InstancePort=30080&"
          "Listeners.member.2.Protocol=ssl&Listeners.member.2.InstanceProtocol=tcp&"
          "Listeners.member.2.LoadBalancerPort=443&Listeners.member.2.InstancePort=30443&"
          "Listeners.member.2.SSLCertificateId=" CERT "&Tags.member.1.Key=k&Tags.member.1.Value=v");
    v1(t, "Action=RegisterInstancesWithLoadBalancer&LoadBalancerName=clb&"
          "Instances.member.1.InstanceId={i0}");
}
