/* SPDX-License-Identifier: Apache-2.0 */
/* sigv4.c: the canonical request, the string to sign and the signature of a message.
 *
 * Source: docs/spec/aws.md §2.7. */
#include "sim/aws/sigv4.h"

#include "common/base/str.h"
#include "common/net/url.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#define ALGORITHM "AWS4-HMAC-SHA256"

/* --- the header ------------------------------------------------------------------------------- */

/* "NAME=value" among the comma-separated parts; NULL: absent. */
static const char *part_of(struct arena *a, const char *text, const char *name)
{
    size_t n = 0, len = strlen(name);
    char **parts = str_split(a, text, ',', &n);
    for (size_t i = 0; i < n; i++) {
        const char *part = str_trim(a, parts[i]);
        if (strncmp(part, name, len) == 0 && part[len] == '=' && part[len + 1]) {
            return part + len + 1;
        }
    }
    return NULL;
}

const char *amz_authorization_parse(struct arena *a, const char *text,
                                    struct amz_authorization *ret)
{
    size_t n = strlen(ALGORITHM), n_scope = 0;
    if (strncmp(text, ALGORITHM, n) != 0 || text[n] != ' ') {
        return "Unsupported AWS 'algorithm'; want " ALGORITHM ".";
    }
    const char *credential = part_of(a, text + n, "Credential");
    const char *headers = part_of(a, text + n, "SignedHeaders");
    *ret = (struct amz_authorization){.signature = part_of(a, text + n, "Signature")};
    if (!credential || !headers || !ret->signature) {
        return arena_printf(a, "Authorization header requires '%s' parameter.",
                            !credential ? "Credential"
                            : !headers  ? "SignedHeaders"
                                        : "Signature");
    }
    char **scope = str_split(a, credential, '/', &n_scope);
    if (n_scope != 5 || strlen(scope[1]) != 8 || !str_eq(scope[4], "aws4_request")) {
        return arena_printf(a, "Credential must have exactly 5 slash-delimited elements, e.g. "
                               "keyid/date/region/service/term, ending in aws4_request.");
    }
    ret->access_key = scope[0];
    ret->date = scope[1];
    ret->region = scope[2];
    ret->service = scope[3];
    ret->headers = (const char **)str_split(a, headers, ';', &ret->n_headers);
    return NULL;
}

/* --- the canonical request -------------------------------------------------------------------- */

static void append_encoded(struct str_buf *b, const char *text, bool keep_slash)
{
    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        bool plain = (byte < 0x80 && isalnum(byte)) || strchr("-_.~", *c) != NULL ||
                     (keep_slash && *c == '/');
        if (plain) {
            str_append_c(b, *c);
        } else {
            str_appendf(b, "%%%02X", byte);
        }
    }
}

static int compare_texts(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static bool append_query(struct arena *a, struct str_buf *b, const char *query)
{
    struct url_param *params;
    size_t n;
    if (url_query_parse(a, query, &params, &n, NULL)) {
        return false;
    }
    char **pairs = ARENA_ARRAY(a, char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct str_buf pair = STR_BUF_INIT;
        append_encoded(&pair, params[i].name, false);
        str_append_c(&pair, '=');
        append_encoded(&pair, params[i].value, false);
        pairs[i] = str_buf_to_arena(&pair, a);
        str_buf_done(&pair);
    }
    qsort(pairs, n, sizeof(*pairs), compare_texts);
    str_append(b, str_join(a, (const char *const *)pairs, n, "&"));
    return true;
}

/* The value without blanks at its ends, and with single ones inside. */
static void append_header_value(struct str_buf *b, const char *value)
{
    bool blank = true;
    size_t before = b->len;
    for (const char *c = value; *c; c++) {
        if (*c != ' ' && *c != '\t') {
            str_append_c(b, *c);
        } else if (!blank) {
            str_append_c(b, ' ');
        }
        blank = *c == ' ' || *c == '\t';
    }
    if (blank && b->len > before) {
        b->data[--b->len] = '\0';
    }
}

char *amz_canonical_request(struct arena *a, const struct amz_message *m,
                            const struct amz_authorization *auth)
{
    struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "%s\n", m->method);
    append_encoded(&b, str_or(m->path, "/"), true);
    str_append_c(&b, '\n');
    if (!append_query(a, &b, m->query)) {
        str_buf_done(&b);
        return NULL;
    }
    str_append_c(&b, '\n');
    for (size_t i = 0; i < auth->n_headers; i++) {
        str_appendf(&b, "%s:", str_lower(a, auth->headers[i]));
        append_header_value(&b, str_nonnull(m->header(m->arg, auth->headers[i])));
        str_append_c(&b, '\n');
    }
    str_appendf(&b, "\n%s\n%s", str_lower(a, str_join(a, auth->headers, auth->n_headers, ";")),
                amz_sha256_hex(a, m->body, m->body_len));
    char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

/* --- the signature ---------------------------------------------------------------------------- */

static char *hex(struct arena *a, const unsigned char *p, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    char *text = arena_alloc(a, 2 * n + 1);
    for (size_t i = 0; i < n; i++) {
        text[2 * i] = digits[p[i] >> 4];
        text[2 * i + 1] = digits[p[i] & 15];
    }
    return text;
}

char *amz_sha256_hex(struct arena *a, const void *p, size_t n)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (EVP_Digest(p ? p : "", n, digest, &len, EVP_sha256(), NULL) != 1) {
        out_of_memory(0);
    }
    return hex(a, digest, len);
}

static void hmac(const unsigned char *key, size_t n, const char *text, unsigned char out[32])
{
    unsigned len = 0;
    if (!HMAC(EVP_sha256(), key, (int)n, (const unsigned char *)text, strlen(text), out, &len)) {
        out_of_memory(0);
    }
}

void amz_signing_key(const char *secret, const char *date, const char *region, const char *service,
                     unsigned char out[32])
{
    unsigned char k[2][32];
    char *first = xasprintf("AWS4%s", secret);
    hmac((const unsigned char *)first, strlen(first), date, k[0]);
    free(first);
    hmac(k[0], 32, region, k[1]);
    hmac(k[1], 32, service, k[0]);
    hmac(k[0], 32, "aws4_request", out);
}

char *amz_signature(struct arena *a, const struct amz_message *m,
                    const struct amz_authorization *auth, const char *amz_date, const char *secret)
{
    unsigned char key[32], signature[32];
    const char *canonical = amz_canonical_request(a, m, auth);
    if (!canonical) {
        return NULL;
    }
    const char *to_sign =
        arena_printf(a, ALGORITHM "\n%s\n%s/%s/%s/aws4_request\n%s", amz_date, auth->date,
                     auth->region, auth->service, amz_sha256_hex(a, canonical, strlen(canonical)));
    amz_signing_key(secret, auth->date, auth->region, auth->service, key);
    hmac(key, sizeof(key), to_sign, signature);
    return hex(a, signature, sizeof(signature));
}
