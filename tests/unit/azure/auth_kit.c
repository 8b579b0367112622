/* SPDX-License-Identifier: Apache-2.0 */
/* auth_kit.c: see auth_kit.h. */
#include "tests/unit/azure/auth_kit.h"

#include "common/base/file.h"
#include "common/net/url.h"
#include "tests/support/azure_config_text.h"
#include "tests/support/clock_fake.h"
#include "tests/support/http_ignore_sent.h"

#include <dirent.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <unistd.h>

int kit_setup(void **state)
{
    struct kit *k = xcalloc(1, sizeof(*k));
    k->a = arena_new();
    k->clock = clock_fake_new(1000, KIT_WALL_S * INT64_C(1000000));
    mutex_init(&k->lock);
    *state = k;
    return 0;
}

static void remove_folder(struct kit *k)
{
    DIR *d = k->folder[0] != '\0' ? opendir(k->folder) : NULL;
    struct dirent *e;
    while (d != NULL && (e = readdir(d)) != NULL) {
        (void)unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d != NULL) {
        closedir(d);
        (void)rmdir(k->folder);
    }
}

int kit_teardown(void **state)
{
    struct kit *k = *state;
    azure_auth_free(k->auth);
    http_free(k->http);
    test_server_stop(k->server);
    EVP_PKEY_free(k->pkey);
    remove_folder(k);
    mutex_done(&k->lock);
    clock_fake_free(k->clock);
    arena_free(k->a);
    free(k);
    return 0;
}

/* ---- auth objects ---------------------------------------------------------------------------- */

int kit_try(struct kit *k, const char *config, const struct azure_env *env)
{
    const struct azure_unknown_key *unknown;
    size_t n;
    azure_auth_free(k->auth);
    k->auth = NULL;
    k->env = env != NULL ? *env : (struct azure_env){0};
    err_clear(&k->err);
    if (azure_config_parse(k->a, config, strlen(config), &k->env, &k->config, &unknown, &n,
                           &k->err) != ERR_OK) {
        fail_msg("%s: %s", config, k->err.message);
    }
    k->cloud = azure_cloud_by_name(k->a, k->config.cloud);
    const char *imds = "http://imds";
    if (k->server != NULL) {
        k->cloud.authority = test_server_url(k->server, "/");
        imds = test_server_url(k->server, "");
    }
    const struct azure_auth_config cfg = {
        .config = &k->config,
        .env = &k->env,
        .cloud = &k->cloud,
        .clock = k->clock,
        .imds = imds,
    };
    return azure_auth_new(&cfg, &k->auth, &k->err);
}

void kit_open(struct kit *k, const char *config, const struct azure_env *env)
{
    if (kit_try(k, config, env) != ERR_OK) {
        fail_msg("%s: %s", config, k->err.message);
    }
}

void kit_reset_clock(struct kit *k)
{
    azure_auth_free(k->auth);
    k->auth = NULL;
    http_free(k->http);
    k->http = NULL;
    clock_fake_free(k->clock);
    k->clock = clock_fake_new(1000, KIT_WALL_S * INT64_C(1000000));
}

/* ---- a fetch by hand ------------------------------------------------------------------------- */

void kit_ask(struct kit *k, enum azure_tenant tenant)
{
    k->req = (struct http_request){0};
    err_clear(&k->err);
    azure_fetch_begin(&k->fetch, k->auth, tenant, k->a);
    if (azure_fetch_step(&k->fetch, &k->req, NULL, 0, &k->err) != HTTP_SEND) {
        fail_msg("no request: %s", k->err.message);
    }
}

enum http_next kit_answer(struct kit *k, int status, const char *body)
{
    const struct http_response resp = {.status = status, .body = body, .body_len = strlen(body)};
    return azure_fetch_step(&k->fetch, &k->req, &resp, 0.5, &k->err);
}

const char *kit_form(struct kit *k, const char *name)
{
    struct url_param *params;
    size_t n;
    if (url_query_parse(k->a, k->req.body, &params, &n, NULL) != ERR_OK) {
        return NULL;
    }
    return url_query_get(params, n, name);
}

