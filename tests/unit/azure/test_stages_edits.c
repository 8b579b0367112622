/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_edits.c: edits of Services that serve: what both Services let in is never shut out,
 * what is left is closed, and a wish that upstream reads otherwise waits for what stands; under the
 * real driver, with a cloud in memory (stage_rig.h). */
#include "tests/unit/azure/stage_rig.h"

#include "common/lb/service_rules.h"
#include "tests/support/unit.h"

#include <limits.h>

#define ON_NODES "{\"azure-disable-load-balancer-floating-ip\":\"true\"}"
#define ON_LB1   "{\"azure-load-balancer-configurations\":\"lb1\"}"
#define ON_LB1_NODES                                                                               \
    "{\"azure-load-balancer-configurations\":\"lb1\","                                             \
    "\"azure-disable-load-balancer-floating-ip\":\"true\"}"
#define INTERNAL(x) "{\"azure-load-balancer-internal\":\"" x "\"}"
#define AT(ip)      "{\"azure-load-balancer-ipv4\":\"" ip "\"}"

static void edit(struct stage_rig *r, struct rig_service *s, const char *annotations)
{
    s->annotations = annotations;
    s->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
}

/* ---- what an edit leaves --------------------------------------------------------------------- */

static void floating_ip__switched_on__is_let_in_before_and_closed_on_the_nodes_after(void **state)
{
    struct stage_rig *r = *state;
    stage_rig_two_balancers(r);
    stage_rig_add_node(r, "vm-0", "10.0.1.0");
    struct rig_service *web = stage_rig_add(r, "web", ON_NODES, NULL);
    stage_rig_run(r);
    same_text("rules", stage_rig_rules(r), "30080>10.0.1.0");
    edit(r, web, NULL);
    written(r, "admit: change network security group nsg [web]\n"
               "balancers: change load balancer lb1 [web]\n"
               "security: change network security group nsg [web]\n");
    same_text("rules", stage_rig_rules(r), "80>20.0.0.1");
    stage_rig_settled(r);
}

/* A refused edit that no process has seen otherwise: a node joins, and nothing of the
 * edit is carried out. */
