/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared.c: two Services, "theirs" and "ours".  "ours" points at a thing of "theirs", is
 * edited and goes, with a new process in between: what "theirs" has in the cloud stays as it is,
 * byte for byte. */
#include "tests/unit/azure/stage_rig.h"

#include "common/base/map.h"
#include "providers/azure/azure_first.h"
#include "providers/azure/model/azure_doc.h"
#include "tests/support/unit.h"

#define PORTS(port) "\"ports\":[{\"port\":" #port ",\"nodePort\":3" #port "}]"

static void add_all(struct stage_rig *r, struct str_buf *b, struct json_object *array,
                    const char *prefix)
{
    struct json_object *o;
    AZURE_EACH (o, array) {
        if (str_has_prefix(azure_doc_name(o), prefix)) {
            str_appendf(b, "%s\n", json_text(r->a, o, JSON_COMPACT));
        }
    }
}

/* Elements of the balancers that bear its name, its address, and rules that let traffic
 * in to it. */
static const char *documents(struct stage_rig *r, const char *base, const char *address)
{
    static const char *const arrays[] = {"loadBalancingRules", "probes"};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *lb;
    AZURE_EACH (lb, r->docs.lists[AZURE_LBS]) {
        for (size_t i = 0; i < ARRAY_LEN(arrays); i++) {
            add_all(r, &b, azure_array(lb, arrays[i]), base);
        }
    }
    struct json_object *pip;
    AZURE_EACH (pip, r->docs.lists[AZURE_PIPS]) {
        if (str_eq(azure_pip_address(pip), address)) {
            str_appendf(&b, "%s %s\n", azure_doc_name(pip), address);
        }
    }
    struct json_object *rule;
    AZURE_EACH (rule, azure_array(stage_rig_doc(r, AZURE_NSGS, "nsg"), "securityRules")) {
        const char *text = json_text(r->a, rule, JSON_COMPACT);
        if (strstr(text, address) != NULL && strstr(text, "\"80\"") != NULL) {
            str_appendf(&b, "%s\n", text);
        }
    }
    return arena_strdup(r->a, str_buf_text(&b));
}

/* All rules at the address; the name of one that allows holds a digest of its sources. */
static const char *documents_at(struct stage_rig *r, const char *address)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *rule;
    AZURE_EACH (rule, azure_array(stage_rig_doc(r, AZURE_NSGS, "nsg"), "securityRules")) {
        struct json_object *p = json_member(rule, "properties");
        const char *text = json_text(r->a, p, JSON_COMPACT);
        if (strstr(text, arena_printf(r->a, "\"%s\"", address)) != NULL) {
            str_appendf(&b, "%s %s %s %s\n", azure_doc_name(rule), json_str(p, "access"),
                        json_str(p, "protocol"),
                        json_text(r->a, json_member(p, "destinationPortRanges"), JSON_COMPACT));
        }
    }
    return arena_strdup(r->a, str_buf_text(&b));
}

/* A new process knows nothing of what it gave out. */
static void restart(struct stage_rig *r)
{
    map_free(r->p.assigned);
    r->p.assigned = map_new(free);
    map_free(r->p.redirected);
    map_free(r->p.retreated);
    map_free(r->p.firsts);
    r->p.redirected = map_new(free);
    r->p.retreated = map_new(free);
    r->p.firsts = map_new(azure_first_free);
}

static const char *const others_things[] = {
    "{\"azure-load-balancer-ipv4\":\"20.0.0.1\"}",
    "{\"azure-pip-name\":\"kubernetes-atheirs\"}",
    "{\"azure-additional-public-ips\":\"20.0.0.1\"}",
};

/* Each row: created, edited away, created again, deleted; theirs is known, or can no longer be
 * read, or is not listed. */
static void pointed_at_theirs__theirs_stays(void **state)
{
    (void)state;
    enum { KNOWN, UNREADABLE, UNLISTED, HOWS };
    for (size_t i = 0; i < ARRAY_LEN(others_things) * HOWS; i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *theirs = stage_rig_add(r, "theirs", NULL, PORTS(80));
        stage_rig_run(r);
        const char *before = documents(r, "atheirs", "20.0.0.1");
        theirs->unreadable = i % HOWS == UNREADABLE;
        theirs->gone = i % HOWS == UNLISTED;
        struct rig_service *ours = stage_rig_add(r, "ours", others_things[i / HOWS], PORTS(443));
        const char *const annotations[] = {ours->annotations, NULL, ours->annotations};
        for (size_t k = 0; k < ARRAY_LEN(annotations) + 1; k++) {
            restart(r);
            ours->annotations = annotations[k % ARRAY_LEN(annotations)];
            ours->verb = k == ARRAY_LEN(annotations) ? TT_VERB_DELETE : TT_VERB_ENSURE;
            stage_rig_run(r);
            succeeded(ours);
            same_text(arena_printf(r->a, "row %zu, step %zu", i, k),
                      documents(r, "atheirs", "20.0.0.1"), before);
        }
        stage_rig_free(r);
    }
}

