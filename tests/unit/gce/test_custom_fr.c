/* SPDX-License-Identifier: Apache-2.0 */
/* test_custom_fr.c: forwarding rules of owners: which are named, which can be used, what is said of
 * them (gce-l4.md §1.8), and when they are checked again. */
#include "providers/gce/api/gce_api.h"
#include "providers/gce/cache/gce_waits.h"
#include "providers/gce/model/gce_custom_fr_rules.h"
#include "tests/support/unit.h"
#include "tests/unit/gce/pure.h"

#define NEG     "k8s2-hash-demo-web-abc"
#define LINK    "https://www.googleapis.com/compute/beta/projects/p/"
#define SERVICE LINK "regions/r/backendServices/bs"
#define GROUP   LINK "zones/z1/networkEndpointGroups/" NEG

/* ---- references ------------------------------------------------------------------------------ */

static const char *refs_text(struct arena *a, const struct gce_custom_refs *refs)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < refs->n; i++) {
        const struct gce_link *l = &refs->items[i].link;
        str_appendf(&b, "%s%s/%s/%s", b.len > 0 ? " " : "", l->project, str_or(l->region, "global"),
                    l->name);
    }
    for (size_t i = 0; i < refs->bad.n; i++) {
        str_appendf(&b, "%sbad:%s", b.len > 0 ? " " : "", refs->bad.items[i]);
    }
    for (size_t i = 0; i < refs->surplus.n; i++) {
        str_appendf(&b, "%smore:%s", b.len > 0 ? " " : "", refs->surplus.items[i]);
    }
    return str_buf_to_arena(&b, a);
}

static void refs__names_and_links__sorted_and_each_once(void **state)
{
    static const struct tt_kv rows[] = {
        {"", ""},
        {" , ,", ""},
        {"a", "p/r/a"},
        {" b ,a,, b", "p/r/a p/r/b"},
        {"projects/q/regions/s/forwardingRules/a", "q/s/a"},
        {"https://www.googleapis.com/compute/v1/projects/q/regions/s/forwardingRules/a", "q/s/a"},
        {"https://compute.googleapis.com/compute/beta/projects/q/global/forwardingRules/a",
         "q/global/a"},
        {"regions/s/forwardingRules/a", "p/s/a"},
        {"projects/q/regions/s/addresses/a", "bad:projects/q/regions/s/addresses/a"},
        {"projects/q/zones/z/forwardingRules/a", "bad:projects/q/zones/z/forwardingRules/a"},
        {"a/b", "bad:a/b"},
        {"a?alt=media", "bad:a?alt=media"},
        {"a%2f..", "bad:a%2f.."},
        {"..", "bad:.."},
        {"projects/../global/forwardingRules/a", "bad:projects/../global/forwardingRules/a"},
        {"projects/q/regions/./forwardingRules/a", "bad:projects/q/regions/./forwardingRules/a"},
        {"j,i,h,g,f,e,d,c,b,a,l,k",
         "p/r/a p/r/b p/r/c p/r/d p/r/e p/r/f p/r/g p/r/h p/r/i p/r/j more:k more:l"},
    };
    struct gce_custom_refs refs;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        gce_custom_refs_parse(*state, rows[i].key, "p", "r", &refs);
        same_text(rows[i].key, refs_text(*state, &refs), rows[i].value);
    }
    gce_custom_refs_parse(*state, NULL, "p", "r", &refs);
    assert_int_equal(refs.n + refs.bad.n + refs.surplus.n, 0);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* A rule from a few words: a JSON object of the API, "404", "503"; behind " → " its
 * backend service likewise. */
static struct gce_custom_seen seen_of(struct arena *a, const char *words)
{
    struct gce_custom_seen s = {0};
    const char *arrow = strstr(words, " → ");
    const char *rule = arrow == NULL ? words : arena_strndup(a, words, (size_t)(arrow - words));
    const char *service = arrow == NULL ? NULL : arrow + strlen(" → ");
    if (*rule != '{') {
        int code = str_eq(rule, "404") ? ERR_NOT_FOUND : ERR_TRANSIENT;
        (void)err_set(&s.rule_err, code, "Error %s", rule);
        return s;
    }
    gce_custom_rule_take(a, pure_json(a, rule), &s);
    s.service_looked = service != NULL && gce_custom_wants_service(&s);
    if (s.service_looked && *service != '{') {
        int code = str_eq(service, "404") ? ERR_NOT_FOUND : ERR_TRANSIENT;
        (void)err_set(&s.service_err, code, "Error %s", service);
    } else if (s.service_looked) {
        gce_custom_service_take(a, pure_json(a, service), &s);
    }
    return s;
}