static void unproven__a_node_comes__joins_what_stands(void **state)
{
    static const struct {
        const char *annotations, *spec;
    } edits[] = {
        {ON_NODES,
         "\"ports\":[{\"name\":\"x\",\"port\":81,\"protocol\":\"TCP\",\"nodePort\":30081}],"
         "\"loadBalancerSourceRanges\":[\"192.0.2.0/24\"]"},
        {NULL, NULL},
        {INTERNAL("true"), NULL},
        {"{\"azure-allowed-service-tags\":\"No Tag\"}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
        struct stage_rig *r = i == 0 ? *state : stage_rig_new();
        stage_rig_two_balancers(r);
        stage_rig_add_node(r, "vm-0", "10.0.1.0");
        struct rig_service *web = stage_rig_add(r, "web", ON_NODES, NULL);
        stage_rig_run(r);
        same_text("rules", stage_rig_rules(r), "30080>10.0.1.0");
        stage_rig_add_node(r, "vm-1", "10.0.1.1");
        web->annotations = edits[i].annotations;
        web->spec = edits[i].spec;
        web->verb = TT_VERB_UPDATE;
        web->reasons = TT_REASON_NODES;
        web->flags = TT_ITEM_UNPROVEN;
        stage_rig_run(r);
        succeeded(web);
        written(r, "members: change backend address pool lb1/kubernetes [web]\n"
                   "security: change network security group nsg [web]\n");
        same_text("rules", stage_rig_rules(r), "30080>10.0.1.0,10.0.1.1");
        if (i > 0) {
            stage_rig_free(r);
        }
    }
}

/* Values that upstream ignores stay on adopted load balancers; on created ones they are an edit,
 * even an unobserved one. */
static void unreadable_address__of_what_was_made_here__refused(void **state)
{
    struct stage_rig *r = *state;
    stage_rig_two_balancers(r);
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    succeeded(web);
    web->spec = "\"ports\":[{\"port\":80,\"protocol\":\"TCP\",\"nodePort\":30080}],"
                "\"loadBalancerIP\":\"none\"";
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    web->verb = TT_VERB_ENSURE;
    web->flags = TT_ITEM_PUT_RIGHT | TT_ITEM_MADE;
    stage_rig_run(r);
    assert_int_equal(web->code, TT_INVALID);
    written(r, "");
}

/* Upstream's leniency for what was taken over goes by the finalizer, too: another program may have
 * wiped the status. */
static void unreadable_address__of_what_stands_with_a_wiped_status__is_passed_over(void **state)
{
    struct stage_rig *r = *state;
    static const char *const finalizers[] = {LB_CLEANUP_FINALIZER};
    struct azure_naming naming = {.config = &r->p.config};
    for (uint32_t stands = 0; stands < 2; stands++) {
        struct tt_service in =
            *azure_test_service(r->a, "web", NULL, "\"loadBalancerIP\":\"none\"");
        struct err err = ERR_INIT;
        in.finalizers = finalizers;
        in.n_finalizers = stands;
        assert_int_equal(in.n_ingress, 0);
        const struct azure_service *s = azure_service_read(r->a, &naming, &in);
        assert_int_equal(azure_service_check_edit(s, NULL, false, &err),
                         stands == 1 ? ERR_OK : ERR_INVALID);
    }
}

/* A Service that was served at node ports asks for floating IP; nothing is written for that yet. */
static struct rig_service *back_to_floating_ip(struct stage_rig *r)
{
    stage_rig_two_balancers(r);
    stage_rig_add_node(r, "vm-0", "10.0.1.0");
    struct rig_service *web = stage_rig_add(r, "web", ON_NODES, NULL);
    stage_rig_run(r);
    web->annotations = NULL;
    web->verb = TT_VERB_ENSURE;
    return web;
}

/* Both are open as long as the balancer is not written. */
static void floating_ip__balancer_refused_once__is_served_as_before(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = back_to_floating_ip(r);
    stage_rig_fail_once(r, "lb1", ERR_TRANSIENT);
    r->fail_message = "no";
    stage_rig_run(r);
    same_text("message", web->message, "load balancer lb1: no");
    same_text("rules", stage_rig_rules(r), "30080>10.0.1.0 80>20.0.0.1");
    edit(r, web, NULL);
    succeeded(web);
    same_text("rules", stage_rig_rules(r), "80>20.0.0.1");
    stage_rig_settled(r);
}

/* The rule of another Service at the same nodes, and of the same one, stays. */
static void floating_ip__balancer_refused__shuts_again_what_the_edit_let_in(void **state)
{
    static const char *const other =
        "\"ports\":[{\"name\":\"a\",\"port\":81,\"protocol\":\"TCP\",\"nodePort\":30081}]";
    static const struct {
        const char *before, *after;
    } rows[] = {
        {ON_LB1_NODES, ON_LB1},
        {ON_LB1, ON_LB1_NODES},
    };
    static const int codes[] = {ERR_INVALID, ERR_QUOTA, ERR_FORBIDDEN};
    for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(codes); i++) {
        const size_t row = i / ARRAY_LEN(codes);
        struct stage_rig *r = i == 0 ? *state : stage_rig_new();
        stage_rig_two_balancers(r);
        stage_rig_add_node(r, "vm-0", "10.0.1.0");
        struct rig_service *web = stage_rig_add(r, "web", rows[row].before, NULL);
        struct rig_service *api = stage_rig_add(r, "api", ON_LB1_NODES, other);
        stage_rig_run(r);
        succeeded(api);
        const char *stood = stage_rig_rules(r);
        web->annotations = rows[row].after;
        web->verb = TT_VERB_ENSURE;
        r->fail = "lb1";
        r->fail_times = UINT_MAX; /* also when half of the batch is tried alone */
        r->fail_code = codes[i % ARRAY_LEN(codes)];
        r->fail_message = "no";
        stage_rig_run(r);
        same_text("message", web->message, "load balancer lb1: no");
        assert_int_equal(web->code, codes[i % ARRAY_LEN(codes)]);
        same_text("rules", stage_rig_rules(r), stood);
        succeeded(api);
        r->fail_times = 0;
        edit(r, web, rows[row].after);
        succeeded(web);
        stage_rig_settled(r);
        if (i > 0) {
            stage_rig_free(r);
        }
    }
}

