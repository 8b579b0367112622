/* SPDX-License-Identifier: Apache-2.0 */
/* test_tls.c: what the HTTPS port shows in the handshake, by its flags and its files. */
#include "tests/unit/serve/stand.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/file.h"
#include "controller/serve/certs.h"
#include "controller/serve/self_signed.h"
#include "controller/serve/tls_flags.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

/* --- versions, ciphers, groups ---------------------------------------------------------------- */

static void tls__versions_and_ciphers__by_flags(void **state)
{
    (void)state;
    static const struct {
        const char *flag; /* NULL: none */
        struct tls_client_spec client;
        int version; /* 0: no handshake */
        const char *cipher;
    } rows[] = {
        {NULL, {0}, TLS1_3_VERSION, NULL},
        {NULL, {.max = TLS1_2_VERSION}, TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256"},
        {NULL, {.max = TLS1_1_VERSION}, 0, NULL},
        {NULL, {.max = TLS1_2_VERSION, .ciphers = "AES128-GCM-SHA256"}, 0, NULL},
        {"--tls-min-version=VersionTLS13", {.max = TLS1_2_VERSION}, 0, NULL},
        {"--tls-min-version=VersionTLS13", {0}, TLS1_3_VERSION, NULL},
        {"--tls-min-version=VersionTLS11", {.max = TLS1_1_VERSION}, TLS1_1_VERSION, NULL},
        {"--tls-min-version=VersionTLS11", {.max = TLS1_VERSION}, 0, NULL},
        {"--tls-min-version=VersionTLS10", {.max = TLS1_VERSION}, TLS1_VERSION, NULL},
        {"--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
         {.max = TLS1_2_VERSION},
         TLS1_2_VERSION,
         "ECDHE-ECDSA-AES256-GCM-SHA384"},
        {"--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
         {.max = TLS1_2_VERSION},
         TLS1_2_VERSION,
         "ECDHE-ECDSA-CHACHA20-POLY1305"},
        {"--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA,TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
         {.max = TLS1_2_VERSION},
         TLS1_2_VERSION,
         "ECDHE-ECDSA-AES128-SHA"},
        /* no say in 1.3 */
        {"--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", {0}, TLS1_3_VERSION, NULL},
        {"--tls-cipher-suites=TLS_AES_128_GCM_SHA256", {.max = TLS1_2_VERSION}, 0, NULL},
        {"--tls-cipher-suites=TLS_AES_128_GCM_SHA256", {0}, TLS1_3_VERSION, NULL},
        {"--tls-curve-preferences=24", {.groups = "P-256:P-384"}, TLS1_3_VERSION, NULL},
        {"--tls-curve-preferences=24,4588", {.groups = "P-256"}, 0, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stand s;
        stand_init(&s);
        if (rows[i].flag != NULL) {
            stand_flag(&s, "%s", rows[i].flag);
        }
        stand_start(&s);
        print_message("# %s, at most %x\n", str_or(rows[i].flag, "-"), rows[i].client.max);
        struct tls_client *c = tls_client_connect(stand_port(&s), &rows[i].client, NULL);
        assert_int_equal(c != NULL, rows[i].version != 0);
        if (c != NULL) {
            assert_int_equal(tls_client_version(c), rows[i].version);
        }
        if (rows[i].cipher != NULL) {
            assert_string_equal(tls_client_cipher(c), rows[i].cipher);
        }
        tls_client_close(c);
        stand_done(&s);
    }
}

#define SUITES_TEXT                                                                                \
    "TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256, "               \
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "             \
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "             \
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, " \
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, "                   \
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"
#define GROUPS_TEXT                                                                                \
    "23 (P-256), 24 (P-384), 25 (P-521), 29 (X25519), 4587 (SecP256r1MLKEM768), 4588 "             \
    "(X25519MLKEM768), 4589 (SecP384r1MLKEM1024)"
#define SNI_FORM "the form is CERT,KEY or CERT,KEY:NAME,NAME…"

static void tls__bad_flags__errors_say_what_is_allowed(void **state)
{
    (void)state;
    static const struct {
        const char *flag, *message;
    } rows[] = {
        {"--tls-min-version=TLS12",
         "--tls-min-version: unknown tls version \"TLS12\"; possible values: VersionTLS10, "
         "VersionTLS11, VersionTLS12, VersionTLS13"},
        {"--tls-cipher-suites=ECDHE-RSA-AES128-SHA",
         "--tls-cipher-suites: Cipher suite ECDHE-RSA-AES128-SHA not supported or doesn't exist; "
         "preferred values: " SUITES_TEXT},
        {"--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA,TLS_RSA_WITH_3DES_EDE_CBC_SHA",
         "--tls-cipher-suites: this OpenSSL has none of TLS_RSA_WITH_RC4_128_SHA, "
         "TLS_RSA_WITH_3DES_EDE_CBC_SHA: name others"},
        {"--tls-curve-preferences=X25519", "--tls-curve-preferences: \"X25519\" is no supported "
                                           "group; possible values: " GROUPS_TEXT},
        {"--tls-curve-preferences=30",
         "--tls-curve-preferences: \"30\" is no supported group; possible values: " GROUPS_TEXT},
        {"--tls-sni-cert-key=a", "--tls-sni-cert-key \"a\": expected comma separated certificate "
                                 "and key file paths; " SNI_FORM},
        {"--tls-sni-cert-key=a,b,c", "--tls-sni-cert-key \"a,b,c\": expected comma separated "
                                     "certificate and key file paths; " SNI_FORM},
        {"--tls-sni-cert-key=a,b:",
         "--tls-sni-cert-key \"a,b:\": empty names list is not allowed; " SNI_FORM},
        {"--tls-sni-cert-key=/nonexistent/a,/nonexistent/b",
         "--tls-sni-cert-key: stat /nonexistent/a: no such file or directory"},
        {"--tls-cert-file=/nonexistent/a",
         "--tls-cert-file: stat /nonexistent/a: no such file or directory"},
        {"--tls-cert-file=",
         "missing filename for serving cert: --tls-cert-file and --tls-private-key-file go "
         "together, and --tls-cert-file is not set"},
        {"--tls-private-key-file=",
         "missing filename for serving cert: --tls-cert-file and --tls-private-key-file go "
         "together, and --tls-private-key-file is not set"},
        {"--bind-address=localhost",
         "--bind-address, --secure-port: address \"localhost\" is no IP address"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stand s;
        struct err err = ERR_INIT;
        stand_init(&s);
        stand_flag(&s, "%s", rows[i].flag);
        assert_int_not_equal(stand_new(&s, true, &err), ERR_OK);
        assert_string_equal(err.message, rows[i].message);
        assert_null(s.serve);
        stand_done(&s);
    }
}

static void tls__unusable_pairs__errors_name_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *cert, *key; /* files of the folder */
        const char *message;    /* %s: the folder */
    } rows[] = {
        {"own.crt", "other.key",
         "TLS of %s/own.crt: certificate and private key do not fit together"},
        {"own.key", "own.key", "TLS of %s/own.key: the certificate cannot be read; it must be PEM"},
        {"own.crt", "own.crt",
         "TLS of %s/own.crt: the private key cannot be read; it must be PEM and not encrypted"},
        {"own.crt", "secret.key",
         "TLS of %s/own.crt: the private key cannot be read; it must be PEM and not encrypted"},
        {"own.crt", "empty", "--tls-cert-file: read %s/empty: is empty"},
    };
    struct stand s;
    stand_init(&s);
    stand_issue(&s, "other", "other", NULL);
    (void)stand_write(&s, "empty", "\n");
    EVP_PKEY *key = EVP_EC_gen("P-256");
    BIO *bio = BIO_new(BIO_s_mem());
    char *pem;
    assert_int_equal(PEM_write_bio_PrivateKey(bio, key, EVP_aes_128_cbc(),
                                              (const unsigned char *)"word", 4, NULL, NULL),
                     1);
    long n = BIO_get_mem_data(bio, &pem);
    (void)stand_write(&s, "secret.key", arena_strndup(s.a, pem, (size_t)n));
    BIO_free(bio);
    EVP_PKEY_free(key);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        stand_no_flags(&s);
        stand_flag(&s, "--tls-cert-file=%s/%s", s.dir, rows[i].cert);
        stand_flag(&s, "--tls-private-key-file=%s/%s", s.dir, rows[i].key);
        assert_int_equal(stand_new(&s, true, &err), ERR_INVALID);
        assert_string_equal(err.message, str_replace(s.a, rows[i].message, "%s", s.dir));
        options_free(STEAL(s.options));
    }
    stand_done(&s);
}

