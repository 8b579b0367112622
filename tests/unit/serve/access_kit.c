/* SPDX-License-Identifier: Apache-2.0 */
/* access_kit.c: see access_kit.h. */
#include "tests/unit/serve/access_kit.h"

#include <dirent.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/file.h"

#define DAY_S ((int64_t)24 * 3600)

static void must(bool ok)
{
    if (!ok) {
        abort();
    }
}

/* --- requests --------------------------------------------------------------------------------- */

static const char *header(void *arg, const char *name, bool prefix, size_t i, const char **ret_name)
{
    for (const struct kit_header *h = arg; h != NULL && h->name != NULL; h++) {
        bool is_it =
            prefix ? strncasecmp(h->name, name, strlen(name)) == 0 : strcasecmp(h->name, name) == 0;
        if (is_it && i-- == 0) {
            *ret_name = h->name;
            return h->value;
        }
    }
    return NULL;
}

struct access_request kit_request(struct arena *a, const char *method, const char *path,
                                  const struct kit_header *headers)
{
    return (struct access_request){
        .a = a,
        .method = method,
        .path = path,
        .header = header,
        .header_arg = (void *)(uintptr_t)headers,
    };
}

/* --- certificates ----------------------------------------------------------------------------- */

static void add_name(X509 *cert, const char *field, const char *text)
{
    if (text != NULL) {
        must(X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), field, MBSTRING_UTF8,
                                        (const unsigned char *)text, -1, -1, 0) == 1);
    }
}

static void add_uid(X509 *cert, const char *uid)
{
    if (uid != NULL) {
        ASN1_OBJECT *oid = OBJ_txt2obj("1.3.6.1.4.1.57683.2", 1);
        must(X509_NAME_add_entry_by_OBJ(X509_get_subject_name(cert), oid, MBSTRING_UTF8,
                                        (const unsigned char *)uid, -1, -1, 0) == 1);
        ASN1_OBJECT_free(oid);
    }
}

static void add_extension(X509 *cert, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    must(ext != NULL && X509_add_ext(cert, ext, -1) == 1);
    X509_EXTENSION_free(ext);
}

static X509 *make(const struct kit_cert *spec, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key)
{
    static long serial;
    X509 *cert = X509_new();
    must(cert != NULL && X509_set_version(cert, 2) == 1);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
    bool dated = spec->from_s != 0 || spec->until_s != 0;
    must(ASN1_TIME_set(X509_getm_notBefore(cert), dated ? spec->from_s : KIT_NOW_S - DAY_S));
    must(ASN1_TIME_set(X509_getm_notAfter(cert), dated ? spec->until_s : KIT_NOW_S + DAY_S));
    add_name(cert, "CN", spec->cn);
    for (size_t i = 0; spec->orgs != NULL && spec->orgs[i] != NULL; i++) {
        add_name(cert, "O", spec->orgs[i]);
    }
    add_uid(cert, spec->uid);
    must(X509_set_pubkey(cert, key) == 1);
    must(X509_set_issuer_name(cert, X509_get_subject_name(issuer == NULL ? cert : issuer)) == 1);
    if (spec->is_ca) {
        add_extension(cert, NID_basic_constraints, "critical,CA:TRUE");
        add_extension(cert, NID_key_usage, "critical,keyCertSign,cRLSign");
    }
    if (spec->usage != NULL) {
        add_extension(cert, NID_ext_key_usage, spec->usage);
    }
    must(X509_sign(cert, issuer_key, EVP_sha256()) > 0);
    return cert;
}

static char *pem_of(X509 *cert)
{
    char *data;
    BIO *bio = BIO_new(BIO_s_mem());
    must(PEM_write_bio_X509(bio, cert) == 1);
    long n = BIO_get_mem_data(bio, &data);
    char *text = xstrndup(data, (size_t)n);
    BIO_free(bio);
    return text;
}

static struct kit_ca *new_ca(struct kit_ca *parent, const char *cn)
{
    struct kit_ca *ca = xcalloc(1, sizeof *ca);
    /* Good by the fake clocks and by the real one. */
    const struct kit_cert spec = {
        .cn = cn, .is_ca = true, .from_s = KIT_NOW_S - DAY_S, .until_s = KIT_NOW_S + 36500 * DAY_S};
    ca->key = EVP_EC_gen("P-256");
    ca->cert = make(&spec, ca->key, parent == NULL ? NULL : parent->cert,
                    parent == NULL ? ca->key : parent->key);
    ca->pem = pem_of(ca->cert);
    return ca;
}

struct kit_ca *kit_ca_new(const char *cn)
{
    return new_ca(NULL, cn);
}

struct kit_ca *kit_ca_below(struct kit_ca *parent, const char *cn)
{
    return new_ca(parent, cn);
}

void kit_ca_free(struct kit_ca *ca)
{
    X509_free(ca->cert);
    EVP_PKEY_free(ca->key);
    free(ca->pem);
    free(ca);
}

X509 *kit_issue(struct kit_ca *ca, const struct kit_cert *spec)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = make(spec, key, ca->cert, ca->key);
    EVP_PKEY_free(key);
    return cert;
}

X509 *kit_client(struct kit_ca *ca, const char *cn, const char *const *orgs)
{
    return kit_issue(ca, &(struct kit_cert){.cn = cn, .orgs = orgs, .usage = "clientAuth"});
}

/* --- files ------------------------------------------------------------------------------------ */

char *kit_folder(struct arena *a)
{
    char *folder = arena_strdup(a, "/tmp/trimtab-access-XXXXXX");
    must(mkdtemp(folder) != NULL);
    return folder;
}

void kit_folder_done(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    while (d != NULL && (e = readdir(d)) != NULL) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        (void)unlink(path); /* "." and ".." stay */
    }
    if (d != NULL) {
        closedir(d);
    }
    (void)rmdir(folder);
}

const char *kit_write(struct arena *a, const char *folder, const char *name, const char *text)
{
    const char *path = arena_printf(a, "%s/%s", folder, name);
    must(file_write_atomic(path, text, strlen(text), 0600, NULL) == ERR_OK);
    return path;
}

const char *kit_kubeconfig(struct arena *a, const char *folder, const char *name,
                           const char *server)
{
    return kit_write(a, folder, name,
                     arena_printf(a,
                                  "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                                  "clusters: [{name: k, cluster: {server: \"%s\"}}]\n"
                                  "users: [{name: u, user: {token: our-own-token}}]\n"
                                  "contexts: [{name: c, context: {cluster: k, user: u}}]\n",
                                  server));
}

int kit_setup(void **state)
{
    *state = arena_new();
    return 0;
}

int kit_teardown(void **state)
{
    arena_free(*state);
    return 0;
}
