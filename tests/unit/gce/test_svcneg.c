/* SPDX-License-Identifier: Apache-2.0 */
/* test_svcneg.c: ServiceNetworkEndpointGroups: what is in them, and which requests that takes. */
#include "tests/unit/gce/kube_fake.h"

#include "common/base/file.h"
#include "providers/gce/cache/gce_svcneg.h"
#include "providers/gce/model/gce_digests.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>

#define NEG  "k8s2-hash-demo-web-abc"
#define KEY  "demo/" NEG
#define LINK "https://www.googleapis.com/compute/v1/projects/p/zones/%s/networkEndpointGroups/" NEG

static const struct tt_service web = {
    .size = sizeof(web), .ns = "demo", .name = "web", .uid = "uid-web"};

static struct gce_neg neg_in(struct arena *a, const char *zone, const char *id)
{
    return (struct gce_neg){.name = NEG,
                            .zone = zone,
                            .id = id,
                            .link = arena_printf(a, LINK, zone),
                            .subnetwork = "https://x/projects/p/regions/r/subnetworks/s"};
}

struct stage {
    struct kube_fake *f;
    struct gce_svcneg *c;
    struct gce_svcneg_call k;
    struct gce_neg negs[3];
    struct gce_svcneg_wish w;
};

static struct stage stage_new(struct arena *a, bool with_states)
{
    struct stage s = {.f = kube_fake_new(a), .c = gce_svcneg_new(with_states)};
    s.k = (struct gce_svcneg_call){.host = &s.f->host};
    s.negs[0] = neg_in(a, "z1", "11");
    s.negs[1] = neg_in(a, "z2", "22");
    s.negs[2] = neg_in(a, "z3", "33");
    s.w = (struct gce_svcneg_wish){.service = &web, .name = NEG};
    return s;
}

static int ensure(struct stage *s, size_t n, struct err *err)
{
    s->w.negs = s->negs;
    s->w.n_negs = n;
    return gce_svcneg_ensure(s->c, &s->k, &s->w, err);
}

static void stage_done(struct stage *s)
{
    gce_svcneg_free(s->c);
    kube_fake_free(s->f);
}

/* ---- contents -------------------------------------------------------------------------------- */

/* As upstream writes it: gce-l4.md §3.9. */
static void create__new__as_upstream(void **state)
{
    struct stage s = stage_new(*state, false);
    const char *want =
        "{\"apiVersion\":\"networking.gke.io/v1beta1\",\"kind\":\"ServiceNetworkEndpointGroup\","
        "\"metadata\":{\"finalizers\":[\"networking.gke.io/neg-finalizer\"],\"labels\":{"
        "\"networking.gke.io/managed-by\":\"neg-controller\","
        "\"networking.gke.io/service-name\":\"web\",\"networking.gke.io/service-port\":\"0\"},"
        "\"name\":\"" NEG "\",\"namespace\":\"demo\",\"ownerReferences\":[{\"apiVersion\":\"v1\","
        "\"blockOwnerDeletion\":false,\"controller\":true,\"kind\":\"Service\",\"name\":\"web\","
        "\"uid\":\"uid-web\"}]},\"spec\":{},\"status\":{\"conditions\":[{\"lastTransitionTime\":"
        "\"2026-01-02T03:04:05Z\",\"message\":\"\",\"reason\":\"NegInitializationSuccessful\","
        "\"status\":\"True\",\"type\":\"Initialized\"},{\"lastTransitionTime\":"
        "\"2026-01-02T03:04:05Z\",\"message\":\"\",\"reason\":\"NegSyncSuccessful\",\"status\":"
        "\"True\",\"type\":\"Synced\"}],\"lastSyncTime\":\"2026-01-02T03:04:05Z\","
        "\"networkEndpointGroups\":[{\"id\":\"11\",\"networkEndpointType\":\"GCE_VM_IP\","
        "\"selfLink\":\"https://www.googleapis.com/compute/v1/projects/p/zones/z1/"
        "networkEndpointGroups/" NEG "\"}]}}";
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    same_text("body", s.f->last_body, want);
    same_text("requests", kube_fake_story(s.f), "list · create " KEY);
    stage_done(&s);
}