/* --- which certificate ------------------------------------------------------------------------ */

static const char *shown(struct stand *s, const char *name)
{
    struct tls_client *c =
        tls_client_connect(stand_port(s), &(struct tls_client_spec){.name = name}, NULL);
    assert_non_null(c);
    const char *cn = arena_strdup(s->a, tls_client_peer_cn(c));
    tls_client_close(c);
    return cn;
}

static void tls__sni__names_choose(void **state)
{
    (void)state;
    static const struct {
        const char *name, *cn;
    } rows[] = {
        {NULL, "own"},
        {"unknown.example", "own"},
        {"given.example", "given"}, /* a name that was given, over the same in a certificate */
        {"GIVEN.example", "given"},
        {"in-cert.example", "named.example"},
        {"named.example", "named.example"}, /* the common name */
        {"a.wild.example", "given"},
        {"a.b.wild.example", "own"}, /* one label */
        {"wild.example", "own"},
        {"a.cert-wild.example", "named.example"},
        {"both.example", "given"}, /* the earlier pair */
    };
    struct stand s;
    stand_init(&s);
    stand_issue(&s, "given", "given", "DNS:not-used.example");
    stand_issue(&s, "named", "named.example",
                "DNS:in-cert.example,DNS:given.example,DNS:*.cert-wild.example,IP:127.0.0.1");
    stand_issue(&s, "late", "late", NULL);
    stand_flag(&s, "--tls-sni-cert-key=%s/named.crt,%s/named.key", s.dir, s.dir);
    stand_flag(&s,
               "--tls-sni-cert-key=%s/given.crt , %s/given.key: given.example,*.wild.example,"
               "both.example",
               s.dir, s.dir);
    stand_flag(&s, "--tls-sni-cert-key=%s/late.crt,%s/late.key:both.example", s.dir, s.dir);
    stand_start(&s);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("# %s\n", str_or(rows[i].name, "-"));
        assert_string_equal(shown(&s, rows[i].name), rows[i].cn);
    }
    stand_done(&s);
}