/* The second try opens once more; from then on each further one writes nothing, until the Service
 * is another one. */
static void floating_ip__refused_again_and_again__stays_open_from_the_second_try_on(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = back_to_floating_ip(r);
    static const char *const rules[] = {
        "30080>10.0.1.0",
        "30080>10.0.1.0 80>20.0.0.1",
        "30080>10.0.1.0 80>20.0.0.1",
    };
    r->fail = "lb1";
    r->fail_times = UINT_MAX;
    r->fail_code = ERR_FORBIDDEN;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        edit(r, web, NULL);
        assert_int_equal(web->code, ERR_FORBIDDEN);
        same_text("rules", stage_rig_rules(r), rules[i]);
    }
    same_text("the third try", r->log, "balancers: change load balancer lb1 [web]\n");
    web->spec = "\"ports\":[{\"name\":\"a\",\"port\":80,\"nodePort\":30080},"
                "{\"name\":\"b\",\"port\":81,\"nodePort\":30081}]";
    edit(r, web, NULL); /* refused, too: shut again */
    same_text("rules after another edit", stage_rig_rules(r), "30080>10.0.1.0");
    web->spec = NULL;
    r->fail_times = 0;
    edit(r, web, ON_NODES); /* taken back */
    succeeded(web);
    same_text("rules", stage_rig_rules(r), "30080>10.0.1.0");
    stage_rig_settled(r);
}

/* The balancer sends traffic to the new place, and the group's second write is refused: what it
 * needs there stays. */
static void floating_ip__second_write_of_the_group_refused__stays_open(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = back_to_floating_ip(r);
    r->fail = "nsg";
    r->fail_after = 1;
    r->fail_times = 1;
    r->fail_code = ERR_FORBIDDEN;
    r->fail_message = "no";
    stage_rig_run(r);
    same_text("message", web->message, "network security group nsg: no");
    same_text("rules", stage_rig_rules(r), "30080>10.0.1.0 80>20.0.0.1");
    edit(r, web, NULL);
    succeeded(web);
    same_text("rules", stage_rig_rules(r), "80>20.0.0.1"); /* what it left is still known */
    stage_rig_settled(r);
}

static void shared_address__left_by_an_edit__has_the_port_closed_at_once(void **state)
{
    struct stage_rig *r = *state;
    (void)ADD(r, "web");
    stage_rig_run(r);
    struct rig_service *api = stage_rig_add(
        r, "api", AT("20.0.0.1"),
        "\"ports\":[{\"name\":\"a\",\"port\":81,\"protocol\":\"TCP\",\"nodePort\":30081}]");
    stage_rig_run(r);
    succeeded(api);
    same_text("rules", stage_rig_rules(r), "80>20.0.0.1 81>20.0.0.1");
    edit(r, api, NULL);
    succeeded(api);
    same_text("rules", stage_rig_rules(r), "80>20.0.0.1 81>20.0.0.2");
    stage_rig_settled(r);
}

/* The public IP of an IPv6 Service has the name that the one of IPv4 gets beside it, and Azure
 * changes the family of none: that is said before the first write, and what serves stays. */
static void second_family__name_taken_by_the_first__refused_before_the_first_write(void **state)
{
    struct stage_rig *r = *state;
    const char *spec = "\"ports\":[{\"port\":80,\"nodePort\":30080}],\"ipFamilies\":[%s]";
    struct rig_service *web = stage_rig_add(r, "web", NULL, arena_printf(r->a, spec, "\"IPv6\""));
    stage_rig_run(r);
    succeeded(web);
    web->spec = arena_printf(r->a, spec, "\"IPv6\",\"IPv4\"");
    edit(r, web, NULL);
    assert_int_equal(web->code, TT_IN_USE);
    same_text(
        "message", web->message,
        "public IP kubernetes-aweb is of IPv6, which Azure does not change: name one of IPv4 "
        "with annotation service.beta.kubernetes.io/azure-pip-name, or make the Service anew");
    written(r, "");
    web->spec = arena_printf(r->a, spec, "\"IPv6\"");
    stage_rig_settled(r);
}

/* One Service leaves the shared address, and another one takes over its port there in the same
 * sync: clients of the first one do not come to the second one. */