static void create__with_states__each_has_its_own(void **state)
{
    struct stage s = stage_new(*state, true);
    const char *zones[] = {"z1"};
    s.w.zones = (struct gce_strs){.items = zones, .n = 1};
    assert_int_equal(ensure(&s, 2, NULL), ERR_OK);
    assert_non_null(strstr(s.f->last_body, "\"state\":\"ACTIVE\",\"subnetURL\":\"https://x/"
                                           "projects/p/regions/r/subnetworks/s\"},{\"id\":\"22\""));
    assert_non_null(strstr(s.f->last_body, "\"state\":\"INACTIVE\""));
    (void)kube_fake_story(s.f);
    assert_int_equal(ensure(&s, 2, NULL), ERR_OK);
    zones[0] = "z2"; /* that alone is a change */
    assert_int_equal(ensure(&s, 2, NULL), ERR_OK);
    same_text("requests", kube_fake_story(s.f), "get " KEY " · patch " KEY);
    stage_done(&s);
}

static void failure__conditions_say_so_and_when_that_began(void **state)
{
    static const struct {
        enum gce_svcneg_phase phase;
        const char *initialized, *synced;
    } rows[] = {
        {GCE_SVCNEG_SYNCED, "True NegInitializationSuccessful ", "True NegSyncSuccessful "},
        {GCE_SVCNEG_SYNC_FAILED, "True NegInitializationSuccessful ", "False NegSyncFailed quota"},
        {GCE_SVCNEG_INIT_FAILED, "False NegInitializationFailed quota",
         "False NegSyncFailed quota"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage s = stage_new(*state, false);
        assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
        s.f->now_ms += 60000;
        s.w.phase = rows[i].phase;
        s.w.message = "quota";
        assert_int_equal(ensure(&s, 2, NULL), ERR_OK);
        struct json_object *list = json_path(kube_fake_get_object(s.f, KEY), "status.conditions");
        const char *want[] = {rows[i].initialized, rows[i].synced};
        for (size_t k = 0; k < 2; k++) {
            struct json_object *c = json_object_array_get_idx(list, k);
            char text[200];
            (void)snprintf(text, sizeof(text), "%s %s %s", json_str(c, "status"),
                           json_str(c, "reason"), json_str(c, "message"));
            same_text(json_str(c, "type"), text, want[k]);
            bool stays = str_eq(json_str(c, "status"), "True");
            same_text("since", json_str(c, "lastTransitionTime"),
                      stays ? "2026-01-02T03:04:05Z" : "2026-01-02T03:05:05Z");
        }
        stage_done(&s);
    }
}

/* Members of other writers stay; present ones keep their place. */
static void patch__others_contents__stay(void **state)
{
    struct stage s = stage_new(*state, false);
    kube_fake_put(
        s.f, KEY,
        "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"" NEG "\",\"uid\":\"u\","
        "\"finalizers\":[\"x/y\"],\"labels\":{\"networking.gke.io/managed-by\":"
        "\"neg-controller\",\"networking.gke.io/service-name\":\"web\","
        "\"networking.gke.io/service-port\":\"0\",\"mine\":\"1\"},\"ownerReferences\":[{"
        "\"kind\":\"Service\",\"name\":\"web\",\"uid\":\"older\"}]},\"status\":{"
        "\"conditions\":[{\"type\":\"Other\",\"status\":\"True\"}],"
        "\"networkEndpointGroups\":[{\"id\":\"99\",\"selfLink\":\"https://c/v1/projects/p/"
        "zones/gone/networkEndpointGroups/" NEG "\"},{\"id\":\"22\",\"selfLink\":"
        "\"https://c/beta/projects/p/zones/z2/networkEndpointGroups/" NEG "\",\"state\":"
        "\"ACTIVE\"}]}}");
    assert_int_equal(ensure(&s, 2, NULL), ERR_OK);
    same_text("requests", kube_fake_story(s.f), "list · get " KEY " · patch " KEY);
    struct json_object *o = kube_fake_get_object(s.f, KEY);
    same_text("finalizers", json_text(*state, json_path(o, "metadata.finalizers"), JSON_COMPACT),
              "[\"x/y\",\"networking.gke.io/neg-finalizer\"]");
    same_text("label", json_str(json_path(o, "metadata.labels"), "mine"), "1");
    struct json_object *owner =
        json_object_array_get_idx(json_path(o, "metadata.ownerReferences"), 0);
    same_text("owner", json_str(owner, "uid"), "uid-web");
    struct json_object *conditions = json_path(o, "status.conditions");
    assert_int_equal(json_len(conditions), 3);
    same_text("condition", json_str(json_object_array_get_idx(conditions, 0), "type"), "Other");
    struct json_object *refs = json_path(o, "status.networkEndpointGroups");
    assert_int_equal(json_len(refs), 2);
    same_text("first", json_str(json_object_array_get_idx(refs, 0), "id"), "22");
    same_text("its state", json_str(json_object_array_get_idx(refs, 0), "state"), "ACTIVE");
    same_text("second", json_str(json_object_array_get_idx(refs, 1), "id"), "11");
    stage_done(&s);
}

static void neg_status__of_nodes_or_of_pods__by_its_port(void **state)
{
    static const struct {
        const char *text;
        bool nodes;
    } rows[] = {
        {NULL, false},
        {"", false},
        {"{", false},
        {"[]", false},
        {"{\"network_endpoint_groups\":{\"80\":\"k8s1-x\"},\"zones\":[\"z1\"]}", false},
        {"{\"network_endpoint_groups\":{\"0\":\"\"}}", false},
        {"{\"network_endpoint_groups\":{\"0\":\"k8s2-x\"},\"zones\":[\"z1\"]}", true},
    };
    const struct gce_strs none = {0};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (gce_neg_status_names_nodes(rows[i].text) != rows[i].nodes) {
            fail_msg("%s: want %d", str_nonnull(rows[i].text), rows[i].nodes);
        }
    }
    assert_true(gce_neg_status_names_nodes(gce_neg_status_text(*state, NEG, &none)));
}

