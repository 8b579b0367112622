/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_fixture.c: see ec2_fixture.h. */
#include "tests/unit/sim/ec2/ec2_fixture.h"
#include "sim/aws/ec2/ec2_parts.h"
#include "tests/support/clock_fake.h"

#include <event2/event.h>
#include <event2/thread.h>
#include <stdlib.h>
#include <string.h>

#define START_US (1767323045LL * 1000000) /* 2026-01-02T03:04:05Z */

static void put_json(void *o)
{
    json_object_put(o);
}

/* --- the world -------------------------------------------------------------------------------- */

static void add_zone(struct ec2_test *t, const char *name, const char *id, const char *type,
                     const char *opted)
{
    struct json_object *z = json_object_new_object();
    json_add_str(z, "OptInStatus", opted);
    json_add_str(z, "RegionName", "us-east-1");
    json_add_str(z, "State", "available");
    json_add_str(z, "ZoneId", id);
    json_add_str(z, "ZoneName", name);
    json_add_str(z, "ZoneType", type);
    (void)amz_set(t->aws, AMZ_ZONE, name, z);
}

static struct json_object *cluster_tags(void)
{
    struct json_object *tags = json_object_new_array(), *tag = json_object_new_object();
    json_add_str(tag, "Key", CLUSTER_TAG);
    json_add_str(tag, "Value", "owned");
    json_object_array_add(tags, tag);
    return tags;
}

static void add_gateway(struct ec2_test *t)
{
    const char *id = ec2_add_loose_gateway(t->aws, t->a, NULL);
    ec2_attach(amz_get(t->aws, AMZ_INTERNET_GATEWAY, id)->body, t->vpc);
    for (struct amz_resource *r = amz_first(t->aws, AMZ_ROUTE_TABLE); r; r = r->next) {
        struct json_object *first = json_object_array_get_idx(amz_list(r->body, "Associations"), 0);
        if (str_eq(json_str(r->body, "VpcId"), t->vpc) && json_bool(first, "Main", false)) {
            json_object_array_add(
                amz_list(r->body, "Routes"),
                ec2_route_doc("DestinationCidrBlock", "0.0.0.0/0", "GatewayId", id, "CreateRoute"));
        }
    }
}

static void make_world(struct ec2_test *t)
{
    struct json_object *tags = cluster_tags();
    amz_store_clear(t->aws);
    json_object_put(t->aws->settings);
    t->aws->settings = NULL;
    add_zone(t, "us-east-1a", "use1-az1", "availability-zone", "opt-in-not-required");
    add_zone(t, "us-east-1b", "use1-az2", "availability-zone", "opt-in-not-required");
    add_zone(t, "us-east-1c", "use1-az3", "availability-zone", "opt-in-not-required");
    add_zone(t, "us-east-1-bos-1a", "use1-bos1-az1", "local-zone", "not-opted-in");
    t->vpc = amz_ec2_add_vpc(t->aws, t->a, "10.0.0.0/16", false);
    add_gateway(t);
    t->subnet_a = amz_ec2_add_subnet(t->aws, t->a, t->vpc, "us-east-1a", "10.0.0.0/24", tags);
    t->subnet_b = amz_ec2_add_subnet(t->aws, t->a, t->vpc, "us-east-1b", "10.0.1.0/28", NULL);
    t->other_vpc = amz_ec2_add_vpc(t->aws, t->a, "172.31.0.0/16", true);
    t->other_group =
        amz_ec2_add_group(t->aws, t->a, t->other_vpc, "other", "of the default VPC", NULL);
    t->nodes = amz_ec2_add_group(t->aws, t->a, t->vpc, "nodes", "of the nodes", tags);
    for (size_t i = 0; i < ARRAY_LEN(t->instance); i++) {
        struct amz_ec2_new_instance spec = {
            .subnet = t->subnet_a, .groups = &t->nodes, .n_groups = 1, .tags = tags};
        t->instance[i] = amz_ec2_add_instance(t->aws, t->a, &spec);
        assert_non_null(t->instance[i]);
    }
    json_object_put(tags);
}

