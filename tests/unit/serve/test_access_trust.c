/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of certificates and of the trust that is put together from files and the ConfigMap.
 * controller.md §3.6. */
#include "tests/unit/serve/access_kit.h"

#include <string.h>

#include "common/base/str.h"
#include "controller/serve/access_cert.h"
#include "controller/serve/access_trust.h"
#include "tests/support/unit.h"

static X509_STORE *store_of(const char *pem)
{
    X509_STORE *store = NULL;
    STACK_OF(X509_NAME) *names = NULL;
    assert_int_equal(access_cas_parse(pem, strlen(pem), &store, &names, NULL), ERR_OK);
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return store;
}

/* Result of the verification; "" if valid.  Frees `cert`. */
static const char *verdict(struct arena *a, X509_STORE *cas, X509 *cert, STACK_OF(X509) * chain)
{
    struct err err = ERR_INIT;
    int rc = access_cert_verify(cas, cert, chain, KIT_NOW_S, &err);
    assert_int_equal(rc, err.code);
    assert_true(rc == ERR_OK || rc == ERR_AUTH);
    X509_free(cert);
    return arena_strdup(a, err.message);
}

static void verify__dates_usage_and_issuer__decide(void **state)
{
    struct kit_ca *ca = kit_ca_new("ca");
    struct kit_ca *other = kit_ca_new("ca"); /* same name, another key */
    X509_STORE *cas = store_of(ca->pem);
    const struct {
        struct kit_ca *issuer;
        struct kit_cert spec;
        const char *why; /* NULL: fine */
    } rows[] = {
        {ca, {.cn = "x", .usage = "clientAuth"}, NULL},
        {ca, {.cn = "x", .usage = "serverAuth,clientAuth"}, NULL},
        {ca, {.cn = "x", .usage = "anyExtendedKeyUsage"}, NULL},
        {ca, {.cn = "x"}, NULL},
        {ca, {.cn = "x", .usage = "serverAuth"}, "not for client authentication"},
        {ca, {.cn = "x", .from_s = KIT_NOW_S - 10, .until_s = KIT_NOW_S - 1}, "expired"},
        {ca, {.cn = "x", .from_s = KIT_NOW_S + 1, .until_s = KIT_NOW_S + 10}, "not yet valid"},
        {ca, {.cn = "x", .from_s = KIT_NOW_S - 1, .until_s = KIT_NOW_S + 1}, NULL},
        {other, {.cn = "x", .usage = "clientAuth"}, "certificate"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = verdict(*state, cas, kit_issue(rows[i].issuer, &rows[i].spec), NULL);
        bool ok = rows[i].why == NULL ? got[0] == '\0' : strstr(got, rows[i].why) != NULL;
        if (!ok) {
            fail_msg("row %zu: want %s, got \"%s\"", i, str_or(rows[i].why, "yes"), got);
        }
    }
    X509_STORE_free(cas);
    kit_ca_free(ca);
    kit_ca_free(other);
}

static void verify__intermediates__come_from_the_client(void **state)
{
    struct kit_ca *root = kit_ca_new("root");
    struct kit_ca *middle = kit_ca_below(root, "middle");
    X509_STORE *cas = store_of(root->pem);
    X509_STORE *middle_only = store_of(middle->pem);
    STACK_OF(X509) *chain = sk_X509_new_null();
    assert_string_not_equal(verdict(*state, cas, kit_client(middle, "x", NULL), NULL), "");
    sk_X509_push(chain, middle->cert);
    assert_string_equal(verdict(*state, cas, kit_client(middle, "x", NULL), chain), "");
    /* A bundle of an intermediate alone is an anchor, as in Go. */
    assert_string_equal(verdict(*state, middle_only, kit_client(middle, "x", NULL), NULL), "");
    for (int i = 0; i < ACCESS_CHAIN_MAX; i++) {
        sk_X509_push(chain, middle->cert);
    }
    assert_non_null(
        strstr(verdict(*state, cas, kit_client(middle, "x", NULL), chain), "a chain of more than"));
    sk_X509_free(chain);
    X509_STORE_free(cas);
    X509_STORE_free(middle_only);
    kit_ca_free(root);
    kit_ca_free(middle);
}

/* The holder of a certificate is not a CA: its signatures are invalid. */
static void verify__signed_by_a_client__is_refused(void **state)
{
    struct kit_ca *ca = kit_ca_new("ca");
    struct kit_ca fake = {.key = EVP_EC_gen("P-256")};
    X509_STORE *cas = store_of(ca->pem);
    STACK_OF(X509) *chain = sk_X509_new_null();
    fake.cert = kit_client(ca, "mallory", NULL);
    X509_set_pubkey(fake.cert, fake.key);
    X509_sign(fake.cert, ca->key, EVP_sha256());
    sk_X509_push(chain, fake.cert);
    assert_string_not_equal(verdict(*state, cas, kit_client(&fake, "admin", NULL), chain), "");
    sk_X509_free(chain);
    X509_free(fake.cert);
    EVP_PKEY_free(fake.key);
    X509_STORE_free(cas);
    kit_ca_free(ca);
}

static void cert__names_user_groups_uid_and_itself(void **state)
{
    static const char *const orgs[] = {"system:masters", "dev", NULL};
    struct kit_ca *ca = kit_ca_new("ca");
    X509 *cert = kit_issue(ca, &(struct kit_cert){.cn = "Zoë", .orgs = orgs, .uid = "u-7"});
    struct access_user u;
    struct err err = ERR_INIT;
    assert_true(access_cert_user(*state, cert, &u, &err));
    assert_string_equal(u.name, "Zoë");
    assert_string_equal(u.uid, "u-7");
    assert_int_equal(u.n_groups, 2);
    assert_string_equal(u.groups[0], "system:masters");
    assert_string_equal(u.groups[1], "dev");
    assert_int_equal(u.n_extra, 1);
    assert_string_equal(u.extra[0].key, "authentication.kubernetes.io/credential-id");
    assert_true(str_has_prefix(u.extra[0].values[0], "X509SHA256="));
    assert_int_equal(strlen(u.extra[0].values[0]), strlen("X509SHA256=") + 64);
    assert_int_equal(access_cert_remaining_s(cert, KIT_NOW_S), 86400);
    assert_int_equal(access_cert_remaining_s(cert, KIT_NOW_S + 86401), -1);
    X509_free(cert);
    cert = kit_issue(ca, &(struct kit_cert){.orgs = orgs});
    assert_false(access_cert_user(*state, cert, &u, &err));
    assert_int_equal(err.code, ERR_OK);
    X509_free(cert);
    kit_ca_free(ca);
}

static void cert__nul_in_its_name__is_refused(void **state)
{
    struct kit_ca *ca = kit_ca_new("ca");
    X509 *cert = kit_client(ca, "x", NULL);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
                               (const unsigned char *)"admin\0.evil", 11, -1, 0);
    struct access_user u;
    struct err err = ERR_INIT;
    assert_false(access_cert_user(*state, cert, &u, &err));
    assert_int_equal(err.code, ERR_INVALID);
    X509_free(cert);
    kit_ca_free(ca);
}