static void neg_status__name_and_zones__as_upstream(void **state)
{
    static const char *zones[] = {"us-central1-a", "us-central1-b"};
    const struct gce_strs two = {.items = zones, .n = 2};
    const struct gce_strs none = {0};
    same_text("two", gce_neg_status_text(*state, NEG, &two),
              "{\"network_endpoint_groups\":{\"0\":\"" NEG
              "\"},\"zones\":[\"us-central1-a\",\"us-central1-b\"]}");
    same_text("none", gce_neg_status_text(*state, NEG, &none),
              "{\"network_endpoint_groups\":{\"0\":\"" NEG "\"},\"zones\":[]}");
}

/* ---- requests -------------------------------------------------------------------------------- */

static void ensure__again__no_request(void **state)
{
    struct stage s = stage_new(*state, false);
    assert_int_equal(ensure(&s, 2, NULL), ERR_OK);
    same_text("first", kube_fake_story(s.f), "list · create " KEY);
    struct gce_neg moved = s.negs[0];
    s.negs[0] = s.negs[1]; /* in another order */
    s.negs[1] = moved;
    s.f->now_ms += 3600 * 1000;
    assert_int_equal(ensure(&s, 2, NULL), ERR_OK);
    same_text("again", kube_fake_story(s.f), "");
    assert_int_equal(ensure(&s, 3, NULL), ERR_OK);
    same_text("a zone more", kube_fake_story(s.f), "get " KEY " · patch " KEY);
    stage_done(&s);
}