#define RULE_OF(scheme, protocol, ip, backend)                                                     \
    "{\"loadBalancingScheme\":\"" scheme "\",\"IPProtocol\":\"" protocol "\",\"IPAddress\":\"" ip  \
    "\",\"backendService\":\"" backend "\"}"
#define GOOD(ip) RULE_OF("EXTERNAL", "TCP", ip, SERVICE)
#define HAS      " → {\"backends\":[{\"group\":\"" GROUP "\"}]}"
#define HAS_NOT                                                                                    \
    " → {\"backends\":[{},{\"group\":\"" LINK "zones/z1/networkEndpointGroups/other\"}]}"

struct row {
    const char *name;
    const char *annotation;
    const char *ingress; /* of the Service now: JSON */
    const char *seen[4];
    const char *want; /* "IPs | status reason" */
};

static const struct tt_service *service_with(struct arena *a, const char *ingress)
{
    return test_service_text(
        a, arena_printf(a,
                        "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"web\"},\"status\":{"
                        "\"loadBalancer\":{\"ingress\":[%s]}}}",
                        str_nonnull(ingress)));
}

static void judge(struct arena *a, const struct row *r, struct gce_custom_verdict *v)
{
    struct gce_custom_refs refs;
    struct gce_custom_seen seen[ARRAY_LEN(r->seen)];
    gce_custom_refs_parse(a, r->annotation, "p", "r", &refs);
    for (size_t i = 0; i < refs.n; i++) {
        assert_non_null(r->seen[i]);
        seen[i] = seen_of(a, r->seen[i]);
    }
    gce_custom_judge(a, service_with(a, r->ingress), &refs, seen, NEG, v);
}

static const char *verdict_text(struct arena *a, const struct gce_custom_verdict *v)
{
    return arena_printf(a, "%s%s| %s %s",
                        v->ips.n > 0 ? str_join(a, v->ips.items, v->ips.n, " ") : "",
                        v->ips.n > 0 ? " " : "", v->condition.status, v->condition.reason);
}

static void check(struct arena *a, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct gce_custom_verdict v;
        judge(a, &rows[i], &v);
        same_text(rows[i].name, verdict_text(a, &v), rows[i].want);
    }
}

static void judge__one_rule__by_what_is_wrong_with_it(void **state)
{
    static const struct row rows[] = {
        {"no annotation", NULL, NULL, {NULL}, "| False NoForwardingRuleRef"},
        {"an empty one", " ,", NULL, {NULL}, "| False NoForwardingRuleRef"},
        {"right", "a", NULL, {GOOD("203.0.113.1") HAS}, "203.0.113.1 | True IPProgrammed"},
        {"no reference", "a/b", NULL, {NULL}, "| False InvalidForwardingRule"},
        {"not there", "a", NULL, {"404"}, "| False InvalidForwardingRule"},
        {"unreadable", "a", NULL, {"503"}, "| False ProviderError"},
        {"internal",
         "a",
         NULL,
         {RULE_OF("INTERNAL", "TCP", "10.0.0.1", SERVICE) HAS},
         "| False UnsupportedLBType"},
        {"managed",
         "a",
         NULL,
         {RULE_OF("EXTERNAL_MANAGED", "TCP", "203.0.113.1", SERVICE) HAS},
         "| False UnsupportedLBType"},
        {"scheme before protocol",
         "a",
         NULL,
         {RULE_OF("INTERNAL", "ESP", "10.0.0.1", SERVICE) HAS},
         "| False UnsupportedLBType"},
        {"global pass-through",
         "a",
         NULL,
         {RULE_OF("EXTERNAL_PASSTHROUGH", "L3_DEFAULT", "203.0.113.1", SERVICE) HAS},
         "203.0.113.1 | True IPProgrammed"},
        {"UDP",
         "a",
         NULL,
         {RULE_OF("EXTERNAL", "UDP", "203.0.113.1", SERVICE) HAS},
         "203.0.113.1 | True IPProgrammed"},
        {"ESP",
         "a",
         NULL,
         {RULE_OF("EXTERNAL", "ESP", "203.0.113.1", SERVICE) HAS},
         "| False InvalidForwardingRule"},
        {"a target pool's",
         "a",
         NULL,
         {"{\"loadBalancingScheme\":\"EXTERNAL\",\"IPProtocol\":\"TCP\",\"IPAddress\":\"203.0.113.1"
          "\",\"target\":\"x\"}"},
         "| False InvalidForwardingRule"},
        {"a service that is none",
         "a",
         NULL,
         {GOOD("203.0.113.1")},
         "| False InvalidForwardingRule"},
        {"a service that is gone",
         "a",
         NULL,
         {GOOD("203.0.113.1") " → 404"},
         "| False InvalidForwardingRule"},
        {"a service that is unreadable",
         "a",
         NULL,
         {GOOD("203.0.113.1") " → 503"},
         "| False ProviderError"},
        {"other NEGs", "a", NULL, {GOOD("203.0.113.1") HAS_NOT}, "| False BackendNotAttached"},
        {"no backends", "a", NULL, {GOOD("203.0.113.1") " → {}"}, "| False BackendNotAttached"},
        {"no address", "a", NULL, {GOOD("") HAS}, "| False InvalidForwardingRule"},
        {"an instance group of that name",
         "a",
         NULL,
         {GOOD("203.0.113.1") " → {\"backends\":[{\"group\":\"" LINK "zones/z1/instanceGroups/" NEG
                              "\"}]}"},
         "| False BackendNotAttached"},
    };
    check(*state, rows, ARRAY_LEN(rows));
}

