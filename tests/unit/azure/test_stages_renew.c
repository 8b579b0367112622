/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_renew.c: public IPs that are recreated because their IP tags are others
 * (azure_stage_renew.c), under the real driver, with a cloud in memory (stage_rig.h). */
#include "tests/unit/azure/stage_rig.h"

#include "providers/azure/model/azure_doc.h"
#include "tests/support/unit.h"

#define TAGS    "{\"azure-pip-ip-tags\":\"RoutingPreference=Internet\"}"
#define INTERIM "aweb-interim-8935b81d"
#define DUAL    "\"ports\":[{\"port\":80,\"nodePort\":30080}],\"ipFamilies\":[\"IPv4\",\"IPv6\"]"
#define BEGIN   "addresses: create public IP address " INTERIM " [web]\n"
#define BESIDE                                                                                     \
    "interim: change network security group nsg [web]\n"                                           \
    "interim: change load balancer kubernetes [web]\n"
#define PUT_OFF "renew: change load balancer kubernetes [web]\n"
#define GONE    "renew: delete public IP address kubernetes-aweb [web]\n"
#define MADE    "renew: create public IP address kubernetes-aweb [web]\n"
#define SHUT    "retreat: change network security group nsg [web]\n"
#define REST                                                                                       \
    "admit: change network security group nsg [web]\n"                                             \
    "balancers: change load balancer kubernetes [web]\n"                                           \
    "close: change network security group nsg [web]\n"                                             \
    "release: change load balancer kubernetes [web]\n"                                             \
    "release: delete public IP address " INTERIM " [web]\n"
#define FLOATS_NOT                                                                                 \
    "{\"azure-pip-ip-tags\":\"RoutingPreference=Internet\","                                       \
    "\"azure-disable-load-balancer-floating-ip\":\"true\"}"
#define has_pips(r, want)  same_text("public IPs", stage_rig_names(r, AZURE_PIPS), want)
#define has_rules(r, want) same_text("security rules", stage_rig_rules(r), want)

/* web stands with 20.0.0.1, api beside it; web is edited. */
static struct rig_service *edited(struct stage_rig *r, const char *annotations)
{
    struct rig_service *web = ADD(r, "web");
    (void)ADD(r, "api");
    stage_rig_run(r);
    same_text("before", web->status, "20.0.0.1");
    web->annotations = annotations;
    web->verb = TT_VERB_ENSURE;
    return web;
}

static const char *pip_of_web(struct stage_rig *r)
{
    struct json_object *lb = stage_rig_doc(r, AZURE_LBS, "kubernetes");
    struct json_object *web = azure_find(azure_array(lb, "frontendIPConfigurations"), "aweb");
    return arena_strdup(r->a, azure_id_last(azure_ref(web, "publicIPAddress")));
}

static void ip_tags_differ__made_anew_in_one_plan(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = edited(r, TAGS);
    stage_rig_plan(r);
    written(r, BEGIN BESIDE PUT_OFF GONE MADE REST);
    stage_rig_run(r);
    succeeded(web);
    written(r, BEGIN BESIDE PUT_OFF GONE MADE REST);
    same_text("told meanwhile", web->served, "20.0.0.3 then 20.0.0.4");
    same_text("after", web->status, "20.0.0.4");
    same_text("frontends", stage_rig_elements(r, "kubernetes", "frontendIPConfigurations"),
              "aapi aweb");
    same_text("rules", stage_rig_elements(r, "kubernetes", "loadBalancingRules"),
              "aapi-TCP-80 aweb-TCP-80");
    has_pips(r, "kubernetes-aapi kubernetes-aweb");
    has_rules(r, "80>20.0.0.2,20.0.0.4");
    stage_rig_settled(r);
}

/* The status names the former address still: its frontend and its public IP stay. */
static void status_cannot_be_written__nothing_is_made_anew(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = edited(r, TAGS);
    web->unwritten = TT_TRANSIENT;
    stage_rig_run(r);
    written(r, BEGIN BESIDE);
    same_text("public IP", pip_of_web(r), "kubernetes-aweb");
    web->status = "20.0.0.1";
    web->verb = TT_VERB_ENSURE;
    web->unwritten = TT_OK;
    stage_rig_run(r);
    succeeded(web);
    same_text("told meanwhile", web->served, "20.0.0.3 then 20.0.0.4");
    stage_rig_settled(r);
}

