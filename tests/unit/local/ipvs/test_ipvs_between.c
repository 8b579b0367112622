/* SPDX-License-Identifier: Apache-2.0 */
/* test_ipvs_between.c: what happens to virtual services between two syncs: health of targets, and
 * what others change (K52 to K54). */
#include "tests/unit/local/ipvs/ipvs_kit.h"

#include "providers/local/standing.h"
#include "tests/support/clock_fake.h"

static const struct ipvs_scene nat = {.name = "nat"};

static int setup(void **state)
{
    struct ipvs_kit *k = xcalloc(1, sizeof *k);

    ipvs_kit_begin(k);
    k->directed = true;
    *state = k;
    return 0;
}

static int teardown(void **state)
{
    ipvs_kit_end(*state);
    free(*state);
    return 0;
}

static struct local_provider *provider(const struct ipvs_kit *k)
{
    return k->p;
}

static void begin(struct ipvs_kit *k, const struct ipvs_scene *s, const char *want)
{
    assert_int_equal(ipvs_kit_open(k, s), TT_OK);
    assert_int_equal(ipvs_kit_sync(k, s), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), want);
    str_buf_reset(&k->told);
    str_buf_reset(&k->order);
}

/* ---- health ---------------------------------------------------------------------------------- */

/* The question of kube-proxy's port at a node. */
static struct local_checked question(struct ipvs_kit *k, const char *node, bool down)
{
    struct local_checked c = {.spec = {.kind = LOCAL_CHECK_KUBE_PROXY,
                                       .port = LOCAL_KUBE_PROXY_PORT,
                                       .path = "/healthz",
                                       .interval_ms = 2000,
                                       .timeout_ms = 1000,
                                       .fall = 3,
                                       .rise = 2},
                              .starts_down = down};

    assert_true(ip_parse(node, &c.spec.addr));
    c.key = local_check_key(k->a, &c.spec);
    return c;
}

/* The stored part of the Service is checked, too. */
static void ask_these(struct ipvs_kit *k, const struct local_checked *both)
{
    struct served *v = local_served_get(provider(k), k->a, "d/a");

    for (size_t i = 0; v != NULL && i < v->n; i++) {
        for (size_t j = 0; j < v->fronts[i].targets.n; j++) {
            const struct ip_addr *addr = &v->fronts[i].targets.items[j].addr;
            bool first = ip_eq(addr, &both[0].spec.addr);
            assert_true(first || ip_eq(addr, &both[1].spec.addr));
            v->fronts[i].checks[j] = both[first ? 0 : 1].check;
        }
    }
    if (v != NULL) {
        local_served_put(provider(k), k->a, v);
    }
}

/* The verdicts are these from now on, and the thread tells the provider. */
static bool verdicts(struct ipvs_kit *k, bool n1_down, bool n2_down)
{
    static const char *const services[] = {"d/a"};
    struct local_checked both[] = {question(k, "10.1.0.1", n1_down),
                                   question(k, "10.1.0.2", n2_down)};
    struct local_health is = {0};

    local_director_check(provider(k)->directing, "d/a", NULL, 0);
    local_director_check(provider(k)->directing, "d/a", both, 2);
    ask_these(k, both);
    assert_true(local_director_health(provider(k)->directing, both[0].key, &is));
    assert_int_equal(is.down, n1_down);
    return local_health_changed(k->p, services, 1);
}

#define LINES(w1, w2)                                                                              \
    "-A -t 10.0.0.0:80 -s rr\n-a -t 10.0.0.0:80 -r 10.1.0.1:30080 -m -w " w1                       \
    "\n-a -t 10.0.0.0:80 -r 10.1.0.2:30080 -m -w " w2 "\n"

static void test_health__between_two_syncs__changes_weights(void **state)
{
    struct ipvs_kit *k = *state;

    begin(k, &nat, NAT_LINES);
    assert_true(verdicts(k, true, false)); /* L01 */
    assert_string_equal(ipvs_kit_kernel(k), LINES("0", "1"));
    assert_non_null(strstr(str_buf_text(&k->told), "TargetsEjected: 1 targets get no new"));
    assert_true(verdicts(k, false, false)); /* L02 */
    assert_string_equal(ipvs_kit_kernel(k), LINES("1", "1"));
    assert_true(verdicts(k, true, true)); /* L03 */
    assert_string_equal(ipvs_kit_kernel(k), LINES("1", "1"));
    assert_non_null(strstr(str_buf_text(&k->told), "FailOpen: "));
    /* A sync finds nothing to do. */
    assert_true(verdicts(k, true, false));
    str_buf_reset(&k->order);
    assert_int_equal(ipvs_kit_sync(k, &nat), TT_OK);
    assert_string_equal(str_buf_text(&k->order), "");
    assert_string_equal(ipvs_kit_kernel(k), LINES("0", "1"));
    /* That sync has told the owner; so another one comes when it is not so any more. */
    assert_string_equal(str_buf_text(&k->asked), "");
    assert_true(verdicts(k, false, false));
    assert_string_equal(str_buf_text(&k->asked), "d/a ");
}