static void judge__addresses__canonical_and_each_once(void **state)
{
#define SEVERAL(list)                                                                              \
    "{\"loadBalancingScheme\":\"EXTERNAL_PASSTHROUGH\",\"IPProtocol\":\"TCP\",\"IPAddresses\":"    \
    "[" list "],\"backendService\":\"" SERVICE "\"}" HAS
    static const struct row rows[] = {
        {"a range of IPv6",
         "a",
         NULL,
         {GOOD("2600:1901:0:0:0::/96") HAS},
         "2600:1901:: | True IPProgrammed"},
        {"upper case", "a", NULL, {GOOD("2001:DB8:0:0::A") HAS}, "2001:db8::a | True IPProgrammed"},
        {"two of one rule",
         "a",
         NULL,
         {SEVERAL("\"203.0.113.1\",\"2600:1901::/96\"")},
         "203.0.113.1 2600:1901:: | True IPProgrammed"},
        {"three of one rule",
         "a",
         NULL,
         {SEVERAL("\"203.0.113.1\",\"203.0.113.2\",\"203.0.113.3\"")},
         "| False InvalidForwardingRule"},
        {"two rules with one address",
         "b,a",
         NULL,
         {GOOD("203.0.113.1") HAS, RULE_OF("EXTERNAL", "UDP", "203.0.113.1", SERVICE) HAS},
         "203.0.113.1 | True IPProgrammed"},
        {"in the order of their names",
         "b,a",
         NULL,
         {GOOD("203.0.113.9") HAS, GOOD("203.0.113.1") HAS},
         "203.0.113.9 203.0.113.1 | True IPProgrammed"},
    };
    check(*state, rows, ARRAY_LEN(rows));
#undef SEVERAL
}

static void judge__several__one_is_enough_and_the_first_error_counts(void **state)
{
    static const struct row rows[] = {
        {"one of two",
         "a,b",
         NULL,
         {"404", GOOD("203.0.113.1") HAS},
         "203.0.113.1 | True IPProgrammed"},
        {"none of two",
         "a,b",
         NULL,
         {GOOD("203.0.113.1") HAS_NOT, "404"},
         "| False BackendNotAttached"},
        {"what is no reference comes first",
         "z/z,a",
         NULL,
         {GOOD("203.0.113.1") HAS_NOT},
         "| False InvalidForwardingRule"},
    };
    check(*state, rows, ARRAY_LEN(rows));
}

/* Removing an address because a read failed would cut off clients. */
static void judge__published_and_unreadable__stays(void **state)
{
    static const char old[] = "{\"ip\":\"203.0.113.7\"},{\"hostname\":\"x\"}";
    static const struct row rows[] = {
        {"unreadable", "a", old, {"503"}, "203.0.113.7 | False ProviderError"},
        {"a service",
         "a",
         old,
         {GOOD("203.0.113.7") " → 503"},
         "203.0.113.7 | False ProviderError"},
        {"another is right",
         "a,b",
         old,
         {"503", GOOD("203.0.113.1") HAS},
         "203.0.113.1 203.0.113.7 | True IPProgrammed"},
        {"gone", "a", old, {"404"}, "| False InvalidForwardingRule"},
        {"named no more", NULL, old, {NULL}, "| False NoForwardingRuleRef"},
    };
    check(*state, rows, ARRAY_LEN(rows));
}