/* Azure accepts a write and then fails to carry it out: the document has no address. */
static void interim_failed__is_written_again(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = edited(r, TAGS);
    stage_rig_fail_once(r, "kubernetes", ERR_TRANSIENT);
    stage_rig_run(r);
    struct json_object *p = azure_props_make(stage_rig_doc(r, AZURE_PIPS, INTERIM));
    json_object_object_del(p, "ipAddress");
    json_add_str(p, "provisioningState", "Failed");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    assert_true(str_has_prefix(r->log, "addresses: change public IP address " INTERIM " [web]\n"));
    stage_rig_settled(r);
}

static void two_families__each_is_made_anew(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", NULL, DUAL);
    stage_rig_run(r);
    web->annotations = TAGS;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    written(r, "addresses: create public IP address " INTERIM " [web]\n"
               "addresses: create public IP address " INTERIM "-IPv6 [web]\n" BESIDE PUT_OFF GONE
               "renew: delete public IP address kubernetes-aweb-IPv6 [web]\n" MADE
               "renew: create public IP address kubernetes-aweb-IPv6 [web]\n"
               "admit: change network security group nsg [web]\n"
               "balancers: change load balancer kubernetes [web]\n"
               "close: change network security group nsg [web]\n"
               "release: change load balancer kubernetes [web]\n"
               "release: delete public IP address " INTERIM " [web]\n"
               "release: delete public IP address " INTERIM "-IPv6 [web]\n");
    has_pips(r, "kubernetes-aweb kubernetes-aweb-IPv6");
    stage_rig_settled(r);
}

/* A base name has 32 bytes, and Azure takes 80 for a rule's. */
static void two_families__names_of_interim_rules_are_short(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", NULL, DUAL);
    stage_rig_run(r);
    web->annotations = TAGS;
    web->verb = TT_VERB_ENSURE;
    stage_rig_fail_once(r, "kubernetes-aweb", ERR_FORBIDDEN);
    stage_rig_run(r);
    same_text("rules", stage_rig_elements(r, "kubernetes", "loadBalancingRules"),
              INTERIM "-TCP-80 " INTERIM "-IPv6-TCP-80-IPv6");
}

/* One family's public IP has gone, the other one's is kept by a refusal: the next sync tells no
 * address before it serves. */
static void two_families__one_is_refused__what_is_told_serves(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", NULL, DUAL);
    stage_rig_run(r);
    web->annotations = TAGS;
    web->verb = TT_VERB_ENSURE;
    stage_rig_fail_once(r, "kubernetes-aweb-IPv6", ERR_FORBIDDEN);
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_FORBIDDEN);
    const char *told = web->served;
    has_pips(r, "kubernetes-aweb-IPv6 " INTERIM " " INTERIM "-IPv6");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    assert_true(str_has_prefix(web->served, arena_printf(r->a, "%s then ", told)));
    stage_rig_settled(r);
}

/* Another prefix is another name: the new one comes before the old one goes, all in one plan. */
static void another_prefix__comes_before_the_old_one_goes(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web =
        edited(r, "{\"azure-pip-prefix-id\":\"/subscriptions/s/resourceGroups/rg/providers/"
                  "Microsoft.Network/publicIPPrefixes/front\"}");
    static const char want[] = "addresses: create public IP address kubernetes-aweb-front [web]\n"
                               "admit: change network security group nsg [web]\n"
                               "balancers: change load balancer kubernetes [web]\n"
                               "close: change network security group nsg [web]\n"
                               "release: change load balancer kubernetes [web]\n"
                               "release: delete public IP address kubernetes-aweb [web]\n";
    stage_rig_plan(r);
    written(r, want);
    stage_rig_run(r);
    succeeded(web);
    written(r, want);
    stage_rig_settled(r);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void tags_refused__nothing_is_lost(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = edited(r, TAGS);
    stage_rig_fail_once(r, INTERIM, ERR_FORBIDDEN);
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_FORBIDDEN);
    written(r, BEGIN);
    same_text("frontend", pip_of_web(r), "kubernetes-aweb");
    has_pips(r, "kubernetes-aweb kubernetes-aapi");
}