struct ec2_test *ec2_test_start(void)
{
    struct err err = ERR_INIT;
    struct ec2_test *t = xcalloc(1, sizeof(*t));
    evthread_use_pthreads();
    t->a = arena_new();
    t->clock = clock_fake_new(1000, START_US);
    t->base = event_base_new();
    struct sim_config cfg = {.cloud = "aws", .clock = t->clock, .seed = 7};
    if (sim_new(t->base, &cfg, &t->sim, &err)) {
        fail_msg("sim_new: %s", err.message);
    }
    t->aws = sim_module_state(t->sim, "aws");
    make_world(t);
    return t;
}

void ec2_test_stop(struct ec2_test *t)
{
    sim_free(t->sim);
    http_server_free_loop(t->base);
    clock_fake_free(t->clock);
    arena_free(t->a);
    free(t);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void check_value(const struct amz_type *type, const char *text, const char *where)
{
    for (size_t i = 0; type->one_of && !str_eq(type->one_of[i], text); i++) {
        if (!type->one_of[i]) {
            fail_msg("%s: the pack does not have \"%s\"", where, text);
        }
    }
}

static void check_members(struct ec2_test *t, int type, struct json_object *o, const char *where)
{
    if (json_object_is_type(o, json_type_array)) {
        assert_int_equal(amz_types[type].kind, AMZ_ARRAY);
        for (size_t i = 0; i < json_len(o); i++) {
            check_members(t, amz_types[type].item, json_object_array_get_idx(o, i), where);
        }
        return;
    }
    if (!json_object_is_type(o, json_type_object)) {
        static const enum json_type scalars[] = {[AMZ_STRING] = json_type_string,
                                                 [AMZ_INTEGER] = json_type_int,
                                                 [AMZ_BOOLEAN] = json_type_boolean};
        if (!json_object_is_type(o, scalars[amz_types[type].kind])) {
            fail_msg("%s is of another type in the pack", where);
        }
        check_value(&amz_types[type], json_object_get_string(o), where);
        return;
    }
    assert_int_equal(amz_types[type].kind, AMZ_OBJECT);
    json_object_object_foreach(o, name, value)
    {
        const struct amz_field *f = amz_field_find(type, name);
        if (!f) {
            fail_msg("%s.%s is not in the pack", where, name);
        }
        check_members(t, f->type, value, arena_printf(t->a, "%s.%s", where, name));
    }
}

static void check_answer(struct ec2_test *t, const struct amz_op *op)
{
    if (op->answer >= 0) {
        check_members(t, op->answer, t->out, op->name);
    } else {
        assert_int_equal(json_object_object_length(t->out), 0);
    }
}

static struct json_object *find(struct ec2_test *t, const char *path)
{
    size_t n = 0;
    char **parts = str_split(t->a, path, '.', &n);
    struct json_object *o = t->out;
    for (size_t i = 0; i < n && *path; i++) {
        int64_t index;
        o = json_object_is_type(o, json_type_array)
                ? (str_to_i64(parts[i], &index) && index < (int64_t)json_len(o)
                       ? json_object_array_get_idx(o, (size_t)index)
                       : NULL)
                : json_member(o, parts[i]);
    }
    return o;
}

const char *ec2_text(struct ec2_test *t, const char *path)
{
    struct json_object *o = find(t, path);
    return o ? arena_strdup(t->a, json_object_get_string(o)) : "";
}

size_t ec2_len(struct ec2_test *t, const char *path)
{
    return json_len(find(t, path));
}

const char *ec2_json(struct ec2_test *t, const char *path)
{
    return json_text(t->a, find(t, path), JSON_SORTED);
}

/* --- requests --------------------------------------------------------------------------------- */

static const char *with_ids(struct ec2_test *t, const char *request)
{
    const struct {
        const char *name, *id;
    } ids[] = {
        {"{vpc}", t->vpc},        {"{a}", t->subnet_a},          {"{b}", t->subnet_b},
        {"{nodes}", t->nodes},    {"{other_vpc}", t->other_vpc}, {"{other}", t->other_group},
        {"{i0}", t->instance[0]}, {"{i1}", t->instance[1]},
    };
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        request = str_replace(t->a, request, ids[i].name, ids[i].id);
    }
    return request;
}

