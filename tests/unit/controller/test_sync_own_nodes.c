/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_own_nodes.c: which Services are synced when a node changes that stays the same machine:
 * the provider's digests (TT_OWN_NODES), and what takes a node out of all load balancers.
 *
 * A Service is right or not by what it asks for and what is there, whichever event came last: so
 * each property of a node that counts begins a pass, and a pass queues only the Services that it
 * concerns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/str.h"
#include "controller/sync/node_fanout.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define EXCLUDED    "\"labels\":{\"node.kubernetes.io/exclude-from-external-load-balancers\":\"\"}"
#define TAINT       "\"taints\":[{\"key\":\"ToBeDeletedByClusterAutoscaler\",\"effect\":\"NoSchedule\"}]"
#define LABELS(kvs) "\"labels\":{" kvs "}"

/* ---- one digest for all ---------------------------------------------------------------------- */

static int digests_asked;

/* Readiness; a node that is not ready concerns no Service. */
static uint64_t ready_digest(void *provider, const struct tt_node *node)
{
    (void)provider;
    digests_asked++;
    return (node->flags & TT_NODE_READY) != 0 ? 7 : 0;
}

static void s1_hangs_on_it(void *arg, struct fake_provider *p, const struct tt_call *call,
                           const struct tt_item *item)
{
    (void)arg, (void)call;
    p->host->result_own(item->result, strcmp(item->service->name, "s1") == 0 ? TT_OWN_NODES : 0);
}

static struct stand *services_with_digests(void)
{
    struct stand *r = stand_new(0);

    r->provider->desc.node_digest = ready_digest;
    r->provider->during = s1_hangs_on_it;
    stand_node_ready(r, "node1", "True");
    stand_node_ready(r, "node2", "True");
    stand_service(r, "s1", STAND_LB, STAND_WITH_F, NULL);
    stand_service(r, "s2", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    return r;
}

static void node_digest__changed__only_who_hangs_on_it_is_updated(void **state)
{
    (void)state;
    struct stand *r = services_with_digests();

    stand_node_ready(r, "node2", "False");
    assert_int_not_equal(CLOCK_NEVER, node_fanout_next_ms(r->watch.fanout)); /* it was touched */
    stand_nodes_changed(r);
    assert_string_equal("update demo/s1", stand_story(r));
    stand_nodes_changed(r);
    stand_node_ready(r, "node2", "Unknown"); /* for the digest the same */
    stand_nodes_changed(r);
    assert_string_equal("update demo/s1", stand_story(r));
    stand_node_gone(r, "node2"); /* that concerns all */
    stand_nodes_changed(r);
    assert_string_equal("update demo/s1, update demo/s1, update demo/s2", stand_story(r));
    stand_free(r);
}

static void node_digest__of_a_node_that_takes_no_part__counts_for_who_hangs_on_it(void **state)
{
    (void)state;
    struct stand *r = services_with_digests();

    stand_node(r, "node3", "\"unschedulable\":true", EXCLUDED); /* not ready: concerns no Service */
    stand_nodes_changed(r);
    assert_string_equal("", stand_story(r));
    stand_node_ready(r, "node2", "False");
    stand_nodes_changed(r);
    stand_node_ready(r, "node2", "True");
    stand_nodes_changed(r);
    assert_string_equal("update demo/s1, update demo/s1", stand_story(r));
    stand_free(r);
}

static void node_digest__failed_sync__is_still_concerned(void **state)
{
    (void)state;
    struct stand *r = services_with_digests();

    r->provider->during = NULL; /* it fails before it can say which Services nodes concern */
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_QUOTA, "full", 0, false});
    stand_add(r, "s1", TT_REASON_SPEC);
    stand_run(r);
    fake_provider_forget(r->provider);
    stand_node_ready(r, "node2", "False");
    stand_nodes_changed(r);
    assert_string_equal("update demo/s1", stand_story(r));
    stand_free(r);
}