/* At a quota what goes has to go first; the balancer stays for that moment, also
 * without any frontend. */
static void no_room__goes_before_it_comes(void **state)
{
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = ADD(r, "web");
        if (!alone) {
            (void)ADD(r, "api");
        }
        stage_rig_run(r);
        web->annotations = TAGS;
        web->verb = TT_VERB_ENSURE;
        stage_rig_fail_once(r, INTERIM, ERR_QUOTA);
        stage_rig_run(r);
        succeeded(web);
        written(r, BEGIN PUT_OFF GONE MADE "balancers: change load balancer kubernetes [web]\n"
                                           "security: change network security group nsg [web]\n"
                                           "close: change network security group nsg [web]\n");
        has_pips(r, alone ? "kubernetes-aweb" : "kubernetes-aapi kubernetes-aweb");
        stage_rig_settled(r);
        stage_rig_free(r);
    }
}

/* The frontend is put on the interim public IP, as no second one can serve beside it. */
#define PUT_ON "interim: change load balancer kubernetes [web]\n"
#define STOPS_IN_BETWEEN                                                                           \
    PUT_ON GONE MADE "admit: change network security group nsg [web]\n"                            \
                     "balancers: change load balancer kubernetes [web]\n"                          \
                     "close: change network security group nsg [web]\n"                            \
                     "release: delete public IP address " INTERIM " [web]\n"

static void no_room_beside__stops_in_between(void **state)
{
    (void)state;
    static const struct {
        const char *fails, *begin;
    } rows[] = {{"kubernetes", BEGIN BESIDE},
                {"nsg", BEGIN "interim: change network security group nsg [web]\n"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = edited(r, TAGS);
        stage_rig_fail_once(r, rows[i].fails, ERR_QUOTA);
        stage_rig_run(r);
        succeeded(web);
        written(r, arena_printf(r->a, "%s%s", rows[i].begin, STOPS_IN_BETWEEN));
        same_text("told meanwhile", web->served, "20.0.0.3 then 20.0.0.4");
        stage_rig_settled(r);
        stage_rig_free(r);
    }
}

static void no_floating_ip__stops_in_between(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web =
        stage_rig_add(r, "web", "{\"azure-disable-load-balancer-floating-ip\":\"true\"}", NULL);
    stage_rig_run(r);
    web->annotations = FLOATS_NOT;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    written(r, BEGIN PUT_ON GONE MADE "balancers: change load balancer kubernetes [web]\n"
                                      "release: delete public IP address " INTERIM " [web]\n");
    same_text("told meanwhile", web->served, "20.0.0.2 then 20.0.0.3");
    stage_rig_settled(r);
}

/* An edit of more than the tags: the interim frontend serves as the Service did, and that is what
 * the security group lets in there. */
static void floating_ip_goes_as_well__the_interim_one_is_open_until_told(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = edited(r, FLOATS_NOT);
    stage_rig_add_node(r, "vm-0", "10.0.1.0");
    stage_rig_fail_once(r, "kubernetes-aweb", ERR_TRANSIENT);
    stage_rig_run(r);
    same_text("told", web->served, "20.0.0.3");
    has_rules(r, "80>20.0.0.1,20.0.0.2,20.0.0.3");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    stage_rig_settled(r);
}

/* The plan knows of the write that lets in at the new address, also if no port of the rules that
 * stand is kept. */
static void ports_change_as_well__planned_as_done(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = edited(r, TAGS);
    web->spec = "\"ports\":[{\"port\":80,\"nodePort\":30080,\"protocol\":\"UDP\"}]";
    stage_rig_plan(r);
    const char *planned = r->log;
    stage_rig_run(r);
    succeeded(web);
    written(r, planned);
    stage_rig_settled(r);
}

/* ---- refusals, while the interim address serves ---------------------------------------------- */

static void beside_refused__the_former_one_serves(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = edited(r, TAGS);
    stage_rig_fail_once(r, "kubernetes", ERR_FORBIDDEN);
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_FORBIDDEN);
    written(r, BEGIN BESIDE SHUT);
    assert_null(web->served);
    same_text("frontend", pip_of_web(r), "kubernetes-aweb");
    has_rules(r, "80>20.0.0.1,20.0.0.2");
    web->annotations = NULL; /* taken back: what stood ready goes */
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    written(r, "release: delete public IP address " INTERIM " [web]\n");
    same_text("after", web->status, "20.0.0.1");
    stage_rig_settled(r);
}