/* The rules that let clients in to "theirs", which asks for narrow ranges, are its own alone;
 * "ours" opens and denies what it likes at its own address.  Each row: ours as made, edited without
 * the annotation, with it again, deleted. */
static void additional_address__does_not_widen_anothers_rules(void **state)
{
    (void)state;
    static const char *const narrow = PORTS(80) ",\"loadBalancerSourceRanges\":[\"10.1.0.0/16\"]";
    static const struct {
        const char *annotations, *spec;
    } wide[] = {
        {"{\"azure-additional-public-ips\":\"20.0.0.1\"}", PORTS(80)},
        {"{\"azure-additional-public-ips\":\"20.0.0.9, 20.0.0.1\"}",
         "\"ports\":[{\"port\":443,\"nodePort\":30443,\"name\":\"a\"},"
         "{\"port\":80,\"nodePort\":30080,\"name\":\"b\"}]"},
        {"{\"azure-additional-public-ips\":\"20.0.0.1\","
         "\"azure-deny-all-except-load-balancer-source-ranges\":\"true\"}",
         PORTS(443) ",\"loadBalancerSourceRanges\":[\"192.0.2.0/24\"]"},
    };
    enum { KNOWN, UNREADABLE, UNLISTED, HOWS };
    for (size_t i = 0; i < ARRAY_LEN(wide) * HOWS; i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *theirs = stage_rig_add(r, "theirs", NULL, narrow);
        stage_rig_run(r);
        const char *before = documents_at(r, "20.0.0.1");
        theirs->unreadable = i % HOWS == UNREADABLE;
        theirs->gone = i % HOWS == UNLISTED;
        struct rig_service *ours =
            stage_rig_add(r, "ours", wide[i / HOWS].annotations, wide[i / HOWS].spec);
        const char *const annotations[] = {ours->annotations, NULL, ours->annotations, NULL};
        for (size_t k = 0; k < ARRAY_LEN(annotations); k++) {
            restart(r);
            ours->annotations = annotations[k];
            ours->verb = k == ARRAY_LEN(annotations) - 1 ? TT_VERB_DELETE : TT_VERB_ENSURE;
            stage_rig_run(r);
            succeeded(ours);
            same_text(arena_printf(r->a, "row %zu, step %zu", i, k), documents_at(r, "20.0.0.1"),
                      before);
        }
        stage_rig_free(r);
    }
}

/* An edit that takes a port whose address another Service had opened there before
 * closes the other's rule. */
static void port_that_anothers_rule_opened__is_the_owners_from_then_on(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *theirs = stage_rig_add(r, "theirs", NULL, PORTS(80));
    stage_rig_run(r);
    (void)stage_rig_add(r, "ours", "{\"azure-additional-public-ips\":\"20.0.0.1\"}", PORTS(443));
    stage_rig_run(r);
    assert_non_null(strstr(stage_rig_rules(r), "443>20.0.0.1"));
    theirs->spec = PORTS(443) ",\"loadBalancerSourceRanges\":[\"10.1.0.0/16\"]";
    theirs->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(theirs);
    struct json_object *rule;
    size_t n = 0;
    AZURE_EACH (rule, azure_array(stage_rig_doc(r, AZURE_NSGS, "nsg"), "securityRules")) {
        const char *text = json_text(r->a, rule, JSON_COMPACT);
        if (strstr(text, "20.0.0.1\"") != NULL) {
            n++;
            assert_non_null(strstr(text, "10.1.0.0/16"));
        }
    }
    assert_int_equal(n, 1);
}

/* Nothing is pointed at: a Service beside one that cannot be read takes no address out
 * of the rules. */
static void beside_an_unreadable_one__its_address_stays_open(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *theirs = stage_rig_add(r, "theirs", NULL, PORTS(80));
    stage_rig_run(r);
    const char *before = documents(r, "atheirs", "20.0.0.1");
    theirs->unreadable = true;
    restart(r);
    struct rig_service *ours = stage_rig_add(r, "ours", NULL, PORTS(443));
    stage_rig_run(r);
    succeeded(ours);
    same_text("theirs", documents(r, "atheirs", "20.0.0.1"), before);
    ours->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    same_text("theirs", documents(r, "atheirs", "20.0.0.1"), before);
}

UNIT_MAIN(shared)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointed_at_theirs__theirs_stays),
        cmocka_unit_test(additional_address__does_not_widen_anothers_rules),
        RIG_TEST(port_that_anothers_rule_opened__is_the_owners_from_then_on),
        RIG_TEST(beside_an_unreadable_one__its_address_stays_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
