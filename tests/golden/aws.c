/* SPDX-License-Identifier: Apache-2.0 */
/* aws.c: the planner of AWS, asked with files: the plan, what carrying it out sends, and what is
 * left then.
 *
 * facts.json, all optional:
 *     verb          "ensure" (unless said otherwise) or "delete"
 *     repairs       true: what upstream would have left is fixed
 *     config        {"mode": NLBSecurityGroupMode, "group": ElbSecurityGroup, "probe": "Shared",
 *                   "noNodeRules": true}
 *     was           a merge patch of service.json: this Service was served before, as we serve it;
 *                   or a list of such, one after the other
 *     wasConfig     the config of that time
 *     wasNodes      names of the nodes of that time; absent: all
 *     interrupted   the last of them ended after so many calls
 *     instances     states of instances that are not running, by id
 *
 * observed.json: the member "aws" of a world ({"ec2": {…}, "elb": {…}, "elbv2": {…}}), over a VPC
 * with three public subnets, a security group "nodes" and instances i-1 to i-4 in it; a member of
 * ec2 that is given replaces the one here.
 *
 * plan.txt: the plan; "carried out": each call with its parameters, in a world that refuses what
 * AWS refuses; "events"; "then": the plan of the next sync, which shall be empty. */
#include "tests/golden/aws_load.h"
#include "tests/golden/golden.h"
#include "tests/golden/golden_dump.h"

#include <string.h>

#include "common/lb/plan_print.h"
#include "providers/aws/aws_sync.h"
#include "tests/support/objects.h"

/* clang-format off */
#define SUBNET(id, zone, cidr) \
    "{\"SubnetId\":\"" id "\",\"VpcId\":\"vpc-1\",\"AvailabilityZone\":\"us-east-1" zone "\",\"CidrBlock\":\"" cidr "\"," \
    "\"State\":\"available\",\"Tags\":[{\"Key\":\"kubernetes.io/cluster/c1\",\"Value\":\"shared\"}]}"
#define INSTANCE(id, zone) \
    "{\"Instances\":[{\"InstanceId\":\"" id "\",\"State\":{\"Name\":\"running\"},\"VpcId\":\"vpc-1\"," \
    "\"Placement\":{\"AvailabilityZone\":\"us-east-1" zone "\"}," \
    "\"SecurityGroups\":[{\"GroupId\":\"sg-nodes\",\"GroupName\":\"nodes\"}]," \
    "\"Tags\":[{\"Key\":\"kubernetes.io/cluster/c1\",\"Value\":\"owned\"}]}]}"
static const char base_world[] =
    "{\"ec2\":{\"Subnets\":["
    SUBNET("subnet-1", "a", "10.0.0.0/24") "," SUBNET("subnet-2", "b", "10.0.1.0/24") "," SUBNET("subnet-3", "c", "10.0.2.0/24")
    "],\"RouteTables\":[{\"RouteTableId\":\"rtb-1\",\"VpcId\":\"vpc-1\",\"Associations\":[{\"Main\":true}],"
    "\"Routes\":[{\"DestinationCidrBlock\":\"0.0.0.0/0\",\"GatewayId\":\"igw-1\"}]}],"
    "\"AvailabilityZones\":[{\"ZoneName\":\"us-east-1a\",\"ZoneType\":\"availability-zone\"},"
    "{\"ZoneName\":\"us-east-1b\",\"ZoneType\":\"availability-zone\"},"
    "{\"ZoneName\":\"us-east-1c\",\"ZoneType\":\"availability-zone\"}],"
    "\"SecurityGroups\":[{\"GroupId\":\"sg-nodes\",\"GroupName\":\"nodes\",\"Description\":\"nodes\",\"VpcId\":\"vpc-1\","
    "\"Tags\":[{\"Key\":\"kubernetes.io/cluster/c1\",\"Value\":\"owned\"}],\"IpPermissions\":[]}],"
    "\"Reservations\":[" INSTANCE("i-1", "a") "," INSTANCE("i-2", "b") "," INSTANCE("i-3", "c") "," INSTANCE("i-4", "a")
    "]}}";
/* clang-format on */

struct show {
    struct arena *a;
    const struct golden_case *in;
    struct str_buf *text;
    struct aws_world world;
    struct aws_naming naming;
    const struct aws_service *service;
    bool repairs;
    bool want;
    struct aws_texts nodes; /* ids */
    struct lb_plan plan;
    struct aws_planning planning;
};

/* ---- the case -------------------------------------------------------------------------------- */

static void put_tree(void *o)
{
    json_object_put(o);
}

static struct json_object *own(struct arena *a, struct json_object *o)
{
    arena_defer(a, put_tree, o);
    return o;
}