static void bundle__rubbish__is_refused(void **state)
{
    struct kit_ca *ca = kit_ca_new("ca");
    struct arena *a = *state;
    const char *const rows[] = {
        "",
        "hello",
        "-----BEGIN CERTIFICATE-----\nZm9v\n-----END CERTIFICATE-----\n",
        arena_printf(a, "%s-----BEGIN CERTIFICATE-----\nZm9v\n-----END CERTIFICATE-----\n",
                     ca->pem),
        arena_printf(a, "%.*s", (int)(strlen(ca->pem) - 40), ca->pem),
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        X509_STORE *store = NULL;
        STACK_OF(X509_NAME) *names = NULL;
        struct err err = ERR_INIT;
        if (access_cas_parse(rows[i], strlen(rows[i]), &store, &names, &err) != ERR_INVALID ||
            store != NULL) {
            fail_msg("row %zu", i);
        }
    }
    kit_ca_free(ca);
}

/* --- the ConfigMap ---------------------------------------------------------------------------- */

static struct json_object *tree(struct arena *a, const char *text)
{
    struct json_object *o = NULL;
    assert_int_equal(json_parse_arena(a, text, strlen(text), NULL, &o, NULL), ERR_OK);
    return o;
}

static void config__lists__are_json_arrays_of_names(void **state)
{
    const struct {
        const char *data;
        bool ok;
    } rows[] = {
        {"{}", true},
        {"{\"requestheader-allowed-names\":\"\"}", true},
        {"{\"requestheader-allowed-names\":\"[]\"}", true},
        {"{\"requestheader-allowed-names\":\"[\\\"a\\\", \\\" b \\\"]\"}", true},
        {"{\"requestheader-allowed-names\":\"a\"}", false},
        {"{\"requestheader-allowed-names\":\"{}\"}", false},
        {"{\"requestheader-username-headers\":\"[1]\"}", false},
        {"{\"requestheader-group-headers\":\"[\\\"\\\"]\"}", false},
        {"{\"requestheader-extra-headers-prefix\":\"[\\\" \\\"]\"}", false},
        {"{\"requestheader-uid-headers\":\"[[\\\"a\\\"]]\"}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct access_config config = access_config_read(*state, tree(*state, rows[i].data));
        if ((config.fault.code == ERR_OK) != rows[i].ok) {
            fail_msg("row %zu: %s", i, config.fault.message);
        }
    }
    const struct access_config config = access_config_read(*state, tree(*state, rows[3].data));
    assert_string_equal(config.headers.allowed.items[1], "b");
    assert_int_equal(access_config_read(*state, NULL).fault.code, ERR_OK);
}

static void trust__flags_win_over_the_config_map_one_by_one(void **state)
{
    (void)state;
    struct kit_ca *by_flag = kit_ca_new("by-flag");
    struct kit_ca *by_map = kit_ca_new("by-map");
    struct kit_ca *proxy = kit_ca_new("proxy");
    const char *const flag_user[] = {"x-flag-user"};
    const char *const map_user[] = {"x-map-user"};
    const struct access_header_names of_flags = {.user = {.items = flag_user, .n = 1}};
    const struct access_config config = {
        .client_ca = by_map->pem,
        .proxy_ca = proxy->pem,
        .headers = {.user = {.items = map_user, .n = 1}},
    };
    struct access_trust_parts parts = {
        .client_ca = by_flag->pem, .headers = &of_flags, .config = &config};
    struct access_trust_faults faults;
    struct access_trust *t = access_trust_new(&parts, &faults);
    assert_string_equal(t->headers.user.items[0], "x-map-user");
    assert_int_equal(sk_X509_NAME_num(t->client_names), 1);
    assert_int_equal(sk_X509_NAME_num(t->proxy_names), 1);
    assert_string_equal(verdict(t->a, t->client_cas, kit_client(by_flag, "x", NULL), NULL), "");
    assert_string_not_equal(verdict(t->a, t->client_cas, kit_client(by_map, "x", NULL), NULL), "");
    assert_string_equal(verdict(t->a, t->proxy_cas, kit_client(proxy, "x", NULL), NULL), "");
    access_trust_unref(t);

    parts = (struct access_trust_parts){
        .proxy_ca = by_flag->pem, .headers = &of_flags, .config = &config};
    t = access_trust_new(&parts, &faults);
    assert_int_equal(faults.client.code + faults.proxy.code, ERR_OK);
    assert_string_equal(t->headers.user.items[0], "x-flag-user");
    assert_string_equal(verdict(t->a, t->client_cas, kit_client(by_map, "x", NULL), NULL), "");
    access_trust_unref(t);

    parts = (struct access_trust_parts){.headers = &of_flags};
    t = access_trust_new(&parts, &faults);
    assert_int_equal(faults.client.code + faults.proxy.code, ERR_OK);
    assert_null(t->client_cas);
    assert_null(t->proxy_cas);
    access_trust_unref(t);
    kit_ca_free(by_flag);
    kit_ca_free(by_map);
    kit_ca_free(proxy);
}

static void trust__bad_part__is_the_old_one_and_holds_nobody_up(void **state)
{
    (void)state;
    struct kit_ca *one = kit_ca_new("one");
    struct kit_ca *two = kit_ca_new("two");
    const char *const user[] = {"x-user"};
    const struct access_header_names none = {0};
    const struct access_header_names names = {.user = {.items = user, .n = 1}};
    struct access_config config = {.client_ca = one->pem, .proxy_ca = one->pem, .headers = names};
    struct access_trust_parts parts = {.headers = &none, .config = &config};
    struct access_trust_faults faults;
    struct access_trust *old = access_trust_new(&parts, &faults);
    parts.old = old;
    config = (struct access_config){.client_ca = two->pem, .proxy_ca = "rubbish"};
    struct access_trust *t = access_trust_new(&parts, &faults);
    assert_int_equal(faults.client.code, ERR_OK);
    assert_string_equal(faults.proxy.message,
                        "requestheader-client-ca-file: it has no certificate (want PEM)");
    assert_string_equal(verdict(t->a, t->client_cas, kit_client(two, "x", NULL), NULL), "");
    assert_string_not_equal(verdict(t->a, t->client_cas, kit_client(one, "x", NULL), NULL), "");
    assert_string_equal(verdict(t->a, t->proxy_cas, kit_client(one, "x", NULL), NULL), "");
    assert_string_equal(t->headers.user.items[0], "x-user");
    access_trust_unref(t);

    config = (struct access_config){.client_ca = "rubbish", .proxy_ca = two->pem};
    (void)err_set(&config.fault, ERR_INVALID, "a list");
    t = access_trust_new(&parts, &faults);
    assert_true(str_has_prefix(faults.client.message, "client-ca-file: "));
    assert_string_equal(faults.proxy.message, "a list");
    assert_ptr_equal(t->client_cas, old->client_cas);
    assert_ptr_equal(t->proxy_cas, old->proxy_cas);
    access_trust_unref(t);

    parts = (struct access_trust_parts){.client_ca = "x", .proxy_ca = "y", .headers = &none};
    t = access_trust_new(&parts, &faults);
    assert_true(str_has_prefix(faults.client.message, "--client-ca-file: "));
    assert_true(str_has_prefix(faults.proxy.message, "--requestheader-client-ca-file: "));
    assert_null(t->client_cas);
    access_trust_unref(t);
    access_trust_unref(old);
    kit_ca_free(one);
    kit_ca_free(two);
}

UNIT_MAIN(access_trust)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(verify__dates_usage_and_issuer__decide),
        KIT_TEST(verify__intermediates__come_from_the_client),
        KIT_TEST(verify__signed_by_a_client__is_refused),
        KIT_TEST(cert__names_user_groups_uid_and_itself),
        KIT_TEST(cert__nul_in_its_name__is_refused),
        KIT_TEST(bundle__rubbish__is_refused),
        KIT_TEST(config__lists__are_json_arrays_of_names),
        KIT_TEST(trust__flags_win_over_the_config_map_one_by_one),
        KIT_TEST(trust__bad_part__is_the_old_one_and_holds_nobody_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