static const struct amz_action *find_action(const char *name)
{
    for (const struct amz_action *row = amz_ec2_actions; row->name; row++) {
        if (str_eq(row->name, name)) {
            return row;
        }
    }
    return NULL;
}

bool ec2_call(struct ec2_test *t, const char *request)
{
    struct amz_request q = {.aws = t->aws, .a = t->a, .service = AMZ_EC2};
    struct url_param *params;
    struct amz_flaw flaw;
    size_t n;
    assert_int_equal(url_query_parse(t->a, with_ids(t, request), &params, &n, NULL), ERR_OK);
    assert_string_equal(params[0].name, "Action");
    q.op = amz_op_find(AMZ_EC2, params[0].value);
    q.action = find_action(params[0].value);
    assert_non_null(q.op);
    assert_non_null(q.action);
    if (!amz_params_decode(t->a, q.op, params + 1, n - 1, &q.in, &flaw)) {
        t->refusal = (struct amz_refusal){.status = 400, .code = "flaw", .message = flaw.message};
        return false;
    }
    arena_defer(t->a, put_json, q.in);
    q.out = t->out = json_object_new_object();
    arena_defer(t->a, put_json, q.out);
    bool ok = q.action->run(&q);
    t->refusal = q.refusal;
    if (ok) {
        assert_int_equal(q.refusal.status, 0);
        check_answer(t, q.op);
    } else {
        assert_int_not_equal(q.refusal.status, 0);
    }
    return ok;
}

void ec2_must(struct ec2_test *t, const char *request)
{
    if (!ec2_call(t, request)) {
        fail_msg("%s: %s: %s", request, t->refusal.code, t->refusal.message);
    }
}

const char *ec2_state(struct ec2_test *t)
{
    struct json_object *world = json_object_new_object();
    amz_store_dump(t->aws, world);
    const char *text = json_text(t->a, world, JSON_SORTED);
    json_object_put(world);
    return text;
}

void ec2_refused(struct ec2_test *t, const char *what, const char *request, const char *code,
                 const char *text)
{
    const char *before = ec2_state(t);
    if (ec2_call(t, request)) {
        fail_msg("%s: %s was served, want %s", what, request, code);
    }
    if (!str_eq(t->refusal.code, code) || (text && !strstr(t->refusal.message, text))) {
        fail_msg("%s: got %s: %s, want %s: %s", what, t->refusal.code, t->refusal.message, code,
                 str_nonnull(text));
    }
    assert_int_equal(t->refusal.status, 400);
    assert_string_equal(ec2_state(t), before);
}

/* --- short ways ------------------------------------------------------------------------------- */

void ec2_setting(struct ec2_test *t, const char *name, int64_t value)
{
    const char *dot = strchr(name, '.');
    if (!t->aws->settings) {
        t->aws->settings = json_object_new_object();
    }
    struct json_object *o = t->aws->settings;
    if (dot) {
        const char *outer = arena_strndup(t->a, name, (size_t)(dot - name));
        if (!json_member(o, outer)) {
            json_add(o, outer, json_object_new_object());
        }
        o = json_member(o, outer);
    }
    json_object_object_add(o, dot ? dot + 1 : name, json_object_new_int64(value));
}

const char *ec2_make_group(struct ec2_test *t, const char *name)
{
    ec2_must(t, arena_printf(t->a,
                             "Action=CreateSecurityGroup&GroupName=%s&GroupDescription=d&"
                             "VpcId={vpc}",
                             name));
    return ec2_text(t, "GroupId");
}