static unsigned at(const struct ipvs_kit *k, const char *operation)
{
    const char *found = strstr(str_buf_text(&k->told), operation);

    if (found == NULL) {
        fail_msg("no \"%s\" in %s", operation, str_buf_text(&k->told));
        return 0;
    }
    return (unsigned)(found - str_buf_text(&k->told));
}

/* Each change of a destination, in the order in which the kernel was asked: "ADDRESS:WEIGHT; ". */
static int (*kernels_change)(struct local_kernel *k, const struct local_ipvs_change *changes,
                             size_t n, int *codes, struct err *err);
static struct ipvs_kit *writing;

static int change_and_tell(struct local_kernel *k, const struct local_ipvs_change *changes,
                           size_t n, int *codes, struct err *err)
{
    char text[IP_TEXT_MAX];

    for (size_t i = 0; i < n; i++) {
        ip_format(&changes[i].dest.addr, text);
        str_appendf(&writing->told, "%s:%u; ", text,
                    changes[i].what == LOCAL_IPVS_DEL_DEST ? 999u : changes[i].dest.weight);
    }
    return kernels_change(k, changes, n, codes, err);
}

/* L04, L05: with a sorry server nothing fails open; it is there before the last target goes, and
 * goes after the first one is back. */
static void test_health__all_down_with_a_sorry_server__it_answers_until_one_is_back(void **state)
{
    struct ipvs_kit *k = *state;
    static const struct ipvs_scene sorry = {.name = "L04",
                                            .wishes = "'local.trimtab.io/sorry': '10.9.9.9'"};

    writing = k;
    kernels_change = k->ops.ipvs_change;
    k->ops.ipvs_change = change_and_tell;
    begin(k, &sorry, NAT_LINES);
    assert_true(verdicts(k, true, true));
    assert_string_equal(ipvs_kit_kernel(k),
                        LINES("0", "0") "-a -t 10.0.0.0:80 -r 10.9.9.9:80 -m -w 1\n");
    assert_true(at(k, "10.9.9.9:1; ") < at(k, "10.1.0.1:0; "));
    assert_true(at(k, "10.9.9.9:1; ") < at(k, "10.1.0.2:0; "));
    assert_null(strstr(str_buf_text(&k->told), "FailOpen"));
    str_buf_reset(&k->told);
    assert_true(verdicts(k, false, true));
    assert_string_equal(ipvs_kit_kernel(k),
                        LINES("1", "0") "-a -t 10.0.0.0:80 -r 10.9.9.9:80 -m -w 0\n");
    assert_true(at(k, "10.1.0.1:1; ") < at(k, "10.9.9.9:0; "));
    assert_string_equal(str_buf_text(&k->asked), ""); /* no sync is needed to delete it */
    clock_fake_advance(k->clock, 2000);
    assert_true(local_watch_look(k->p, LOCAL_LOOK_ROUND));
    assert_non_null(strstr(ipvs_kit_kernel(k), "10.9.9.9:80 -m -w 0"));
    clock_fake_advance(k->clock, 2000);
    assert_true(local_watch_look(k->p, LOCAL_LOOK_ROUND));
    assert_string_equal(ipvs_kit_kernel(k), LINES("1", "0"));
}

static struct local_ipvs_change foreign(enum local_ipvs_what what, const char *to, uint16_t weight)
{
    struct local_ipvs_change c = {
        .what = what,
        .service = {.id = {.protocol = LOCAL_TCP, .port = 80}, .scheduler = "rr"},
        .dest = {.port = 30080, .weight = weight}};

    assert_true(ip_parse("10.0.0.0", &c.service.id.vip) && ip_parse(to, &c.dest.addr));
    return c;
}

/* IPVS sends no events: the thread reads the service before it plans. */
static void test_health__others_changed_the_service_meanwhile__weights_are_right(void **state)
{
    struct ipvs_kit *k = *state;
    const struct local_ipvs_change gone = foreign(LOCAL_IPVS_DEL_DEST, "10.1.0.1", 0);

    begin(k, &nat, NAT_LINES);
    fake_kernel_foreign_ipvs(k->kernel, &gone);
    assert_true(verdicts(k, true, false));
    assert_string_equal(ipvs_kit_kernel(k), LINES("0", "1"));
}

static void test_restart__with_weight_0__writes_nothing_and_the_check_decides(void **state)
{
    struct ipvs_kit *k = *state;
    struct local_health is = {0};

    begin(k, &nat, NAT_LINES);
    assert_true(verdicts(k, true, false));
    ipvs_kit_close(k);
    assert_int_equal(ipvs_kit_open(k, &nat), TT_OK); /* L10 */
    str_buf_reset(&k->order);
    assert_int_equal(ipvs_kit_sync(k, &nat), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), LINES("0", "1"));
    assert_null(strstr(str_buf_text(&k->order), "destination"));
    struct local_checked n1 = question(k, "10.1.0.1", false);
    struct local_checked n2 = question(k, "10.1.0.2", false);
    assert_true(local_director_health(provider(k)->directing, n1.key, &is) && is.down);
    assert_true(local_director_health(provider(k)->directing, n2.key, &is) && !is.down);
    assert_true(verdicts(k, false, false));
    assert_string_equal(ipvs_kit_kernel(k), LINES("1", "1"));
}