static void shared_address__port_taken_over_in_the_same_sync__admits_its_new_owner_s_clients(
    void **state)
{
    struct stage_rig *r = *state;
    const char *ports = "\"ports\":[{\"name\":\"a\",\"port\":%s,\"protocol\":\"TCP\","
                        "\"nodePort\":30081}],\"loadBalancerSourceRanges\":[\"%s\"]";
    struct rig_service *web =
        stage_rig_add(r, "web", NULL, arena_printf(r->a, ports, "80", "192.0.2.0/24"));
    stage_rig_run(r);
    struct rig_service *api =
        stage_rig_add(r, "api", AT("20.0.0.1"), arena_printf(r->a, ports, "81", "198.51.100.0/24"));
    stage_rig_run(r);
    succeeded(api);
    same_text("rules", stage_rig_rules(r), "80>20.0.0.1 81>20.0.0.1");
    web->spec = arena_printf(r->a, ports, "81", "192.0.2.0/24");
    web->verb = TT_VERB_ENSURE;
    edit(r, api, NULL);
    succeeded(web);
    succeeded(api);
    same_text("rules", stage_rig_rules(r), "81>20.0.0.2 81>20.0.0.1");
    stage_rig_settled(r);
}

/* A private link that cannot be is refused alone, without a write of it; what else the edit asks
 * for is carried out. */
static void link__that_cannot_be__refused_alone(void **state)
{
    static const struct {
        const char *annotation, *message;
        int code;
    } rows[] = {
        {"\"azure-pls-ip-configuration-subnet\":\"nope\"",
         "subnet nope of the private link service does not exist", TT_NOT_FOUND},
        {"\"azure-pls-ip-configuration-ip-address\":\"192.0.2.9\"",
         "annotation service.beta.kubernetes.io/azure-pls-ip-configuration-ip-address: 192.0.2.9 "
         "is "
         "not in subnet subnet (10.0.0.0/16)",
         TT_INVALID},
        {"\"azure-pls-ip-configuration-ip-address\":\"10.0.0.3\"",
         "annotation service.beta.kubernetes.io/azure-pls-ip-configuration-ip-address: 10.0.0.3 is "
         "reserved by Azure in subnet subnet (10.0.0.0/16)",
         TT_INVALID},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web =
            stage_rig_add(r, "web", "{\"azure-load-balancer-internal\":\"true\"}", NULL);
        stage_rig_run(r);
        web->spec = "\"ports\":[{\"port\":81,\"nodePort\":30081}]";
        const char *notes = arena_printf(r->a,
                                         "{\"azure-load-balancer-internal\":\"true\","
                                         "\"azure-pls-create\":\"true\",%s}",
                                         rows[i].annotation);
        web->annotations = notes;
        web->verb = TT_VERB_ENSURE;
        stage_rig_plan(r);
        written(r, "balancers: change load balancer kubernetes-internal [web]\n");
        edit(r, web, notes);
        written(r, "balancers: change load balancer kubernetes-internal [web]\n");
        same_text("message", web->message, rows[i].message);
        assert_int_equal(web->code, rows[i].code);
        same_text("rules", stage_rig_elements(r, "kubernetes-internal", "loadBalancingRules"),
                  "aweb-TCP-81");
        edit(r, web, notes);
        written(r, "");
        stage_rig_free(r);
    }
}

/* A public address that a Service keeps asking for when it is made internal, or any other one
 * outside the subnet, is refused before the first write, and what stands stays. */
