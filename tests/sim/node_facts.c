/* SPDX-License-Identifier: Apache-2.0 */
/* node_facts.c: each property of a node that a plan reads is carried out when it changes, and no
 * other change of a node costs a call to the cloud.
 *
 * What `trimtab plan` would print after a change of a node must not wait for another event.  So a
 * step here is one patch of one node: it either changes the cloud (and a controller that starts
 * then finds nothing left to do), or nothing is asked of the cloud at all. */
#include "tests/support/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "tests/support/unit.h"

#define SERVICES "/api/v1/namespaces/default/services"
#define AWS      "service.beta.kubernetes.io/aws-load-balancer-"
#define GATES    "\"" AWS "type\":\"nlb\",\"" AWS "target-node-labels\":\"gate=yes\""
#define INNER    "\"" AWS "type\":\"nlb\",\"" AWS "target-node-labels\":\"inner=\""
#define LABEL(l) "{\"metadata\":{\"labels\":{" l "}}}"
#define TAINT                                                                                      \
    "{\"spec\":{\"taints\":[{\"key\":\"ToBeDeletedByClusterAutoscaler\",\"effect\":\"NoSchedule\"" \
    "}]}}"
#define OTHER_TAINT "{\"spec\":{\"taints\":[{\"key\":\"other\",\"effect\":\"NoSchedule\"}]}}"
#define NO_TAINT    "{\"spec\":{\"taints\":null}}"
#define EXCLUDE(v)  LABEL("\"node.kubernetes.io/exclude-from-external-load-balancers\":" v)

struct step {
    int node; /* of four, by name */
    const char *patch;
    enum {
        NOTHING = 0, /* is asked of the cloud */
        LOOK,        /* the set of nodes is another one, and the load balancer stays as it is */
        CHANGE,
    } costs;
};

static void start(struct rig *r)
{
    struct err err = ERR_INIT;
    if (rig_start(r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(rig_settle(r, RIG_SOON));
}

static struct rig *begin(const char *cloud)
{
    struct err err = ERR_INIT;
    struct rig *r = NULL;
    if (rig_new(&(struct rig_args){.sim = {.seed = 7, .cloud = cloud, .nodes = 4}}, &r, &err) !=
        ERR_OK) {
        fail_msg("%s", err.message);
    }
    return r;
}

static void create(struct rig *r, const char *name, const char *annotations)
{
    const char *body = arena_printf(rig_arena(r),
                                    "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{"
                                    "\"name\":\"%s\",\"annotations\":{%s}},\"spec\":{\"type\":"
                                    "\"LoadBalancer\",\"ports\":[{\"port\":80}]}}",
                                    name, annotations);
    assert_int_equal(rig_kube(r, "POST", SERVICES, body, NULL), 201);
}

static void patch_node(struct rig *r, int node, const char *patch)
{
    struct json_object *nodes = json_path(rig_world(r), "kubernetes.nodes");
    const char *name =
        json_str(json_member(json_object_array_get_idx(nodes, (size_t)node), "metadata"), "name");
    const char *path = arena_printf(rig_arena(r), "/api/v1/nodes/%s", str_nonnull(name));
    assert_int_equal(rig_kube(r, "PATCH", path, patch, NULL), 200);
}

static void carry_out(struct rig *r, const char *cloud, const struct step *s)
{
    rig_counts_reset(r);
    patch_node(r, s->node, s->patch);
    assert_true(rig_settle(r, RIG_SOON));
    struct json_object *calls = json_member(rig_counts(r), cloud);
    const char *text = json_text(rig_arena(r), calls, JSON_SORTED);
    bool asked = calls != NULL && json_object_object_length(calls) > 0;
    if (asked != (s->costs != NOTHING) || (rig_mutations(r) > 0) != (s->costs == CHANGE)) {
        fail_msg("%s: node %d %s: %s", cloud, s->node, s->patch, text);
    }
    if (s->costs == NOTHING) {
        return;
    }
    assert_true(rig_stop(r));
    rig_counts_reset(r);
    start(r);
    if (rig_mutations(r) != 0) {
        fail_msg("%s: node %d %s: a start finds more to do: %s", cloud, s->node, s->patch,
                 json_text(rig_arena(r), json_member(rig_counts(r), cloud), JSON_SORTED));
    }
}

static void carry_out_all(struct rig *r, const char *cloud, const struct step *steps, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        carry_out(r, cloud, &steps[i]);
    }
    rig_free(r);
}

static void aws__labels_of_targets__count_for_the_services_that_name_them(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {2, LABEL("\"gate\":\"yes\""), CHANGE}, {2, LABEL("\"rack\":\"7\""), NOTHING},
        {3, LABEL("\"gate\":\"no\""), NOTHING}, {0, LABEL("\"gate\":null"), CHANGE},
        {3, LABEL("\"inner\":\"x\""), CHANGE},  {3, LABEL("\"inner\":\"y\""), NOTHING},
        {3, LABEL("\"inner\":null"), LOOK}, /* no node has it: its targets stay */
        {1, LABEL("\"inner\":\"\""), CHANGE},
    };
    struct rig *r = begin("aws");
    patch_node(r, 0, LABEL("\"gate\":\"yes\""));
    patch_node(r, 1, LABEL("\"gate\":\"yes\""));
    create(r, "any", "\"" AWS "type\":\"nlb\"");
    create(r, "gates", GATES);
    create(r, "inner", INNER);
    start(r);
    carry_out_all(r, "aws", steps, ARRAY_LEN(steps));
}