static void deletion_refused__the_interim_one_serves(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = edited(r, TAGS);
    stage_rig_fail_once(r, "kubernetes-aweb", ERR_FORBIDDEN);
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_FORBIDDEN);
    written(r, BEGIN BESIDE PUT_OFF GONE SHUT);
    same_text("told", web->served, "20.0.0.3");
    same_text("frontends", stage_rig_elements(r, "kubernetes", "frontendIPConfigurations"),
              "aapi " INTERIM);
    has_rules(r, "80>20.0.0.2,20.0.0.3");
    web->verb = TT_VERB_ENSURE; /* the next sync goes on */
    stage_rig_run(r);
    succeeded(web);
    written(r, GONE MADE REST);
    stage_rig_settled(r);
}

static void deletion_refused_and_taken_back__the_address_comes_back(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = edited(r, TAGS);
    stage_rig_fail_once(r, "kubernetes-aweb", ERR_FORBIDDEN);
    stage_rig_run(r);
    web->annotations = NULL;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    same_text("after", web->status, "20.0.0.1");
    has_pips(r, "kubernetes-aweb kubernetes-aapi");
    has_rules(r, "80>20.0.0.1,20.0.0.2");
    stage_rig_settled(r);
}

/* From the deletion on its new one is refused as often as r->arg says. */
static void refuse_after_deletion(struct stage_rig *r, const struct lb_op *op,
                                  struct json_object *was, const struct err *err)
{
    const unsigned *times = r->arg;
    (void)was;
    (void)err;
    if (op->verb == LB_DELETE && str_eq(op->name, "kubernetes-aweb")) {
        r->fail = "kubernetes-aweb";
        r->fail_times = *times;
    }
}

/* The next sync continues with exactly the rest, and deletes nothing twice. */
static void new_one_refused__the_interim_one_serves(void **state)
{
    struct stage_rig *r = *state;
    unsigned times = 2;
    struct rig_service *web = edited(r, TAGS);
    r->wrote = refuse_after_deletion;
    r->arg = &times;
    r->fail_code = ERR_FORBIDDEN;
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_FORBIDDEN);
    written(r, BEGIN BESIDE PUT_OFF GONE MADE SHUT);
    same_text("told", web->served, "20.0.0.3");
    has_pips(r, "kubernetes-aapi " INTERIM);
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_FORBIDDEN);
    written(r, "addresses: create public IP address kubernetes-aweb [web]\n");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    written(r, "addresses: create public IP address kubernetes-aweb [web]\n" REST);
    same_text("told in the end", web->served, "20.0.0.4");
    stage_rig_settled(r);
}

/* Another process finds an interim frontend that no status tells any more. */
static void died_before_the_interim_one_went__it_goes(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = edited(r, TAGS);
    r->fail = "kubernetes";
    r->fail_after = 3;
    r->fail_times = 1;
    r->fail_code = ERR_FORBIDDEN;
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_FORBIDDEN);
    same_text("told", web->served, "20.0.0.3 then 20.0.0.4");
    same_text("frontends", stage_rig_elements(r, "kubernetes", "frontendIPConfigurations"),
              "aapi " INTERIM " aweb");
    (void)map_remove(r->p.assigned, "default/web");
    (void)map_remove(r->p.redirected, "default/web");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    has_rules(r, "80>20.0.0.2,20.0.0.4");
    has_pips(r, "kubernetes-aapi kubernetes-aweb");
    stage_rig_settled(r);
}