static void judge__words__for_condition_and_event(void **state)
{
    static const struct {
        struct row row;
        const char *message;
        const char *event;
        bool fine;
    } rows[] = {
        {{"none", NULL, NULL, {NULL}, NULL},
         "Service is missing the custom forwarding rule reference",
         "NoForwardingRuleRef: Service has no forwarding rule reference",
         false},
        {{"right", "a", NULL, {GOOD("203.0.113.1") HAS}, NULL},
         "IPs programmed: 203.0.113.1",
         NULL,
         true},
        {{"wrong", "a,b", NULL, {"404", GOOD("203.0.113.1") HAS_NOT}, NULL},
         "The custom forwarding rule reference is invalid",
         "ForwardingRuleUnusable: None of the Forwarding Rules could be used: forwarding rule a: "
         "Error 404; the service NEGs are not attached to the load balancer (backend service: bs)",
         false},
        {{"some", "a,b", "{\"ip\":\"203.0.113.7\"}", {"503", GOOD("203.0.113.1") HAS}, NULL},
         "IPs programmed: 203.0.113.1",
         "ForwardingRuleUnusable: Some Forwarding Rules could not be used: forwarding rule a: "
         "Error 503",
         false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_custom_verdict v;
        judge(*state, &rows[i].row, &v);
        same_text(rows[i].row.name, v.condition.type, "ExternalIPProgrammed");
        same_text(rows[i].row.name, v.condition.message, rows[i].message);
        const char *event =
            v.event_reason == NULL ? NULL : arena_printf(*state, "%s: %s", v.event_reason, v.event);
        same_text(rows[i].row.name, event, rows[i].event);
        assert_int_equal(v.is_fine, rows[i].fine);
    }
}

static void judge__more_than_ten__the_surplus_is_told(void **state)
{
    struct gce_custom_refs refs;
    struct gce_custom_seen seen[GCE_CUSTOM_FR_MAX];
    struct gce_custom_verdict v;
    gce_custom_refs_parse(*state, "a,b,c,d,e,f,g,h,i,j,k,l", "p", "r", &refs);
    assert_int_equal(refs.n, GCE_CUSTOM_FR_MAX);
    for (size_t i = 0; i < refs.n; i++) {
        seen[i] = seen_of(*state, GOOD("203.0.113.1") HAS);
    }
    gce_custom_judge(*state, service_with(*state, NULL), &refs, seen, NEG, &v);
    same_text("reason", v.event_reason, "ForwardingRuleUnusable");
    same_text("event", v.event, "Up to 10 forwarding rules are supported. Skipping k, l");
    same_text("verdict", verdict_text(*state, &v), "203.0.113.1 | True IPProgrammed");
    assert_true(v.is_fine);
}

/* ---- how they are read, and when ------------------------------------------------------------- */

static void beta__the_same_place_in_another_version(void **state)
{
    const struct gce_api v1 = {.base = "https://compute.googleapis.com/compute/v1/"};
    const struct gce_api odd = {.base = "https://www.googleapis.com/compute/staging_v1/"};
    struct gce_api beta = gce_api_beta(*state, &v1);
    same_text("base", beta.base, "https://compute.googleapis.com/compute/beta/");
    same_text("version", beta.version, "beta");
    beta = gce_api_beta(*state, &odd);
    same_text("another one stays", beta.base, odd.base);
    assert_null(beta.version);
}

static void waits__the_same_is_missing__twice_as_long_up_to_the_longest(void **state)
{
    (void)state;
    struct gce_waits *w = gce_waits_new();
    static const int64_t want[] = {5000, 10000, 20000, 30000, 30000};
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(gce_waits_next(w, "demo/web", "rule a", 30000), want[i]);
    }
    assert_int_equal(gce_waits_next(w, "demo/other", "rule a", 30000), 5000);
    assert_int_equal(gce_waits_next(w, "demo/web", "its NEGs", 30000), 5000);
    assert_int_equal(gce_waits_next(w, "demo/web", "its NEGs", 30000), 10000);
    gce_waits_forget(w, "demo/web");
    assert_int_equal(gce_waits_next(w, "demo/web", "its NEGs", 30000), 5000);
    assert_int_equal(gce_waits_next(w, "demo/third", "rule a", 1000), 1000);
    gce_waits_free(w);
    gce_waits_free(NULL);
}

UNIT_MAIN(custom_fr)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(refs__names_and_links__sorted_and_each_once),
        PURE_TEST(judge__one_rule__by_what_is_wrong_with_it),
        PURE_TEST(judge__addresses__canonical_and_each_once),
        PURE_TEST(judge__several__one_is_enough_and_the_first_error_counts),
        PURE_TEST(judge__published_and_unreadable__stays),
        PURE_TEST(judge__words__for_condition_and_event),
        PURE_TEST(judge__more_than_ten__the_surplus_is_told),
        PURE_TEST(beta__the_same_place_in_another_version),
        PURE_TEST(waits__the_same_is_missing__twice_as_long_up_to_the_longest),
    };
    return cmocka_run_group_tests_name("gce-custom-fr", tests, NULL, NULL);
}
