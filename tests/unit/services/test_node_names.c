/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_names.c: names of chains, sets and maps, and probabilities of rules. */
#include "tests/unit/services/services_test.h"

#include <math.h>

#include "common/services/node/names.h"

/* ---- iptables -------------------------------------------------------------------------------- */

static const struct {
    const char *display;
    const char *endpoint; /* NULL: of the port */
    const char *hash;
} hashes[] = {
    {"default/es1:http", NULL, "LAS23QA33HXV7KBL"},
    {"default/my-service", NULL, "FXIYY6OHUSNBITIX"},
    {"default/my-service:", NULL, "KEAUNL7HVWWSEZA6"}, /* as releases up to 1.19 had it */
    {"default/my-nginx:", NULL, "BEPXDJBUHFCSYIC3"},
    {"default/my-nginx:", "10.244.1.10:80", "U4UWLP4OR3LOJBXU"},
    {"default/my-nginx:", "10.244.2.10:80", "QHRWSLKOO5YUPI7O"},
    {"default/my-service", "10.244.1.10:80", "BUXFFZOVWA2SBUMG"},
    {"default/my-service", "10.244.2.10:80", "SF74NXUASCKCUL32"},
};

static void iptables_hash__of_known_services__is_that_of_kube_proxy(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(hashes); i++) {
        assert_string_equal(ks_iptables_hash(a, hashes[i].display, "tcp", hashes[i].endpoint),
                            hashes[i].hash);
        if (hashes[i].endpoint != NULL) {
            struct ks_sep_names *names = ks_sep_names_new(a, hashes[i].display, "tcp");
            const char *want = arena_printf(a, "KUBE-SEP-%s", hashes[i].hash);
            assert_string_equal(ks_sep_name(a, names, hashes[i].endpoint), want);
            assert_string_equal(ks_iptables_sep(a, hashes[i].display, "tcp", hashes[i].endpoint),
                                want);
        }
    }
}

static void iptables_names__of_one_port__share_a_hash(void **state)
{
    struct arena *a = *state;
    struct ks_iptables_names names = ks_iptables_names(a, "default", "es1", "http", "tcp");
    assert_string_equal(names.display, "default/es1:http");
    assert_string_equal(names.svc, "KUBE-SVC-LAS23QA33HXV7KBL");
    assert_string_equal(names.svl, "KUBE-SVL-LAS23QA33HXV7KBL");
    assert_string_equal(names.fw, "KUBE-FW-LAS23QA33HXV7KBL");
    assert_string_equal(names.ext, "KUBE-EXT-LAS23QA33HXV7KBL");
    assert_string_equal(ks_iptables_names(a, "default", "my-service", "", "tcp").display,
                        "default/my-service");
    /* the protocol is in the hash */
    assert_string_not_equal(ks_iptables_names(a, "default", "es1", "http", "udp").svc, names.svc);
}

static void sep_names__of_many_endpoints__equal_those_made_alone(void **state)
{
    struct arena *a = *state;
    struct ks_sep_names *names = ks_sep_names_new(a,
                                                  "ns/a-name-that-fills-more-than-one-block:"
                                                  "of-the-hash-with-64-bytes-each-for-sure",
                                                  "sctp");
    for (int i = 0; i < 300; i++) {
        const char *endpoint = arena_printf(a, "[fd00::%x]:%d", i, 1000 + i);
        assert_string_equal(ks_sep_name(a, names, endpoint),
                            ks_iptables_sep(a,
                                            "ns/a-name-that-fills-more-than-one-block:"
                                            "of-the-hash-with-64-bytes-each-for-sure",
                                            "sctp", endpoint));
    }
}

/* ---- nftables -------------------------------------------------------------------------------- */

static void nftables_names__have_hash_and_text(void **state)
{
    struct arena *a = *state;
    struct ks_nftables_names names = ks_nftables_names(a, "ns1", "game", "metrics", "udp");
    assert_string_equal(names.service, "service-SJNK7FV4-ns1/game/udp/metrics");
    assert_string_equal(names.local, "local-SJNK7FV4-ns1/game/udp/metrics");
    assert_string_equal(names.external, "external-SJNK7FV4-ns1/game/udp/metrics");
    assert_string_equal(names.firewall, "firewall-SJNK7FV4-ns1/game/udp/metrics");
    assert_string_equal(
        ks_nftables_endpoint(a, "ns1", "game", "metrics", "udp", "172.16.9.11:47488"),
        "endpoint-F6WT276J-ns1/game/udp/metrics__172.16.9.11/47488");
    assert_string_equal(
        ks_nftables_affinity(a, "demo", "es1", "grpc-web", "udp", "[fd00:10:244::9]:7066"),
        "affinity-ONM5UGKT-demo/es1/udp/grpc-web__fd00.10.244..9/7066");
}