/* Meanwhile the Service is edited once more: the interim frontend keeps the ports that are asked
 * for, and the one that is new serves at the Service's own frontend. */
static void ports_change_meanwhile__the_interim_one_follows(void **state)
{
    static const char two[] = "\"ports\":[{\"name\":\"a\",\"port\":80,\"nodePort\":30080},"
                              "{\"name\":\"b\",\"port\":81,\"nodePort\":30081}]";
    static const char other[] = "\"ports\":[{\"name\":\"a\",\"port\":80,\"nodePort\":30080},"
                                "{\"name\":\"c\",\"port\":82,\"nodePort\":30082}]";
    struct stage_rig *r = *state;
    unsigned times = 1;
    struct rig_service *web = stage_rig_add(r, "web", NULL, two);
    stage_rig_run(r);
    web->annotations = TAGS;
    web->verb = TT_VERB_ENSURE;
    r->wrote = refuse_after_deletion;
    r->arg = &times;
    r->fail_code = ERR_FORBIDDEN;
    stage_rig_run(r);
    same_text("interim", stage_rig_elements(r, "kubernetes", "loadBalancingRules"),
              INTERIM "-TCP-80 " INTERIM "-TCP-81");
    web->spec = other;
    web->verb = TT_VERB_ENSURE;
    r->fail = INTERIM; /* it is not released at first */
    r->fail_times = 1;
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_FORBIDDEN);
    same_text("told", web->served, "20.0.0.3");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    same_text("rules", stage_rig_elements(r, "kubernetes", "loadBalancingRules"),
              "aweb-TCP-80 aweb-TCP-82");
    stage_rig_settled(r);
}

/* Whichever write is refused, and whatever is asked for then: nothing of the interim one is left,
 * and the status tells an address that serves after every sync. */
static const struct {
    const char *name, *annotations;
    uint32_t verb;
} afterwards[] = {
    {"the same", TAGS, TT_VERB_ENSURE},
    {"taken back", NULL, TT_VERB_ENSURE},
    {"other tags", "{\"azure-pip-ip-tags\":\"a=b\"}", TT_VERB_ENSURE},
    {"internal", "{\"azure-load-balancer-internal\":\"true\"}", TT_VERB_ENSURE},
    {"node ports", FLOATS_NOT, TT_VERB_ENSURE},
    {"another address", "{\"azure-pip-name\":\"mine\"}", TT_VERB_ENSURE},
    {"deleted", TAGS, TT_VERB_DELETE},
};

static bool is_open(struct stage_rig *r, const char *address)
{
    return strstr(stage_rig_rules(r), address) != NULL;
}

static bool has_frontend_with(struct stage_rig *r, const char *address)
{
    struct json_object *lb = stage_rig_doc(r, AZURE_LBS, "kubernetes");
    struct json_object *o;
    AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
        struct json_object *pip = stage_rig_doc(
            r, AZURE_PIPS, azure_id_last(str_nonnull(azure_ref(o, "publicIPAddress"))));
        if (pip != NULL && str_eq(azure_prop_str(pip, "ipAddress"), address)) {
            return true;
        }
    }
    return false;
}