/* A client that names nothing gets the pair of the address that it has reached. */
static void tls__sni__address_chooses(void **state)
{
    (void)state;
    struct stand s;
    stand_init(&s);
    stand_issue(&s, "addr", "addr", NULL);
    stand_flag(&s, "--bind-address=::");
    stand_flag(&s, "--tls-sni-cert-key=%s/addr.crt,%s/addr.key:127.0.0.1", s.dir, s.dir);
    stand_start(&s);
    assert_string_equal(shown(&s, NULL), "addr");
    assert_string_equal(shown(&s, "some.example"), "own");
    stand_done(&s);
}

/* --- clients' certificates, protocols --------------------------------------------------------- */

static void tls__client_certificate__asked_and_seen(void **state)
{
    (void)state;
    struct stand s;
    stand_init(&s);
    s.access.ca_names = true;
    stand_start(&s);
    struct test_ca *foreign = test_ca_new("Foreign");
    struct test_cert cert = test_ca_issue(foreign, &(struct test_cert_spec){.cn = "alice"});
    const struct tls_client_spec with = {.cert_pem = cert.cert_pem, .key_pem = cert.key_pem};
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct tls_client_spec spec = with;
        spec.max = versions[i];
        struct tls_client *c = tls_client_connect(stand_port(&s), &spec, NULL);
        assert_non_null(c);
        assert_true(tls_client_was_asked(c));
        assert_int_equal(tls_client_ca_names(c), 2);
        assert_true(tls_client_send(c, "GET /page HTTP/1.1\r\nHost: x\r\n\r\n"));
        char *answer = tls_client_read(c, false);
        assert_int_equal(answer_status_of(answer), 200); /* access saw alice */
        free(answer);
        tls_client_close(c);
    }
    char *answer = tls_client_get(stand_port(&s), "/page", ""); /* without: served, as anonymous */
    assert_int_equal(answer_status_of(answer), 403);
    free(answer);
    test_cert_done(&cert);
    test_ca_free(foreign);
    stand_done(&s);
}