/* ---- what others change ---------------------------------------------------------------------- */

/* All parts of a round, and the look at all holds that comes with it. */
static void look(struct ipvs_kit *k)
{
    assert_true(local_watch_look(k->p, LOCAL_LOOK_HOLDS));
    for (int i = 0; i < LOCAL_ROUND_PARTS; i++) {
        assert_true(local_watch_look(k->p, LOCAL_LOOK_ROUND));
    }
}

static const char *told(const struct ipvs_kit *k)
{
    return str_buf_text(&k->told);
}

static void test_round__others_delete_a_destination__is_added(void **state)
{
    struct ipvs_kit *k = *state;
    const struct local_ipvs_change gone = foreign(LOCAL_IPVS_DEL_DEST, "10.1.0.1", 0);

    begin(k, &nat, NAT_LINES);
    look(k);
    assert_string_equal(told(k), "");
    fake_kernel_foreign_ipvs(k->kernel, &gone); /* K52 */
    look(k);
    assert_string_equal(ipvs_kit_kernel(k), NAT_LINES);
    assert_non_null(strstr(told(k), "LoadBalancerDrift: others changed this machine's kernel: "
                                    "destination 10.0.0.0:80/tcp → 10.1.0.1:30080 is missing; it "
                                    "is put right"));
}

static void test_round__others_add_a_destination__drains_and_goes(void **state)
{
    struct ipvs_kit *k = *state;
    const struct local_ipvs_change added = foreign(LOCAL_IPVS_ADD_DEST, "10.1.0.9", 1);

    begin(k, &nat, NAT_LINES);
    fake_kernel_foreign_ipvs(k->kernel, &added); /* K53 */
    look(k);
    assert_non_null(strstr(ipvs_kit_kernel(k), "10.1.0.9:30080 -m -w 0"));
    assert_non_null(strstr(told(k), "10.1.0.9:30080 differs; it is put right"));
    clock_fake_advance(k->clock, 4000);
    assert_true(local_watch_look(k->p, LOCAL_LOOK_ROUND)); /* a sync may not come */
    assert_string_equal(ipvs_kit_kernel(k), NAT_LINES);
}

static void test_round__others_clear_ipvs__all_is_programmed_again(void **state)
{
    struct ipvs_kit *k = *state;
    const struct local_ipvs_change clear = foreign(LOCAL_IPVS_DEL_SERVICE, "10.1.0.1", 0);

    begin(k, &nat, NAT_LINES);
    fake_kernel_foreign_ipvs(k->kernel, &clear); /* K54 */
    assert_string_equal(ipvs_kit_kernel(k), "");
    look(k);
    assert_string_equal(ipvs_kit_kernel(k), NAT_LINES);
}

static void test_round__with_report__tells_once_and_writes_nothing(void **state)
{
    struct ipvs_kit *k = *state;
    const struct local_ipvs_change gone = foreign(LOCAL_IPVS_DEL_DEST, "10.1.0.1", 0);

    k->drift = TT_DRIFT_REPORT;
    begin(k, &nat, NAT_LINES);
    fake_kernel_foreign_ipvs(k->kernel, &gone);
    look(k);
    look(k);
    assert_null(strstr(ipvs_kit_kernel(k), "10.1.0.1"));
    const char *first = strstr(told(k), "left as it is (--drift=report)");
    assert_non_null(first);
    assert_null(strstr(first + 1, "LoadBalancerDrift"));
}

static void test_round__others_add_a_service_at_our_address__goes(void **state)
{
    struct ipvs_kit *k = *state;
    struct local_ipvs_change added = foreign(LOCAL_IPVS_ADD_SERVICE, "10.1.0.1", 0);

    added.service.id.port = 81;
    begin(k, &nat, NAT_LINES);
    fake_kernel_foreign_ipvs(k->kernel, &added);
    look(k);
    assert_string_equal(ipvs_kit_kernel(k), NAT_LINES);
    assert_non_null(strstr(told(k), "virtual service 10.0.0.0:81/tcp should not be there"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

UNIT_MAIN(ipvs_between)
{
    const struct CMUnitTest tests[] = {
        TEST(test_health__between_two_syncs__changes_weights),
        TEST(test_health__all_down_with_a_sorry_server__it_answers_until_one_is_back),
        TEST(test_health__others_changed_the_service_meanwhile__weights_are_right),
        TEST(test_restart__with_weight_0__writes_nothing_and_the_check_decides),
        TEST(test_round__others_delete_a_destination__is_added),
        TEST(test_round__others_add_a_destination__drains_and_goes),
        TEST(test_round__others_clear_ipvs__all_is_programmed_again),
        TEST(test_round__with_report__tells_once_and_writes_nothing),
        TEST(test_round__others_add_a_service_at_our_address__goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
