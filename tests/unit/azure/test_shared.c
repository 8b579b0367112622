/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared.c: two Services, "theirs" and "ours".  "ours" points at a thing of "theirs", is edited and goes, with a new
 * process in between: what "theirs" has in the cloud stays as it is, byte for byte. */
#include "tests/unit/azure/stage_rig.h"

#include "common/base/map.h"
#include "providers/azure/azure_doc.h"
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

/* Elements of the balancers that bear its name, its address, and rules that let traffic in to it. */
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

/* A new process knows nothing of what it gave out. */
static void restart(struct stage_rig *r)
{
    map_free(r->p.assigned);
    r->p.assigned = map_new(free);
    map_free(r->p.redirected);
    r->p.redirected = map_new(NULL);
}

static const char *const others_things[] = {
    "{\"azure-load-balancer-ipv4\":\"20.0.0.1\"}",
    "{\"azure-pip-name\":\"kubernetes-atheirs\"}",
    "{\"azure-additional-public-ips\":\"20.0.0.1\"}",
};

/* Each row: created, edited away, created again, deleted; theirs is known, or can no longer be read, or is not listed. */
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

/* Nothing is pointed at: a Service beside one that cannot be read takes no address out of the rules. */
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
        RIG_TEST(beside_an_unreadable_one__its_address_stays_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