static void tls__alpn__http_1_1(void **state)
{
    (void)state;
    struct stand s;
    stand_init(&s);
    stand_start(&s);
    struct tls_client *c =
        tls_client_connect(stand_port(&s), &(struct tls_client_spec){.offer_h2 = true}, NULL);
    assert_non_null(c);
    assert_string_equal(tls_client_alpn(c), "http/1.1");
    tls_client_close(c);
    stand_done(&s);
}

/* --- files that change ------------------------------------------------------------------------ */

/* Until the port shows `cn`: the loop takes its turn when it likes. */
static void wait_shown(struct stand *s, const char *cn)
{
    while (!str_eq(shown(s, "localhost"), cn)) {
    }
}

static void tls__files_change__new_connections_see_it(void **state)
{
    (void)state;
    struct stand s;
    stand_init(&s);
    s.clock = clock_fake_new(1000, 1800000000000000);
    stand_start(&s);
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    struct tls_client *old = tls_client_connect(stand_port(&s), NULL, NULL);
    assert_true(tls_client_send(old, request));
    free(tls_client_read(old, false)); /* now it may be idle for longer than a minute */
    stand_issue(&s, "own", "second", NULL);
    clock_fake_advance(s.clock, CERTS_EVERY_MS / 2);
    assert_string_equal(shown(&s, NULL), "own"); /* at most once a minute */
    clock_fake_advance(s.clock, CERTS_EVERY_MS / 2);
    wait_shown(&s, "second");
    /* asked for, it is at once */
    stand_issue(&s, "own", "third", NULL);
    serve_reload(s.serve);
    wait_shown(&s, "third");
    /* who was connected goes on */
    assert_true(tls_client_send(old, request));
    char *answer = tls_client_read(old, false);
    assert_int_equal(answer_status_of(answer), 200);
    free(answer);
    tls_client_close(old);
    struct clock *clock = s.clock;
    stand_done(&s);
    clock_fake_free(clock);
}

static void assert_poll_finds(struct certs *c, bool something)
{
    struct server_tls *tls = certs_poll(c, NULL, true);
    assert_int_equal(tls != NULL, something);
    server_tls_unref(tls);
}

static void tls__broken_pair__old_one_stays(void **state)
{
    (void)state;
    struct stand s;
    struct err err = ERR_INIT;
    struct certs *c = NULL;
    struct server_tls *tls = NULL;
    stand_init(&s);
    assert_int_equal(stand_new(&s, true, &err), ERR_OK);
    assert_int_equal(certs_new(s.options, clock_real(), &c, &err), ERR_OK);
    assert_int_equal(certs_first(c, NULL, &tls, &err), ERR_OK);
    server_tls_unref(tls);
    assert_poll_finds(c, false); /* nothing has changed */
    struct test_cert next = test_ca_issue(s.ca, &(struct test_cert_spec){.cn = "next"});
    (void)stand_write(&s, "own.crt", next.cert_pem); /* half of the exchange */
    assert_poll_finds(c, false);
    (void)stand_write(&s, "own.key", next.key_pem);
    assert_poll_finds(c, true);
    (void)stand_write(&s, "own.crt", "rubbish");
    assert_poll_finds(c, false);
    assert_int_equal(unlink(arena_printf(s.a, "%s/own.crt", s.dir)), 0);
    assert_poll_finds(c, false);
    (void)stand_write(&s, "own.crt", next.cert_pem);
    assert_poll_finds(c, true);
    test_cert_done(&next);
    certs_free(c);
    stand_done(&s);
}