/* The objects that ingress-gce left in a recorded cluster: nothing is written. */
static void ensure__objects_of_upstream__no_write(void **state)
{
    struct arena *a = *state;
    struct stage s = stage_new(a, false);
    char *text = NULL;
    size_t len = 0;
    const char *path = arena_printf(a, "%s/gce/world-l4.json", getenv("TRIMTAB_TEST_DATA"));
    assert_int_equal(file_read(a, path, (size_t)64 << 20, &text, &len, NULL), ERR_OK);
    struct json_object *world = json_path(pure_json(a, text), "kubernetes");
    struct json_object *list = json_member(world, "servicenetworkendpointgroups");
    assert_true(json_len(list) > 5);
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *meta = json_member(json_object_array_get_idx(list, i), "metadata");
        const char *key =
            arena_printf(a, "%s/%s", json_str(meta, "namespace"), json_str(meta, "name"));
        map_set(s.f->objects, key, json_copy(json_object_array_get_idx(list, i)));
    }
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        struct json_object *meta = json_member(o, "metadata");
        struct json_object *refs = json_path(o, "status.networkEndpointGroups");
        struct json_object *owner =
            json_object_array_get_idx(json_member(meta, "ownerReferences"), 0);
        struct tt_service svc = {.size = sizeof(svc),
                                 .ns = json_str(meta, "namespace"),
                                 .name = json_str(owner, "name"),
                                 .uid = json_str(owner, "uid")};
        struct gce_neg negs[8];
        struct gce_svcneg_wish w = {.service = &svc,
                                    .name = json_str(meta, "name"),
                                    .negs = negs,
                                    .n_negs = json_len(refs)};
        for (size_t r = 0; r < w.n_negs; r++) {
            struct json_object *ref = json_object_array_get_idx(refs, r);
            negs[r] =
                (struct gce_neg){.link = json_str(ref, "selfLink"), .id = json_str(ref, "id")};
        }
        assert_int_equal(gce_svcneg_ensure(s.c, &s.k, &w, NULL), ERR_OK);
    }
    same_text("requests", kube_fake_story(s.f), "list");
    stage_done(&s);
}

static void ensure__name_of_another_service__refused(void **state)
{
    struct stage s = stage_new(*state, false);
    struct err err = ERR_INIT;
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    const struct tt_service other = {
        .size = sizeof(other), .ns = "demo", .name = "other", .uid = "uid-other"};
    s.w.service = &other;
    assert_int_equal(ensure(&s, 1, &err), ERR_INVALID);
    same_text("why", err.message,
              "ServiceNetworkEndpointGroup " KEY " is not this Service's: its labels say web");
    stage_done(&s);
}

static void ensure__deleted_by_hand__made_again_at_the_next_write(void **state)
{
    struct stage s = stage_new(*state, false);
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    (void)map_remove(s.f->objects, KEY);
    (void)kube_fake_story(s.f);
    assert_int_equal(ensure(&s, 2, NULL), ERR_OK);
    same_text("requests", kube_fake_story(s.f), "get " KEY " · create " KEY);
    stage_done(&s);
}

static void ensure__made_by_another_meanwhile__read_and_mended(void **state)
{
    struct stage s = stage_new(*state, false);
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    gce_svcneg_free(s.c);
    s.c = gce_svcneg_new(false);
    s.f->refuse[0].request = "list"; /* an API server that answers with a list from before */
    s.f->refuse[0].code = TT_OK;
    struct json_object *o = map_take(s.f->objects, KEY);
    struct gce_strs links;
    assert_int_equal(gce_svcneg_links(s.c, &s.k, *state, "demo", "none", &links, NULL), ERR_OK);
    map_set(s.f->objects, KEY, o);
    (void)kube_fake_story(s.f);
    assert_int_equal(ensure(&s, 2, NULL), ERR_OK);
    same_text("requests", kube_fake_story(s.f), "create " KEY " · get " KEY " · patch " KEY);
    stage_done(&s);
}