/* RFC 7386; new reference. */
static struct json_object *patched(struct json_object *o, struct json_object *patch)
{
    if (!json_object_is_type(patch, json_type_object)) {
        return json_copy(patch);
    }
    struct json_object *out =
        json_object_is_type(o, json_type_object) ? json_copy(o) : json_object_new_object();
    json_object_object_foreach(patch, key, value)
    {
        if (value == NULL) {
            json_object_object_del(out, key);
        } else {
            json_add(out, key, patched(json_member(out, key), value));
        }
    }
    return out;
}

static void read_config(struct show *s, struct json_object *config)
{
    bool shared = str_eq(json_str(config, "probe"), "Shared");
    s->naming = (struct aws_naming){
        .cluster_id = "c1",
        .cluster_name = "kubernetes",
        .region = "us-east-1",
        .vpc = "vpc-1",
        .probe_mode = shared ? AWS_PROBE_SHARED : AWS_PROBE_NODE_PORT,
        .probe_mode_text = shared ? "Shared" : "",
        .probe_port = 10256,
        .probe_path = "/healthz",
        .nlb_group_mode = arena_strdup(s->a, str_nonnull(json_str(config, "mode"))),
        .shared_group = arena_strdup(s->a, str_nonnull(json_str(config, "group"))),
        .no_node_rules = json_bool(config, "noNodeRules", false),
        .options = {.nlb_tags = json_bool(config, "nlbTags", false),
                    .nlb_subnets = json_bool(config, "nlbSubnets", false),
                    .mixed_protocols = json_bool(config, "mixedProtocols", false),
                    .replaces_scheme = json_bool(config, "replaceOnSchemeChange", false)},
    };
}

static bool is_among(struct json_object *names, const char *name)
{
    for (size_t i = 0; i < json_len(names); i++) {
        if (str_eq(json_object_get_string(json_object_array_get_idx(names, i)), name)) {
            return true;
        }
    }
    return names == NULL;
}

/* Instances of the nodes with these names; NULL: of all that may be targets. */
static struct aws_texts node_ids(struct show *s, struct json_object *names)
{
    size_t n = 0;
    size_t kept = 0;
    const struct tt_node **all = test_nodes(s->a, s->in->nodes, &n);
    for (size_t i = 0; i < n; i++) {
        bool takes_part = names != NULL || (all[i]->flags & TT_NODE_ELIGIBLE) != 0;
        if (takes_part && is_among(names, all[i]->name)) {
            all[kept++] = all[i];
        }
    }
    return aws_node_instances(s->a, all, kept, &s->service->node_labels, NULL);
}

static struct aws_texts all_ids(struct show *s)
{
    const struct aws_tags any = {0};
    size_t n = 0;
    const struct tt_node **all = test_nodes(s->a, s->in->nodes, &n);
    return aws_node_instances(s->a, all, n, &any, NULL);
}

static const char *state_text(struct show *s)
{
    struct json_object *base = NULL;
    struct json_object *world = own(s->a, json_object_new_object());
    struct err err = ERR_INIT;
    if (json_parse(base_world, strlen(base_world), NULL, &base, &err) != ERR_OK) {
        str_appendf(s->text, GOLDEN_BROKEN "%s\n", err.message);
        return "{}";
    }
    json_add(world, "aws", patched(own(s->a, base), s->in->observed));
    return json_text(s->a, world, JSON_COMPACT);
}

/* ---- planning -------------------------------------------------------------------------------- */

static bool is_one_of(const struct aws_texts *ids, const char *id)
{
    for (size_t i = 0; i < ids->n; i++) {
        if (str_eq(ids->items[i], id)) {
            return true;
        }
    }
    return false;
}

/* Existing resources, and the instances that are targets. */
static struct aws_surroundings *look_around(struct show *s)
{
    const struct aws_surroundings *all = aws_world_surroundings(&s->world, &s->naming);
    struct aws_surroundings *around = arena_memdup(s->a, all, sizeof *all);
    struct aws_instance *some = ARENA_ARRAY(s->a, struct aws_instance, all->n_instances + 1);
    around->n_instances = 0;
    around->instances = some;
    for (size_t i = 0; i < all->n_instances; i++) {
        if (is_one_of(&s->nodes, all->instances[i].id) &&
            str_eq(all->instances[i].state, "running")) {
            some[around->n_instances++] = all->instances[i];
        }
    }
    return around;
}

static int plan_it(struct show *s, struct err *err)
{
    lb_plan_init(&s->plan, s->a);
    s->planning = (struct aws_planning){
        .a = s->a,
        .plan = &s->plan,
        .naming = &s->naming,
        .service = s->service,
        .seen = aws_world_observe(&s->world, &s->naming, s->service),
        .around = look_around(s),
        .repairs = s->repairs,
        .write_type = &aws_write_type,
    };
    int rc = aws_plan_service(&s->planning, s->want, err);
    return rc == ERR_OK ? lb_plan_seal(&s->plan, err) : rc;
}