static void tls__client_ca_names_change__handshake_follows(void **state)
{
    (void)state;
    struct stand s;
    stand_init(&s);
    stand_start(&s);
    struct tls_client *c = tls_client_connect(stand_port(&s), NULL, NULL);
    assert_int_equal(tls_client_ca_names(c), 0);
    tls_client_close(c);
    mutex_lock(&s.access.lock);
    s.access.ca_names = true;
    mutex_unlock(&s.access.lock);
    serve_reload(s.serve);
    for (size_t n = 0; n != 2;) {
        c = tls_client_connect(stand_port(&s), NULL, NULL);
        n = tls_client_ca_names(c);
        tls_client_close(c);
    }
    stand_done(&s);
}

/* --- one of our own making -------------------------------------------------------------------- */

static bool has_san(X509 *cert, int type, const char *text)
{
    bool found = false;
    GENERAL_NAMES *alt = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(alt); i++) {
        const GENERAL_NAME *g = sk_GENERAL_NAME_value(alt, i);
        if (g->type != type) {
            continue;
        }
        if (type == GEN_DNS) {
            found = found || str_eq((const char *)ASN1_STRING_get0_data(g->d.dNSName), text);
        } else {
            ASN1_OCTET_STRING *ip = a2i_IPADDRESS(text);
            found = found || ASN1_OCTET_STRING_cmp(ip, g->d.iPAddress) == 0;
            ASN1_OCTET_STRING_free(ip);
        }
    }
    GENERAL_NAMES_free(alt);
    return found;
}

static void self_signed__content__as_upstream(void **state)
{
    (void)state;
    const int64_t now_us = INT64_C(1800000000) * 1000000;
    struct arena *a = arena_new();
    struct self_signed made;
    struct err err = ERR_INIT;
    assert_int_equal(self_signed_make(a, "10.1.2.3", now_us, &made, &err), ERR_OK);
    BIO *bio = BIO_new_mem_buf(made.cert_pem, -1);
    X509 *leaf = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    X509 *ca = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    assert_non_null(leaf);
    assert_non_null(ca);
    assert_null(PEM_read_bio_X509(bio, NULL, NULL, NULL));
    char cn[64];
    X509_NAME_get_text_by_NID(X509_get_subject_name(leaf), NID_commonName, cn, sizeof(cn));
    assert_string_equal(cn, "localhost@1800000000");
    X509_NAME_get_text_by_NID(X509_get_subject_name(ca), NID_commonName, cn, sizeof(cn));
    assert_string_equal(cn, "localhost-ca@1800000000");
    assert_int_equal(X509_verify(leaf, X509_get0_pubkey(ca)), 1);
    assert_int_equal(X509_check_ca(ca), 1);
    assert_int_equal(X509_check_ca(leaf), 0);
    assert_int_equal(EVP_PKEY_get_bits(X509_get0_pubkey(leaf)), 2048);
    assert_int_equal(EVP_PKEY_get_bits(X509_get0_pubkey(ca)), 2048);
    assert_int_equal(X509_get_extended_key_usage(leaf), XKU_SSL_SERVER);
    assert_true(has_san(leaf, GEN_DNS, "localhost"));
    assert_true(has_san(leaf, GEN_IPADD, "127.0.0.1"));
    assert_true(has_san(leaf, GEN_IPADD, "10.1.2.3"));
    time_t from = 1800000000 - 3600, to = from + (time_t)365 * 24 * 3600;
    assert_int_equal(ASN1_TIME_cmp_time_t(X509_get0_notBefore(leaf), from), 0);
    assert_int_equal(ASN1_TIME_cmp_time_t(X509_get0_notAfter(leaf), to), 0);
    assert_true(made.ends_us == (int64_t)to * 1000000);
    X509_free(leaf);
    X509_free(ca);
    BIO_free(bio);
    arena_free(a);
}