static void check_refused_at(const char *doc, unsigned after, size_t then)
{
    struct stage_rig *r = stage_rig_new();
    struct rig_service *web = edited(r, TAGS);
    stage_rig_put(r, AZURE_PIPS,
                  "{\"name\":\"mine\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
                  "\"ipAddress\":\"20.9.9.9\",\"publicIPAddressVersion\":\"IPv4\","
                  "\"publicIPAllocationMethod\":\"Static\"}}");
    r->fail = doc;
    r->fail_after = after;
    r->fail_times = 1;
    r->fail_code = ERR_FORBIDDEN;
    stage_rig_run(r);
    if (!is_open(r, web->status) || !has_frontend_with(r, web->status)) {
        fail_msg("%s refused after %u: the status has %s, which does not serve", doc, after,
                 web->status);
    }
    r->fail_times = 0;
    web->annotations = afterwards[then].annotations;
    web->verb = afterwards[then].verb;
    stage_rig_run(r);
    succeeded(web);
    if (strstr(stage_rig_names(r, AZURE_PIPS), "interim") != NULL ||
        strstr(stage_rig_elements(r, "kubernetes", "frontendIPConfigurations"), "interim") !=
            NULL ||
        strstr(stage_rig_elements(r, "kubernetes", "loadBalancingRules"), "interim") != NULL) {
        fail_msg("%s refused after %u, then %s: something interim is left", doc, after,
                 afterwards[then].name);
    }
    bool told = str_eq(web->status, "20.0.0.3") && afterwards[then].verb != TT_VERB_DELETE;
    if ((is_open(r, "20.0.0.3") && !told) ||
        (is_open(r, "20.0.0.1") && !str_eq(web->status, "20.0.0.1"))) {
        fail_msg("%s refused after %u, then %s: %s is left open", doc, after, afterwards[then].name,
                 stage_rig_rules(r));
    }
    stage_rig_settled(r);
    stage_rig_free(r);
}

static void refused_anywhere__whatever_follows_ends_as_asked(void **state)
{
    static const struct {
        const char *doc;
        unsigned writes;
    } docs[] = {{INTERIM, 2}, {"nsg", 3}, {"kubernetes", 4}, {"kubernetes-aweb", 2}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(docs); i++) {
        for (unsigned after = 0; after < docs[i].writes; after++) {
            for (size_t then = 0; then < ARRAY_LEN(afterwards); then++) {
                check_refused_at(docs[i].doc, after, then);
            }
        }
    }
}

/* Nodes come while the interim address serves: they follow by what stands, and it serves on. */
static void nodes_come_meanwhile__the_interim_one_serves_on(void **state)
{
    struct stage_rig *r = *state;
    unsigned times = 1;
    struct rig_service *web = edited(r, TAGS);
    r->wrote = refuse_after_deletion;
    r->arg = &times;
    r->fail_code = ERR_FORBIDDEN;
    stage_rig_run(r);
    same_text("told", web->status, "20.0.0.3");
    stage_rig_add_node(r, "vm-0", "10.0.1.0");
    web->verb = TT_VERB_UPDATE;
    web->reasons = TT_REASON_NODES;
    web->flags = TT_ITEM_UNPROVEN;
    stage_rig_run(r);
    succeeded(web);
    assert_true(has_frontend_with(r, "20.0.0.3"));
    assert_true(is_open(r, "20.0.0.3"));
    web->flags = 0;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    has_pips(r, "kubernetes-aapi kubernetes-aweb");
    stage_rig_settled(r);
}

/* Nodes that come and go, or the way back to what was asked for before, give up no address: the
 * status is not written then. */
static void no_edit__no_address_is_given_up(void **state)
{
    static const struct {
        uint32_t verb, flags;
    } rows[] = {{TT_VERB_UPDATE, 0}, {TT_VERB_ENSURE, TT_ITEM_FORMER}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = edited(r, TAGS);
        web->verb = rows[i].verb;
        web->flags = rows[i].flags;
        stage_rig_run(r);
        succeeded(web);
        written(r, "");
        stage_rig_free(r);
    }
}

static void balancer_changes_meanwhile__read_again(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = edited(r, TAGS);
    r->fail = "kubernetes";
    r->fail_times = 2;
    r->fail_code = ERR_CONFLICT;
#define BESIDE_ONCE_MORE "interim: change load balancer kubernetes [web]\n"
    stage_rig_run(r);
    succeeded(web);
    written(r, BEGIN BESIDE BESIDE_ONCE_MORE BESIDE_ONCE_MORE PUT_OFF GONE MADE REST);
    stage_rig_settled(r);
}

/* ---- those that stay ------------------------------------------------------------------------- */

/* Others use it, its owner made it, or the Service itself names it or its address: it is
 * not given up for tags. */