/* Thousands of syncs of one state look at each node once. */
static void node_digest__same_list__asked_once_per_node(void **state)
{
    (void)state;
    struct stand *r = services_with_digests();

    digests_asked = 0;
    for (int i = 0; i < 5; i++) {
        stand_add(r, "s1", TT_REASON_SPEC);
        stand_run(r);
    }
    stand_nodes_changed(r);
    assert_int_equal(0, digests_asked);
    stand_node_ready(r, "node2", "False");
    assert_int_equal(2, digests_asked); /* the handler: before and after */
    stand_add(r, "s1", TT_REASON_SPEC);
    stand_run(r);
    stand_nodes_changed(r);
    assert_int_equal(4, digests_asked);
    stand_free(r);
}

/* ---- a digest for each ----------------------------------------------------------------------- */

static const char *role_of(const struct tt_node *node)
{
    for (uint32_t i = 0; i < node->n_labels; i++) {
        if (strcmp(node->labels[i].key, "role") == 0) {
            return node->labels[i].value;
        }
    }
    return "";
}

/* All labels of a node. */
static uint64_t labels_digest(void *provider, const struct tt_node *node)
{
    uint64_t h = 1;
    (void)provider;
    for (uint32_t i = 0; i < node->n_labels; i++) {
        h = hash_bytes(h, node->labels[i].key, strlen(node->labels[i].key));
        h = hash_bytes(h, node->labels[i].value, strlen(node->labels[i].value));
    }
    return h;
}

/* The nodes whose role is the Service's annotation "role"; a Service without one takes all. */
static uint64_t role_digest(void *provider, const struct tt_service *service,
                            const struct tt_node *const *nodes, uint32_t n_nodes)
{
    uint64_t sum = 1;
    const char *role = NULL;
    (void)provider;
    for (uint32_t i = 0; i < service->n_annotations; i++) {
        role =
            strcmp(service->annotations[i].key, "role") == 0 ? service->annotations[i].value : role;
    }
    for (uint32_t i = 0; role != NULL && i < n_nodes; i++) {
        bool has = strcmp(role_of(nodes[i]), role) == 0;
        sum += has ? hash_bytes(1, nodes[i]->name, strlen(nodes[i]->name)) : 0;
    }
    return role == NULL ? 0 : hash_bytes(sum, role, strlen(role)) | 1;
}

static void hangs_on_roles(void *arg, struct fake_provider *p, const struct tt_call *call,
                           const struct tt_item *item)
{
    (void)arg, (void)call;
    p->host->result_own(item->result, item->service->n_annotations > 0 ? TT_OWN_NODES : 0);
}

#define ROLE(r) STAND_WITH_F ",\"annotations\":{\"role\":\"" r "\"}"

/* Of two nodes one is a gate; the Services "gates" and "inner" ask for roles, "any" does not. */
static struct stand *services_with_roles(void)
{
    struct stand *r = stand_new(0);