static void self_signed__without_files__served_and_renewed(void **state)
{
    (void)state;
    const int64_t day_ms = INT64_C(24) * 3600 * 1000;
    struct stand s;
    stand_init(&s);
    stand_no_flags(&s);
    stand_flag(&s, "--bind-address=127.0.0.1");
    s.clock = clock_fake_new(1000, INT64_C(1800000000) * 1000000);
    stand_start(&s);
    assert_string_equal(shown(&s, NULL), "localhost@1800000000");
    clock_fake_advance(s.clock, 300 * day_ms);
    assert_string_equal(shown(&s, NULL), "localhost@1800000000");
    clock_fake_advance(s.clock, 40 * day_ms); /* less than 30 days are left */
    while (str_eq(shown(&s, NULL), "localhost@1800000000")) {
    }
    struct clock *clock = s.clock;
    stand_done(&s);
    clock_fake_free(clock);
}

static void cert_dir__empty__written_and_used_again(void **state)
{
    (void)state;
    struct stand s;
    struct err err = ERR_INIT;
    struct stat st;
    stand_init(&s);
    stand_no_flags(&s);
    stand_flag(&s, "--bind-address=127.0.0.1");
    stand_flag(&s, "--cert-dir=%s/certs", s.dir);
    const char *key = arena_printf(s.a, "%s/certs/cloud-controller-manager.key", s.dir);
    const char *cert = arena_printf(s.a, "%s/certs/cloud-controller-manager.crt", s.dir);
    stand_start(&s);
    assert_int_equal(stat(key, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(cert, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    const char *first = shown(&s, NULL);
    assert_true(str_has_prefix(first, "localhost@"));
    serve_free(STEAL(s.serve));
    options_free(STEAL(s.options));
    /* the next start takes what is there, whatever it is */
    struct test_cert other = test_ca_issue(s.ca, &(struct test_cert_spec){.cn = "kept"});
    assert_int_equal(file_write_atomic(cert, other.cert_pem, strlen(other.cert_pem), 0644, &err),
                     0);
    assert_int_equal(file_write_atomic(key, other.key_pem, strlen(other.key_pem), 0600, &err), 0);
    test_cert_done(&other);
    stand_start(&s);
    assert_string_equal(shown(&s, NULL), "kept");
    serve_free(STEAL(s.serve));
    options_free(STEAL(s.options));
    /* one alone is an error */
    assert_int_equal(unlink(key), 0);
    assert_int_equal(stand_new(&s, true, &err), ERR_INVALID);
    char *want =
        xasprintf("--cert-dir: error reading %s, certificate and key must be supplied as a "
                  "pair; %s is there: remove it, or bring the other",
                  key, cert);
    assert_string_equal(err.message, want);
    free(want);
    stand_done(&s);
}

static void cert_dir__cannot_be_made__error_of_the_start(void **state)
{
    (void)state;
    struct stand s;
    struct err err = ERR_INIT;
    stand_init(&s);
    stand_no_flags(&s);
    stand_flag(&s, "--cert-dir=%s/no/such", s.dir);
    assert_int_equal(stand_new(&s, true, &err), ERR_INVALID);
    assert_string_equal(
        err.message,
        arena_printf(s.a, "--cert-dir: make %s/no/such: No such file or directory", s.dir));
    stand_done(&s);
}

UNIT_MAIN(tls)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tls__versions_and_ciphers__by_flags),
        cmocka_unit_test(tls__bad_flags__errors_say_what_is_allowed),
        cmocka_unit_test(tls__unusable_pairs__errors_name_the_file),
        cmocka_unit_test(tls__sni__names_choose),
        cmocka_unit_test(tls__sni__address_chooses),
        cmocka_unit_test(tls__client_certificate__asked_and_seen),
        cmocka_unit_test(tls__alpn__http_1_1),
        cmocka_unit_test(tls__files_change__new_connections_see_it),
        cmocka_unit_test(tls__broken_pair__old_one_stays),
        cmocka_unit_test(tls__client_ca_names_change__handshake_follows),
        cmocka_unit_test(self_signed__content__as_upstream),
        cmocka_unit_test(self_signed__without_files__served_and_renewed),
        cmocka_unit_test(cert_dir__empty__written_and_used_again),
        cmocka_unit_test(cert_dir__cannot_be_made__error_of_the_start),
    };
    return cmocka_run_group_tests_name("serve_tls", tests, NULL, NULL);
}