static void nftables_names__longer_than_240__are_cut_and_end_in_dots(void **state)
{
    struct arena *a = *state;
    char name[231];
    memset(name, 'x', sizeof(name));
    for (size_t n = 215; n <= 230; n++) {
        name[n] = '\0';
        /* "HASH1234-" + "ns/" + name + "/tcp/p" */
        size_t whole = 9 + 3 + n + 6;
        const char *base =
            ks_nftables_names(a, "ns", name, "p", "tcp").service + strlen("service-");
        assert_int_equal(strlen(base), whole <= 240 ? whole : 240);
        assert_int_equal(str_has_suffix(base, "..."), whole > 240);
        name[n] = 'x';
    }
}

/* ---- probabilities --------------------------------------------------------------------------- */

static const struct {
    size_t n;
    const char *written;
    const char *saved;
} probabilities[] = {
    {2, "0.5000000000", "0.50000000000"},  {3, "0.3333333333", "0.33333333349"},
    {4, "0.2500000000", "0.25000000000"},  {5, "0.2000000000", "0.20000000019"},
    {6, "0.1666666667", "0.16666666651"},  {7, "0.1428571429", "0.14285714272"},
    {10, "0.1000000000", "0.10000000009"}, {1, "1.0000000000", "1.00000000000"},
};

static void probability__digit_by_digit(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(probabilities); i++) {
        assert_string_equal(ks_probability(a, probabilities[i].n), probabilities[i].written);
        assert_string_equal(ks_probability_saved(a, probabilities[i].written),
                            probabilities[i].saved);
    }
}

static void probability_saved__not_a_fraction__is_refused(void **state)
{
    static const char *const wrong[] = {"",
                                        ".",
                                        "x",
                                        "-0.5",
                                        "1.1",
                                        "0x0.8",
                                        "inf",
                                        "nan",
                                        "0.5 ",
                                        " 0.5",
                                        "0,5",
                                        "1e-3",
                                        "2",
                                        "0.5.",
                                        "0.5.5",
                                        "+0.25",
                                        "99999999999999999999"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_null(ks_probability_saved(*state, wrong[i]));
    }
}

/* The share of each of n endpoints, when rule i is taken with the written (or
 * the saved) probability. */
static void check_shares(struct arena *a, size_t n, bool saved)
{
    double missed = 1;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const char *text = ks_probability(a, n - i);
        double q = i + 1 == n ? 1 : strtod(saved ? ks_probability_saved(a, text) : text, NULL);
        double share = missed * q;
        missed *= 1 - q;
        sum += share;
        assert_true(fabs(share - 1.0 / (double)n) < 1e-9);
    }
    assert_true(fabs(sum - 1) < 1e-9);
}

static void probabilities__of_a_chain__give_each_endpoint_the_same_share(void **state)
{
    static const size_t sizes[] = {1000, 4999, 20000};
    for (size_t n = 1; n <= 120; n++) {
        check_shares(*state, n, false);
        check_shares(*state, n, true);
    }
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        check_shares(*state, sizes[i], false);
        check_shares(*state, sizes[i], true);
    }
}

UNIT_MAIN(node_names)
{
    const struct CMUnitTest tests[] = {
        services_test(iptables_hash__of_known_services__is_that_of_kube_proxy),
        services_test(iptables_names__of_one_port__share_a_hash),
        services_test(sep_names__of_many_endpoints__equal_those_made_alone),
        services_test(nftables_names__have_hash_and_text),
        services_test(nftables_names__longer_than_240__are_cut_and_end_in_dots),
        services_test(probability__digit_by_digit),
        services_test(probability_saved__not_a_fraction__is_refused),
        services_test(probabilities__of_a_chain__give_each_endpoint_the_same_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