    r->provider->desc.node_digest = labels_digest;
    r->provider->desc.nodes_digest = role_digest;
    r->provider->during = hangs_on_roles;
    stand_node(r, "node1", NULL, LABELS("\"role\":\"gate\""));
    stand_node(r, "node2", NULL, LABELS("\"role\":\"other\""));
    stand_service(r, "any", STAND_LB, STAND_WITH_F, NULL);
    stand_service(r, "gates", STAND_LB, ROLE("gate"), NULL);
    stand_service(r, "inner", STAND_LB, ROLE("inner"), NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    return r;
}

/* As the handlers find it: without a change that matters there is no pass. */
static void pass_if_due(struct stand *r)
{
    if (!node_fanout_is_idle(r->watch.fanout)) {
        stand_nodes_changed(r);
    }
}

static void nodes_digest__label_comes_and_goes__only_who_asks_for_it_is_updated(void **state)
{
    (void)state;
    struct stand *r = services_with_roles();

    stand_node(r, "node2", NULL, LABELS("\"role\":\"gate\""));
    pass_if_due(r);
    assert_string_equal("update demo/gates", stand_story(r));
    fake_provider_forget(r->provider);
    stand_node(r, "node2", NULL, LABELS("\"role\":\"inner\""));
    pass_if_due(r);
    assert_string_equal("update demo/gates, update demo/inner", stand_story(r));
    stand_free(r);
}

static void nodes_digest__label_that_no_service_names__calls_nothing_and_is_asked_once(void **state)
{
    (void)state;
    struct stand *r = services_with_roles();

    stand_node(r, "node2", NULL, LABELS("\"role\":\"other\",\"rack\":\"7\""));
    pass_if_due(r);
    assert_string_equal("", stand_story(r));
    assert_int_equal(0, stand_nodes_changed(r)); /* another pass queues none of them again */
    stand_free(r);
}

static void nodes_digest__edited_service__counts_as_it_is_now(void **state)
{
    (void)state;
    struct stand *r = services_with_roles();

    stand_service(r, "gates", STAND_LB, ROLE("inner"), NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    stand_node(r, "node1", NULL, LABELS("\"role\":\"none\""));
    pass_if_due(r);
    assert_string_equal("", stand_story(r));
    stand_node(r, "node1", NULL, LABELS("\"role\":\"inner\""));
    pass_if_due(r);
    assert_string_equal("update demo/gates, update demo/inner", stand_story(r));
    stand_free(r);
}

/* A refused Service stands as it was accepted, and its nodes follow that. */
static void nodes_digest__refused_edit__the_accepted_wish_counts(void **state)
{
    (void)state;
    struct stand *r = services_with_roles();

    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_INVALID, "no", 0, false});
    stand_service(r, "gates", STAND_LB, ROLE("wrong"), STAND_STATUS("203.0.113.10"));
    stand_run(r);
    fake_provider_forget(r->provider);
    for (int i = 0; i < 2; i++) {
        stand_node(r, "node2", NULL, i == 0 ? LABELS("\"role\":\"gate\"") : LABELS(""));
        pass_if_due(r);
        assert_string_equal("update demo/gates", stand_story(r));
        fake_provider_forget(r->provider);
    }
    stand_free(r);
}

/* ---- what takes a node out ------------------------------------------------------------------- */

static void node_changed__takes_part_no_more_or_again__a_pass_is_due(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *meta;
    } rows[] = {{TAINT, NULL}, {NULL, STAND_DELETING}, {NULL, EXCLUDED}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stand *r = stand_new(0);
        stand_node(r, "node1", NULL, NULL);
        stand_node(r, "node2", NULL, NULL);
        stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
        stand_run(r);
        fake_provider_forget(r->provider);
        stand_node(r, "node2", rows[i].spec, rows[i].meta);
        assert_false(node_fanout_is_idle(r->watch.fanout));
        stand_nodes_changed(r);
        assert_string_equal("update demo/web", stand_story(r));
        assert_string_equal("node1", fake_provider_call(r->provider, TT_VERB_UPDATE, 0).nodes);
        stand_node_gone(r, "node2"); /* it was out already */
        stand_nodes_changed(r);
        assert_string_equal("update demo/web", stand_story(r));
        stand_node(r, "node2", NULL, NULL);
        stand_nodes_changed(r);
        assert_string_equal("update demo/web, update demo/web", stand_story(r));
        stand_free(r);
    }
}

UNIT_MAIN(sync_own_nodes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_digest__changed__only_who_hangs_on_it_is_updated),
        cmocka_unit_test(node_digest__of_a_node_that_takes_no_part__counts_for_who_hangs_on_it),
        cmocka_unit_test(node_digest__failed_sync__is_still_concerned),
        cmocka_unit_test(node_digest__same_list__asked_once_per_node),
        cmocka_unit_test(nodes_digest__label_comes_and_goes__only_who_asks_for_it_is_updated),
        cmocka_unit_test(
            nodes_digest__label_that_no_service_names__calls_nothing_and_is_asked_once),
        cmocka_unit_test(nodes_digest__edited_service__counts_as_it_is_now),
        cmocka_unit_test(nodes_digest__refused_edit__the_accepted_wish_counts),
        cmocka_unit_test(node_changed__takes_part_no_more_or_again__a_pass_is_due),
    };
    return cmocka_run_group_tests_name("controller-sync-own-nodes", tests, NULL, NULL);
}