static void run_it(struct show *s, int stop_after, struct str_buf *log)
{
    struct aws_world_run run = {.stop_after = stop_after, .log = log};
    struct err err = ERR_INIT;
    if (aws_world_run(&s->world, &s->plan, &run, &err) != ERR_OK) {
        str_appendf(s->text, GOLDEN_BROKEN "%s\n", err.message);
    }
}

static void read_service(struct show *s, struct json_object *tree)
{
    s->service = aws_service_read(s->a, &s->naming, test_service(s->a, tree));
}

static void serve(struct show *s, struct json_object *was, int stop_after)
{
    struct err err = ERR_INIT;
    read_service(s, own(s->a, patched(s->in->service, was)));
    s->nodes = node_ids(s, json_member(s->in->facts, "wasNodes"));
    if (plan_it(s, &err) != ERR_OK) {
        str_appendf(s->text, GOLDEN_BROKEN "was: %s\n", err.message);
        return;
    }
    run_it(s, stop_after, NULL);
}

/* The Service as it was is served, to the end or to some call. */
static void serve_before(struct show *s)
{
    struct json_object *was = json_member(s->in->facts, "was");
    struct json_object *config = json_member(s->in->facts, "wasConfig");
    int stop_after = (int)json_int(s->in->facts, "interrupted", -1);
    if (was == NULL) {
        return;
    }
    read_config(s, config != NULL ? config : json_member(s->in->facts, "config"));
    s->want = true;
    s->repairs = true;
    if (json_object_is_type(was, json_type_object)) {
        serve(s, was, stop_after);
    }
    size_t n = json_len(was);
    for (size_t i = 0; i < n; i++) {
        serve(s, json_object_array_get_idx(was, i), i + 1 == n ? stop_after : -1);
    }
}

static int read_case(struct show *s, struct err *err)
{
    aws_world_init(&s->world, s->a);
    read_config(s, json_member(s->in->facts, "config"));
    read_service(s, s->in->service);
    int rc = aws_load_world(&s->world, &s->naming, state_text(s), all_ids(s), err);
    struct json_object *states = json_member(s->in->facts, "instances");
    for (size_t i = 0; i < s->world.n_instances; i++) {
        struct aws_instance *one = &s->world.instances[i];
        one->state = arena_strdup(s->a, str_or(json_str(states, one->id), one->state));
    }
    return rc;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void show_findings(struct show *s)
{
    const struct aws_service *v = s->service;
    const struct aws_planning *p = &s->planning;
    if (v->n_findings + p->n_findings > 0) {
        str_append(s->text, "\nevents\n");
    }
    for (size_t i = 0; i < v->n_findings; i++) {
        str_appendf(s->text, "  %s: %s\n", v->findings[i].reason, v->findings[i].message);
    }
    for (size_t i = 0; i < p->n_findings; i++) {
        str_appendf(s->text, "  %s: %s\n", p->findings[i].reason, p->findings[i].message);
    }
}

static void show_then(struct show *s)
{
    const struct plan_print how = {.verbose = false};
    struct err err = ERR_INIT;
    str_append(s->text, "\nthen\n");
    if (plan_it(s, &err) != ERR_OK) {
        golden_show_error(s->text, &err);
        return;
    }
    plan_print_text(s->text, lb_plan_view(&s->plan), &how);
    if (!s->want && s->world.n_nlbs + s->world.n_classics + s->world.n_target_groups > 0) {
        str_appendf(s->text, "left\n%s", aws_world_text(&s->world, s->a));
    }
}

static void show(struct arena *a, const struct golden_case *c, struct str_buf *text)
{
    struct show *s = ARENA_NEW(a, struct show);
    struct err err = ERR_INIT;
    *s = (struct show){.a = a, .in = c, .text = text};
    if (read_case(s, &err) != ERR_OK) {
        golden_show_error(text, &err);
        return;
    }
    serve_before(s);
    read_config(s, json_member(c->facts, "config"));
    read_service(s, c->service);
    s->nodes = node_ids(s, NULL);
    s->want = !str_eq(json_str(c->facts, "verb"), "delete");
    s->repairs = json_bool(c->facts, "repairs", false);
    if (plan_it(s, &err) != ERR_OK) {
        golden_show_error(text, &err);
        show_findings(s);
        return;
    }
    golden_show_plan(text, lb_plan_view(&s->plan), &s->plan);
    if (lb_plan_changes(&s->plan) > 0) {
        str_append(text, "\ncarried out\n");
        run_it(s, -1, text);
    }
    show_findings(s);
    show_then(s);
}

const struct golden_provider golden_aws = {.name = "aws", .show = show};