/* gce-l4.md §3.10: it is being deleted, and wanted all the same. */
static void ensure__being_deleted__let_go_of_and_made_anew(void **state)
{
    struct stage s = stage_new(*state, false);
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    json_add_str(json_member(kube_fake_get_object(s.f, KEY), "metadata"), "deletionTimestamp",
                 "2026-01-02T03:04:05Z");
    gce_svcneg_free(s.c);
    s.c = gce_svcneg_new(false); /* after a restart it is seen */
    (void)kube_fake_story(s.f);
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    same_text("requests", kube_fake_story(s.f), "list · get " KEY " · patch " KEY " · create " KEY);
    assert_false(gce_svcneg_is_deleting(kube_fake_get_object(s.f, KEY)));
    stage_done(&s);
}

static void ensure__write_fails__tried_again(void **state)
{
    struct stage s = stage_new(*state, false);
    struct err err = ERR_INIT;
    s.f->refuse[0].request = "create " KEY;
    s.f->refuse[0].code = TT_TRANSIENT;
    assert_int_equal(ensure(&s, 1, &err), ERR_TRANSIENT);
    same_text("why", err.message,
              "ServiceNetworkEndpointGroup " KEY " could not be made: transient");
    (void)kube_fake_story(s.f);
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    same_text("requests", kube_fake_story(s.f), "get " KEY " · create " KEY);
    s.f->refuse[0].request = "patch " KEY; /* another one of the name has come: its uid */
    s.f->refuse[0].code = TT_INVALID;
    assert_int_equal(ensure(&s, 2, &err), ERR_TRANSIENT);
    s.f->refuse[0].request = "patch " KEY;
    s.f->refuse[0].code = TT_CANCELLED;
    assert_int_equal(ensure(&s, 2, &err), ERR_CANCELLED);
    assert_int_equal(ensure(&s, 2, NULL), ERR_OK);
    stage_done(&s);
}

static void list__fails__tried_again(void **state)
{
    struct stage s = stage_new(*state, false);
    struct err err = ERR_INIT;
    s.f->refuse[0].request = "list";
    s.f->refuse[0].code = TT_TRANSIENT;
    assert_int_equal(ensure(&s, 1, &err), ERR_TRANSIENT);
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    same_text("requests", kube_fake_story(s.f), "list · list · create " KEY);
    stage_done(&s);
}

#define AND_GONE " · patch " KEY " · delete " KEY

static void list__no_such_kind__balancers_work_without_and_the_log_says_so_once(void **state)
{
    static const int32_t codes[] = {TT_NOT_FOUND, TT_FORBIDDEN};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct stage s = stage_new(*state, false);
        struct gce_strs links;
        s.f->refuse[0].request = s.f->refuse[1].request = "list";
        s.f->refuse[0].code = s.f->refuse[1].code = codes[i];
        for (int k = 0; k < 3; k++) {
            assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
            assert_int_equal(gce_svcneg_delete(s.c, &s.k, "demo", NEG, NULL), ERR_OK);
            assert_int_equal(gce_svcneg_links(s.c, &s.k, *state, "demo", NEG, &links, NULL),
                             ERR_OK);
            assert_int_equal(links.n, 0);
        }
        /* A deleted Service is searched where it may have resources. */
        bool may_be = codes[i] == TT_FORBIDDEN;
        same_text("requests", kube_fake_story(s.f),
                  may_be ? "list" AND_GONE AND_GONE AND_GONE : "list");
        s.f->now_ms += 10 * 60 * 1000;
        assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
        s.f->now_ms += 10 * 60 * 1000; /* now the kind is there */
        assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
        same_text("requests", kube_fake_story(s.f), "list · list · create " KEY);
        const char *log = str_buf_text(&s.f->log);
        assert_non_null(strstr(log, "neither read nor written"));
        assert_ptr_equal(strchr(log, '\n') + 1, log + strlen(log));
        stage_done(&s);
    }
}