const char *kit_token(struct kit *k)
{
    return azure_auth_token(k->auth, AZURE_TENANT_COMPUTE, k->a);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void handle(void *arg, struct http_req *req)
{
    struct kit *k = arg;
    mutex_lock(&k->lock);
    int status = k->status;
    const char *body = k->body;
    mutex_unlock(&k->lock);
    http_req_add_header(req, "Content-Type", "application/json");
    http_req_answer(req, status, body, strlen(body));
}

void kit_serve(struct kit *k, int status, const char *body)
{
    mutex_lock(&k->lock);
    k->status = status;
    k->body = arena_strdup(k->a, body);
    mutex_unlock(&k->lock);
    if (k->server == NULL) {
        const struct test_server_config cfg = {.handle = handle, .arg = k};
        k->server = test_server_start(&cfg);
    }
    if (k->http == NULL) {
        const struct http_config http = {
            .observe = http_ignore_sent, .user_agent = "test", .clock = k->clock};
        k->http = http_new(&http);
    }
}

/* ---- certificates ---------------------------------------------------------------------------- */

const char *kit_path(struct kit *k, const char *name)
{
    if (k->folder[0] == '\0') {
        strncpy(k->folder, "/tmp/trimtab-azure-XXXXXX", sizeof(k->folder) - 1);
        assert_non_null(mkdtemp(k->folder));
    }
    return arena_printf(k->a, "%s/%s", k->folder, name);
}

static X509 *make_cert(struct kit *k)
{
    if (k->pkey == NULL) {
        k->pkey = EVP_RSA_gen(2048);
    }
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_set_pubkey(cert, k->pkey);
    X509_gmtime_adj(X509_getm_notBefore(cert), 0);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    assert_true(X509_sign(cert, k->pkey, EVP_sha256()) > 0);
    return cert;
}

static void write_pem(struct kit *k, BIO *out, X509 *cert, enum kit_cert kind, const char *password)
{
    bool locked = kind == KIT_PEM_LOCKED;
    assert_int_equal(PEM_write_bio_PrivateKey(out, k->pkey, locked ? EVP_aes_256_cbc() : NULL,
                                              locked ? (const unsigned char *)password : NULL,
                                              locked ? (int)strlen(password) : 0, NULL, NULL),
                     1);
    if (kind != KIT_KEY_ONLY) {
        assert_int_equal(PEM_write_bio_X509(out, cert), 1);
    }
}

const char *kit_write_cert(struct kit *k, enum kit_cert kind, const char *password)
{
    BIO *out = BIO_new(BIO_s_mem());
    X509 *cert = make_cert(k);
    if (kind == KIT_PKCS12) {
        PKCS12 *box = PKCS12_create(password, "test", k->pkey, cert, NULL, 0, 0, 0, 0, 0);
        assert_int_equal(i2d_PKCS12_bio(out, box), 1);
        PKCS12_free(box);
    } else if (kind == KIT_NONSENSE) {
        assert_true(BIO_puts(out, "no certificate") > 0);
    } else {
        write_pem(k, out, cert, kind, password);
    }
    char *bytes;
    long n = BIO_get_mem_data(out, &bytes);
    const char *path = kit_path(k, arena_printf(k->a, "cert-%d", (int)kind));
    assert_int_equal(file_write_atomic(path, bytes, (size_t)n, 0600, NULL), ERR_OK);
    X509_free(cert);
    BIO_free(out);
    return path;
}

static struct json_object *part(struct kit *k, const char *text)
{
    unsigned char *bytes;
    size_t n;
    assert_true(str_base64_decode(k->a, text, true, &bytes, &n));
    return pure_json(k->a, arena_strndup(k->a, (const char *)bytes, n));
}

bool kit_verify(struct kit *k, const char *jwt, struct json_object **ret_header,
                struct json_object **ret_claims)
{
    size_t n_parts;
    size_t n;
    unsigned char *sig;
    char **parts = str_split(k->a, jwt, '.', &n_parts);
    assert_int_equal(n_parts, 3);
    *ret_header = part(k, parts[0]);
    *ret_claims = part(k, parts[1]);
    assert_true(str_base64_decode(k->a, parts[2], true, &sig, &n));
    const char *input = arena_printf(k->a, "%s.%s", parts[0], parts[1]);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *key = NULL;
    bool pss = str_eq(json_str(*ret_header, "alg"), "PS256");
    bool ok = EVP_DigestVerifyInit(ctx, &key, EVP_sha256(), NULL, k->pkey) == 1;
    ok = ok && (!pss || EVP_PKEY_CTX_set_rsa_padding(key, RSA_PKCS1_PSS_PADDING) == 1);
    ok = ok && EVP_DigestVerify(ctx, sig, n, (const unsigned char *)input, strlen(input)) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}