static void aws__label_without_a_service_that_names_it__nothing_is_asked(void **state)
{
    (void)state;
    static const struct step steps[] = {{2, LABEL("\"gate\":\"yes\""), NOTHING}};
    struct rig *r = begin("aws");
    create(r, "any", "\"" AWS "type\":\"nlb\"");
    create(r, "old", "");
    start(r);
    carry_out_all(r, "aws", steps, ARRAY_LEN(steps));
}

static void all_clouds__a_node_that_goes_soon_leaves_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *cloud, *notes;
        int taint; /* Azure: a member of a pool stays until its node is excluded, or gone */
    } clouds[] = {
        {"aws", "\"" AWS "type\":\"nlb\"", CHANGE}, {"azure", "", LOOK}, {"gce", "", CHANGE}};
    for (size_t i = 0; i < ARRAY_LEN(clouds); i++) {
        const struct step steps[] = {
            {1, OTHER_TAINT, NOTHING},
            {1, TAINT, clouds[i].taint},
            {1, NO_TAINT, clouds[i].taint},
            {1, EXCLUDE("\"\""), CHANGE},
            {1, TAINT, NOTHING},
            {1, EXCLUDE("null"), NOTHING},
            {1, NO_TAINT, CHANGE},
        };
        struct rig *r = begin(clouds[i].cloud);
        create(r, "web", clouds[i].notes);
        start(r);
        carry_out_all(r, clouds[i].cloud, steps, ARRAY_LEN(steps));
    }
}

static void azure__labels_that_its_pools_read__count(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {1, LABEL("\"rack\":\"7\""), NOTHING},
        {1, EXCLUDE("\"false\""), CHANGE}, /* Azure goes by the label, whatever its value */
        {1, EXCLUDE("null"), CHANGE},
        {2, LABEL("\"kubernetes.azure.com/managed\":\"false\""), CHANGE},
        {2, LABEL("\"kubernetes.azure.com/managed\":\"true\""), CHANGE},
        {2, LABEL("\"kubernetes.azure.com/managed\":null"), NOTHING},
    };
    struct rig *r = begin("azure");
    create(r, "web", "");
    start(r);
    carry_out_all(r, "azure", steps, ARRAY_LEN(steps));
}

UNIT_MAIN(node_facts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aws__labels_of_targets__count_for_the_services_that_name_them),
        cmocka_unit_test(aws__label_without_a_service_that_names_it__nothing_is_asked),
        cmocka_unit_test(all_clouds__a_node_that_goes_soon_leaves_at_once),
        cmocka_unit_test(azure__labels_that_its_pools_read__count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