static void delete__may_not_list_just_now__gone_all_the_same(void **state)
{
    struct stage s = stage_new(*state, false);
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    gce_svcneg_free(s.c);
    s.c = gce_svcneg_new(false); /* a process that has just started */
    s.f->refuse[0].request = "list";
    s.f->refuse[0].code = TT_FORBIDDEN;
    assert_int_equal(gce_svcneg_delete(s.c, &s.k, "demo", NEG, NULL), ERR_OK);
    assert_null(kube_fake_get_object(s.f, KEY));
    stage_done(&s);
}

static void create__may_not__said_once_and_the_balancer_works(void **state)
{
    struct stage s = stage_new(*state, false);
    s.f->refuse[0].request = "create " KEY;
    s.f->refuse[0].code = TT_FORBIDDEN;
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    same_text("requests", kube_fake_story(s.f), "list · create " KEY);
    assert_non_null(strstr(str_buf_text(&s.f->log), "works without"));
    s.f->now_ms += 10 * 60 * 1000; /* now it may */
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    same_text("requests later", kube_fake_story(s.f), "create " KEY);
    stage_done(&s);
}

static void delete__ours__two_requests_and_gone(void **state)
{
    struct stage s = stage_new(*state, false);
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    (void)kube_fake_story(s.f);
    assert_int_equal(gce_svcneg_delete(s.c, &s.k, "demo", NEG, NULL), ERR_OK);
    same_text("requests", kube_fake_story(s.f), "patch " KEY " · delete " KEY);
    assert_null(kube_fake_get_object(s.f, KEY));
    assert_int_equal(gce_svcneg_delete(s.c, &s.k, "demo", NEG, NULL), ERR_OK);
    same_text("again", kube_fake_story(s.f), "");
    stage_done(&s);
}

static void delete__others_hold_it_too__only_our_finalizer_goes(void **state)
{
    struct stage s = stage_new(*state, false);
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    json_push_str(json_path(kube_fake_get_object(s.f, KEY), "metadata.finalizers"), "x/y");
    (void)kube_fake_story(s.f);
    assert_int_equal(gce_svcneg_delete(s.c, &s.k, "demo", NEG, NULL), ERR_OK);
    same_text("requests", kube_fake_story(s.f),
              "patch " KEY " · get " KEY " · patch " KEY " · delete " KEY);
    struct json_object *o = kube_fake_get_object(s.f, KEY);
    same_text("left", json_text(*state, json_path(o, "metadata.finalizers"), JSON_COMPACT),
              "[\"x/y\"]");
    assert_true(gce_svcneg_is_deleting(o));
    stage_done(&s);
}

/* After any failure, the next call completes it. */
static void delete__each_request_fails__the_next_call_ends_it(void **state)
{
    static const char *const where[] = {"patch " KEY, "delete " KEY};
    for (size_t i = 0; i < ARRAY_LEN(where); i++) {
        struct stage s = stage_new(*state, false);
        struct err err = ERR_INIT;
        assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
        s.f->refuse[0].request = where[i];
        s.f->refuse[0].code = TT_TRANSIENT;
        assert_int_equal(gce_svcneg_delete(s.c, &s.k, "demo", NEG, &err), ERR_TRANSIENT);
        assert_non_null(kube_fake_get_object(s.f, KEY));
        assert_int_equal(gce_svcneg_delete(s.c, &s.k, "demo", NEG, NULL), ERR_OK);
        assert_null(kube_fake_get_object(s.f, KEY));
        stage_done(&s);
    }
}

static void delete__collected_with_its_service__fine(void **state)
{
    struct stage s = stage_new(*state, false);
    assert_int_equal(ensure(&s, 1, NULL), ERR_OK);
    (void)map_remove(s.f->objects, KEY);
    assert_int_equal(gce_svcneg_delete(s.c, &s.k, "demo", NEG, NULL), ERR_OK);
    stage_done(&s);
}