static void internal__address_outside_the_subnet__refused_before_the_first_write(void **state)
{
    static const struct {
        const char *internal, *message;
    } rows[] = {
        {"\"azure-load-balancer-ipv4\":\"20.0.0.1\"", "20.0.0.1"},
        {"\"azure-load-balancer-ipv4\":\"20.0.0.1\",\"azure-pls-create\":\"true\"", "20.0.0.1"},
        {"\"azure-load-balancer-ipv4\":\"10.9.9.9\"", "10.9.9.9"},
        {"\"azure-load-balancer-ipv4\":\"10.9.9.9\","
         "\"azure-disable-load-balancer-floating-ip\":\"true\"",
         "10.9.9.9"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = i == 0 ? *state : stage_rig_new();
        struct rig_service *web = ADD(r, "web");
        stage_rig_run(r);
        same_text("rules", stage_rig_rules(r), "80>20.0.0.1");
        edit(
            r, web,
            arena_printf(r->a, "{\"azure-load-balancer-internal\":\"true\",%s}", rows[i].internal));
        assert_int_equal(web->code, TT_INVALID);
        same_text("message", web->message,
                  arena_printf(r->a,
                               "load balancer kubernetes-internal: the internal load balancer "
                               "cannot have the address %s that the Service asks for: it is not "
                               "in subnet subnet (10.0.0.0/16)",
                               rows[i].message));
        written(r, "");
        web->verb = TT_VERB_ENSURE;
        stage_rig_plan(r);
        written(r, "");
        edit(r, web, INTERNAL("true"));
        succeeded(web);
        edit(
            r, web,
            arena_printf(r->a, "{\"azure-load-balancer-internal\":\"true\",%s}", rows[i].internal));
        assert_int_equal(web->code, TT_INVALID);
        written(r, "");
        if (i > 0) {
            stage_rig_free(r);
        }
    }
}

/* One write gives the port to the new Service that the old one still has: refused, it
 * is taken apart. */
static void merged_write__refused__what_goes_is_written_first(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *old = stage_rig_add(r, "old", INTERNAL("true"), NULL);
    (void)stage_rig_add(r, "other", INTERNAL("true"), NULL);
    stage_rig_run(r);
    old->verb = TT_VERB_DELETE;
    struct rig_service *new = stage_rig_add(r, "new", INTERNAL("true"), NULL);
    stage_rig_fail_once(r, "kubernetes-internal", ERR_IN_USE);
    r->fail_message = "frontendIPConfigurations/aold and frontendIPConfigurations/anew";
    stage_rig_run(r);
    succeeded(old);
    succeeded(new);
    same_text("frontends", stage_rig_elements(r, "kubernetes-internal", "frontendIPConfigurations"),
              "aother anew");
    stage_rig_settled(r);
}

/* The frontends of the balancer in each write: "old other; other; ". */
struct written_frontends {
    const char *text;
};

static const char *frontends_of(struct stage_rig *r, struct json_object *lb)
{
    const char *out = "";
    struct json_object *all = json_path(lb, "properties.frontendIPConfigurations");
    for (size_t i = 0; i < json_len(all); i++) {
        const char *name = json_str(json_object_array_get_idx(all, i), "name");
        out = arena_printf(r->a, "%s%s%s", out, i > 0 ? " " : "", name + 1);
    }
    return out;
}

static void note_frontends(struct stage_rig *r, const struct lb_op *op, struct json_object *was,
                           const struct err *err)
{
    struct written_frontends *w = r->arg;
    const struct azure_write *sent = op->arg;
    (void)was;
    if (str_eq(op->name, "kubernetes-internal")) {
        w->text = arena_printf(r->a, "%s%s%s; ", w->text, frontends_of(r, sent->spec.body),
                               err->code == ERR_OK ? "" : " refused");
    }
}

/* The halves of that write: what goes is written alone, and stays written though what comes is
 * refused for ever. */
static void merged_write__refused__the_deletion_does_not_wait_for_what_comes(void **state)
{
    static const struct {
        const char *poison; /* NULL: refused once */
        const char *writes, *frontends;
    } rows[] = {
        {NULL, "other new refused; other; other new; ", "aother anew"},
        {"anew", "other new refused; other; other new refused; ", "aother"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = stage_rig_new();
        struct written_frontends w = {.text = ""};
        struct rig_service *old = stage_rig_add(r, "old", INTERNAL("true"), NULL);
        (void)stage_rig_add(r, "other", INTERNAL("true"), NULL);
        stage_rig_run(r);
        old->verb = TT_VERB_DELETE;
        struct rig_service *new = stage_rig_add(r, "new", INTERNAL("true"), NULL);
        r->wrote = note_frontends;
        r->arg = &w;
        r->poison = rows[i].poison;
        stage_rig_fail_once(r, rows[i].poison == NULL ? "kubernetes-internal" : NULL, ERR_IN_USE);
        r->fail_message = "frontendIPConfigurations/aold and frontendIPConfigurations/anew";
        stage_rig_run(r);
        succeeded(old);
        assert_int_equal(new->code == TT_OK, rows[i].poison == NULL);
        same_text("writes", w.text, rows[i].writes);
        same_text("frontends",
                  stage_rig_elements(r, "kubernetes-internal", "frontendIPConfigurations"),
                  rows[i].frontends);
        stage_rig_free(r);
    }
}

/* ---- the side -------------------------------------------------------------------------------- */

/* The balancer that the Go controller or we have left, the annotation then, and which balancers
 * there are in the end. */
static const struct {
    const char *before; /* NULL: nothing stands */
    const char *after;
    const char *balancers;
    bool repair_adopted;
} sides[] = {
    {"{}", INTERNAL("TRUE"), "kubernetes"},
    {"{}", INTERNAL("True"), "kubernetes"},
    {"{}", INTERNAL("TRUE"), "kubernetes-internal", true},
    {"{}", INTERNAL("true"), "kubernetes-internal"},
    {"{}", INTERNAL("yes"), "kubernetes"},
    {INTERNAL("true"), INTERNAL("TRUE"), "kubernetes-internal"},
    {INTERNAL("true"), "{}", "kubernetes"},
    {NULL, INTERNAL("TRUE"), "kubernetes-internal"},
};

static void internal__of_another_case__does_not_move_what_stands(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
        struct stage_rig *r = stage_rig_new();
        r->p.repair_adopted = sides[i].repair_adopted;
        struct rig_service *web = stage_rig_add(
            r, "web", sides[i].before != NULL ? sides[i].before : sides[i].after, NULL);
        stage_rig_run(r);
        r->events = "";
        edit(r, web, sides[i].after);
        same_text("message", web->message, "");
        same_text(sides[i].after, stage_rig_names(r, AZURE_LBS), sides[i].balancers);
        stage_rig_settled(r);
        stage_rig_free(r);
    }
}

/* ---- other wishes that upstream reads otherwise ---------------------------------------------- */

#define RANGES(x) "{\"azure-allowed-ip-ranges\":\"" x "\"}"
#define LINK(x)                                                                                    \
    "{\"azure-load-balancer-internal\":\"true\",\"azure-pls-proxy-protocol\":\"true\","            \
    "\"azure-pls-create\":\"" x "\"}"
#define LOCAL                                                                                      \
    "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32000,"                           \
    "\"ports\":[{\"port\":80,\"nodePort\":30080}]"
#define GARBAGE "\"loadBalancerIP\":\"garbage\",\"ports\":[{\"port\":80,\"nodePort\":30080}]"
#define PLAIN   "\"ports\":[{\"port\":80,\"nodePort\":30080}]"

/* The Go controller's state equals that of the first three columns in a form that both read
 * alike. */
static const struct {
    const char *row;
    const char *made, *made_spec; /* what stands */
    const char *wish, *spec;      /* the doubtful words for it */
    const char *before;           /* an edit that this process sees: annotations before it */
    bool repair_adopted;
    bool changes; /* our reading is carried out */
    int32_t code;
} wishes[] = {
    {"blank ranges, taken over", RANGES("nonsense"), NULL, RANGES(""), NULL, NULL},
    {"blanks alone", RANGES("nonsense"), NULL, RANGES("  "), NULL, NULL},
    {"blank ranges, not edited", RANGES("nonsense"), NULL, RANGES(""), NULL, RANGES("")},
    {"the other list", RANGES("nonsense"), NULL, "{\"load-balancer-source-ranges\":\"\"}", NULL,
     NULL},
    {"blank ranges, edited", RANGES("nonsense"), NULL, RANGES(""), NULL, RANGES("nonsense"), false,
     true},
    {"blank ranges, repaired", RANGES("nonsense"), NULL, RANGES(""), NULL, NULL, true, true},
    {"blank ranges, made by us", "{}", NULL, RANGES(""), NULL, NULL},
    {"ranges taken off", RANGES("nonsense"), NULL, "{}", NULL, NULL, false, true},
    {"link without blanks", LINK("true"), LOCAL, LINK("TRUE"), LOCAL, NULL},
    {"link with blanks, probed as upstream does", LINK("no"), LOCAL, LINK(" true"), LOCAL, NULL,
     false, true}, /* the link alone, see below */
    {"no address, taken over", "{}", PLAIN, "{}", GARBAGE, NULL},
    {"no address, a new Service", "{}", GARBAGE, "{}", GARBAGE, NULL, false, false, TT_INVALID},
    {"no address, repaired", "{}", PLAIN, "{}", GARBAGE, NULL, true, false, TT_INVALID},
};

static void wishes__that_upstream_reads_otherwise__wait_for_an_edit(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
        struct stage_rig *r = stage_rig_new();
        print_message("# %s\n", wishes[i].row);
        struct rig_service *web = stage_rig_add(r, "web", wishes[i].made, wishes[i].made_spec);
        stage_rig_run(r);
        int32_t made = web->code;
        r->p.repair_adopted = wishes[i].repair_adopted;
        web->spec = wishes[i].spec;
        web->before = wishes[i].before;
        edit(r, web, wishes[i].wish);
        assert_int_equal(web->code, wishes[i].code);
        assert_int_equal(r->log[0] != '\0', wishes[i].changes);
        assert_true(made == TT_OK || wishes[i].code != TT_OK);
        stage_rig_free(r);
    }
}