static void not_the_services_alone__stays(void **state)
{
    static const struct {
        const char *annotations, *pip;
    } rows[] = {
        {TAGS, "\"k8s-azure-service\":\"default/web,default/other\""},
        {TAGS, NULL},
        {"{\"azure-pip-ip-tags\":\"a=b\",\"azure-pip-name\":\"kubernetes-aweb\"}", ""},
        {"{\"azure-pip-ip-tags\":\"a=b\",\"azure-load-balancer-ipv4\":\"20.0.0.1\"}", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = edited(r, rows[i].annotations);
        struct json_object *pip = stage_rig_doc(r, AZURE_PIPS, "kubernetes-aweb");
        if (rows[i].pip == NULL) {
            json_object_object_del(pip, "tags");
        } else if (rows[i].pip[0] != '\0') {
            json_object_object_del(pip, "tags");
            json_add(pip, "tags",
                     json_object_get(pure_json(r->a, arena_printf(r->a, "{%s}", rows[i].pip))));
        }
        stage_rig_run(r);
        succeeded(web);
        written(r, "");
        same_text("after", web->status, "20.0.0.1");
        same_text("told", r->events, "web AnnotationIgnored\n");
        stage_rig_free(r);
    }
    (void)state;
}

static void frontend_is_used_by_others__refused_before_anything(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = edited(r, TAGS);
    struct json_object *lb = stage_rig_doc(r, AZURE_LBS, "kubernetes");
    struct json_object *frontend = azure_find(azure_array(lb, "frontendIPConfigurations"), "aweb");
    const char *rule =
        arena_printf(r->a,
                     "{\"name\":\"out\",\"properties\":{\"frontendIPConfigurations\":[{"
                     "\"id\":\"%s\"}]}}",
                     azure_doc_id(frontend));
    (void)json_object_array_add(azure_array_make(lb, "outboundRules"),
                                json_object_get(pure_json(r->a, rule)));
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_IN_USE);
    same_text("message", web->message,
              "public IP kubernetes-aweb would have to be made anew for its IP tags, but outbound "
              "rule out uses frontend IP configuration aweb");
    written(r, "");
}

UNIT_MAIN(stages_renew)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(ip_tags_differ__made_anew_in_one_plan),
        RIG_TEST(status_cannot_be_written__nothing_is_made_anew),
        RIG_TEST(interim_failed__is_written_again),
        RIG_TEST(two_families__each_is_made_anew),
        RIG_TEST(two_families__names_of_interim_rules_are_short),
        RIG_TEST(two_families__one_is_refused__what_is_told_serves),
        RIG_TEST(another_prefix__comes_before_the_old_one_goes),
        RIG_TEST(tags_refused__nothing_is_lost),
        cmocka_unit_test(no_room__goes_before_it_comes),
        cmocka_unit_test(no_room_beside__stops_in_between),
        RIG_TEST(no_floating_ip__stops_in_between),
        RIG_TEST(floating_ip_goes_as_well__the_interim_one_is_open_until_told),
        RIG_TEST(ports_change_as_well__planned_as_done),
        RIG_TEST(beside_refused__the_former_one_serves),
        RIG_TEST(deletion_refused__the_interim_one_serves),
        RIG_TEST(deletion_refused_and_taken_back__the_address_comes_back),
        RIG_TEST(new_one_refused__the_interim_one_serves),
        RIG_TEST(died_before_the_interim_one_went__it_goes),
        RIG_TEST(ports_change_meanwhile__the_interim_one_follows),
        cmocka_unit_test(refused_anywhere__whatever_follows_ends_as_asked),
        RIG_TEST(nodes_come_meanwhile__the_interim_one_serves_on),
        cmocka_unit_test(no_edit__no_address_is_given_up),
        RIG_TEST(balancer_changes_meanwhile__read_again),
        cmocka_unit_test(not_the_services_alone__stays),
        RIG_TEST(frontend_is_used_by_others__refused_before_anything),
    };
    return cmocka_run_group_tests_name("stages_renew", tests, NULL, NULL);
}