static void links__of_zones_without_nodes__are_told(void **state)
{
    struct stage s = stage_new(*state, false);
    struct gce_strs links;
    assert_int_equal(ensure(&s, 2, NULL), ERR_OK);
    (void)kube_fake_story(s.f);
    assert_int_equal(gce_svcneg_links(s.c, &s.k, *state, "demo", NEG, &links, NULL), ERR_OK);
    assert_int_equal(links.n, 2);
    same_text("second", links.items[1], s.negs[1].link);
    assert_int_equal(gce_svcneg_links(s.c, &s.k, *state, "demo", "other", &links, NULL), ERR_OK);
    assert_int_equal(links.n, 0);
    same_text("requests", kube_fake_story(s.f), "get " KEY);
    stage_done(&s);
}

/* ---- digests --------------------------------------------------------------------------------- */

static void digests__thousands_come_and_go__as_in_a_map(void **state)
{
    enum { MANY = 5000 };
    struct arena *a = *state;
    struct gce_digests d = {0};
    uint64_t v = 0;
    assert_false(gce_digests_get(&d, "n", &v));
    gce_digests_remove(&d, "n");
    for (uint64_t i = 0; i < MANY; i++) {
        gce_digests_set(&d, arena_printf(a, "n%d", (int)i), i);
        assert_true(d.n < 100 || d.cap * sizeof(*d.slots) <= 40 * d.n);
    }
    for (uint64_t i = 0; i < MANY; i += 3) {
        gce_digests_remove(&d, arena_printf(a, "n%d", (int)i));
        gce_digests_set(&d, arena_printf(a, "n%d", (int)i + 1), i + MANY);
    }
    for (uint64_t i = 0; i < MANY; i++) {
        bool there = gce_digests_get(&d, arena_printf(a, "n%d", (int)i), &v);
        assert_int_equal(there, i % 3 != 0);
        assert_true(!there || v == (i % 3 == 1 ? i - 1 + MANY : i));
    }
    gce_digests_done(&d);
}

UNIT_MAIN(svcneg)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(create__new__as_upstream),
        PURE_TEST(create__with_states__each_has_its_own),
        PURE_TEST(failure__conditions_say_so_and_when_that_began),
        PURE_TEST(patch__others_contents__stay),
        PURE_TEST(neg_status__name_and_zones__as_upstream),
        PURE_TEST(neg_status__of_nodes_or_of_pods__by_its_port),
        PURE_TEST(ensure__again__no_request),
        PURE_TEST(ensure__objects_of_upstream__no_write),
        PURE_TEST(ensure__name_of_another_service__refused),
        PURE_TEST(ensure__deleted_by_hand__made_again_at_the_next_write),
        PURE_TEST(ensure__made_by_another_meanwhile__read_and_mended),
        PURE_TEST(ensure__being_deleted__let_go_of_and_made_anew),
        PURE_TEST(ensure__write_fails__tried_again),
        PURE_TEST(list__fails__tried_again),
        PURE_TEST(list__no_such_kind__balancers_work_without_and_the_log_says_so_once),
        PURE_TEST(delete__may_not_list_just_now__gone_all_the_same),
        PURE_TEST(create__may_not__said_once_and_the_balancer_works),
        PURE_TEST(delete__ours__two_requests_and_gone),
        PURE_TEST(delete__others_hold_it_too__only_our_finalizer_goes),
        PURE_TEST(delete__each_request_fails__the_next_call_ends_it),
        PURE_TEST(delete__collected_with_its_service__fine),
        PURE_TEST(links__of_zones_without_nodes__are_told),
        PURE_TEST(digests__thousands_come_and_go__as_in_a_map),
    };
    return cmocka_run_group_tests_name("gce-svcneg", tests, NULL, NULL);
}