/* One Service is closed by a deny rule, another one has a blank list and is open: each stage that
 * writes the group asks whether the rule closes the second one, too, the last one included, which
 * reads nothing when no Service has moved. */
static void blank_ranges__beside_a_service_that_denies_all__are_open(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *shut = stage_rig_add(r, "shut", RANGES("nonsense"), NULL);
    struct rig_service *open = stage_rig_add(r, "open", RANGES("  "), NULL);
    stage_rig_run(r);
    succeeded(shut);
    succeeded(open);
    assert_non_null(strstr(stage_rig_rules(r), open->status));
    stage_rig_settled(r);
}

/* The link comes; the probe stays the one that upstream left, until the annotation is edited. */
static void link_with_blanks__its_probe_waits(void **state)
{
    static const struct {
        const char *before, *probes;
    } rows[] = {{NULL, "aweb-TCP-32000"}, {LINK("no"), "aweb-TCP-80"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = stage_rig_add(r, "web", LINK("no"), LOCAL);
        stage_rig_run(r);
        web->before = rows[i].before;
        edit(r, web, LINK(" true "));
        succeeded(web);
        same_text("link", stage_rig_names(r, AZURE_PLSS), "pls-aweb");
        same_text("probes", stage_rig_elements(r, "kubernetes-internal", "probes"), rows[i].probes);
        stage_rig_free(r);
    }
}

UNIT_MAIN(stages_edits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wishes__that_upstream_reads_otherwise__wait_for_an_edit),
        RIG_TEST(blank_ranges__beside_a_service_that_denies_all__are_open),
        cmocka_unit_test(link_with_blanks__its_probe_waits),
        RIG_TEST(floating_ip__switched_on__is_let_in_before_and_closed_on_the_nodes_after),
        RIG_TEST(unproven__a_node_comes__joins_what_stands),
        RIG_TEST(unreadable_address__of_what_was_made_here__refused),
        RIG_TEST(floating_ip__balancer_refused_once__is_served_as_before),
        RIG_TEST(floating_ip__balancer_refused__shuts_again_what_the_edit_let_in),
        RIG_TEST(floating_ip__refused_again_and_again__stays_open_from_the_second_try_on),
        RIG_TEST(floating_ip__second_write_of_the_group_refused__stays_open),
        RIG_TEST(shared_address__left_by_an_edit__has_the_port_closed_at_once),
        RIG_TEST(second_family__name_taken_by_the_first__refused_before_the_first_write),
        RIG_TEST(shared_address__port_taken_over_in_the_same_sync__admits_its_new_owner_s_clients),
        cmocka_unit_test(link__that_cannot_be__refused_alone),
        RIG_TEST(internal__address_outside_the_subnet__refused_before_the_first_write),
        RIG_TEST(unreadable_address__of_what_stands_with_a_wiped_status__is_passed_over),
        RIG_TEST(merged_write__refused__what_goes_is_written_first),
        cmocka_unit_test(merged_write__refused__the_deletion_does_not_wait_for_what_comes),
        cmocka_unit_test(internal__of_another_case__does_not_move_what_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
