/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: chain, set and map names from SHA-256 and base32; see names.h.
 *
 * OpenSSL looks its algorithm up again for each hash that is begun, so names of endpoints continue
 * a copy of their port's hash: one look-up per service port. */
#include "common/services/node/names.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"

#define DIGEST_BYTES   32
#define IPTABLES_CHARS 16
#define NFTABLES_CHARS 8
#define NFTABLES_MAX   240 /* characters behind the prefix; longer names are cut, and end in dots */

/* ---- hashes ---------------------------------------------------------------------------------- */

struct ks_sep_names {
    EVP_MD_CTX *begun; /* display name and protocol */
    EVP_MD_CTX *work;
};

static void hash_text(EVP_MD_CTX *ctx, const char *text)
{
    int ok = EVP_DigestUpdate(ctx, text, strlen(text));
    assert(ok == 1);
    (void)ok; /* SHA-256 fails only for want of memory, before any update */
}

/* A hash that is begun; out of memory ends the process, as everywhere. */
static EVP_MD_CTX *hash_begin(void)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (ctx == NULL || EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1) {
        out_of_memory(0);
    }
    return ctx;
}

/* The first `chars` characters of the digest in base32 (RFC 4648); `chars` is a multiple of 8. */
static void hash_end(EVP_MD_CTX *ctx, char *out, size_t chars)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (EVP_DigestFinal_ex(ctx, digest, NULL) != 1) {
        out_of_memory(0);
    }
    for (size_t at = 0; at < chars; at += 8) {
        uint64_t bits = 0;
        for (size_t i = 0; i < 5; i++) {
            bits = bits << 8 | digest[at / 8 * 5 + i];
        }
        for (size_t i = 0; i < 8; i++) {
            out[at + i] = alphabet[bits >> (35 - 5 * i) & 31];
        }
    }
    out[chars] = '\0';
}

/* ---- iptables -------------------------------------------------------------------------------- */

const char *ks_iptables_hash(struct arena *a, const char *display, const char *proto,
                             const char *endpoint)
{
    char *text = arena_alloc(a, IPTABLES_CHARS + 1);
    EVP_MD_CTX *ctx = hash_begin();
    hash_text(ctx, display);
    hash_text(ctx, proto);
    hash_text(ctx, str_nonnull(endpoint));
    hash_end(ctx, text, IPTABLES_CHARS);
    EVP_MD_CTX_free(ctx);
    return text;
}

struct ks_iptables_names ks_iptables_names(struct arena *a, const char *ns, const char *name,
                                           const char *port, const char *proto)
{
    struct ks_iptables_names names = {.display = ks_display_name(a, ns, name, port)};
    const char *hash = ks_iptables_hash(a, names.display, proto, NULL);
    names.svc = arena_printf(a, "KUBE-SVC-%s", hash);
    names.svl = arena_printf(a, "KUBE-SVL-%s", hash);
    names.fw = arena_printf(a, "KUBE-FW-%s", hash);
    names.ext = arena_printf(a, "KUBE-EXT-%s", hash);
    return names;
}

const char *ks_display_name(struct arena *a, const char *ns, const char *name, const char *port)
{
    return *port == '\0' ? arena_printf(a, "%s/%s", ns, name)
                         : arena_printf(a, "%s/%s:%s", ns, name, port);
}

static void sep_names_free(void *arg)
{
    struct ks_sep_names *names = arg;
    EVP_MD_CTX_free(names->begun);
    EVP_MD_CTX_free(names->work);
}

struct ks_sep_names *ks_sep_names_new(struct arena *a, const char *display, const char *proto)
{
    struct ks_sep_names *names = ARENA_NEW(a, struct ks_sep_names);
    names->begun = hash_begin();
    hash_text(names->begun, display);
    hash_text(names->begun, proto);
    names->work = EVP_MD_CTX_new();
    if (names->work == NULL) {
        out_of_memory(0);
    }
    arena_defer(a, sep_names_free, names);
    return names;
}

const char *ks_sep_name(struct arena *a, struct ks_sep_names *names, const char *endpoint)
{
    static const char prefix[] = "KUBE-SEP-";
    char *text = arena_alloc(a, sizeof(prefix) + IPTABLES_CHARS);
    if (EVP_MD_CTX_copy_ex(names->work, names->begun) != 1) {
        out_of_memory(0);
    }
    hash_text(names->work, endpoint);
    memcpy(text, prefix, sizeof(prefix) - 1);
    hash_end(names->work, text + sizeof(prefix) - 1, IPTABLES_CHARS);
    return text;
}

const char *ks_iptables_sep(struct arena *a, const char *display, const char *proto,
                            const char *endpoint)
{
    return arena_printf(a, "KUBE-SEP-%s", ks_iptables_hash(a, display, proto, endpoint));
}

/* ---- nftables -------------------------------------------------------------------------------- */

/* HASH-TEXT, cut when it is too long: what stands behind a prefix. */
static const char *nftables_base(struct arena *a, const char *text)
{
    char hash[NFTABLES_CHARS + 1];
    EVP_MD_CTX *ctx = hash_begin();
    hash_text(ctx, text);
    hash_end(ctx, hash, NFTABLES_CHARS);
    EVP_MD_CTX_free(ctx);
    const size_t room = NFTABLES_MAX - (NFTABLES_CHARS + 1);
    bool fits = strlen(text) <= room;
    return arena_printf(a, "%s-%.*s%s", hash, (int)(fits ? room : room - 3), text,
                        fits ? "" : "...");
}

struct ks_nftables_names ks_nftables_names(struct arena *a, const char *ns, const char *name,
                                           const char *port, const char *proto)
{
    const char *base = nftables_base(a, arena_printf(a, "%s/%s/%s/%s", ns, name, proto, port));
    return (struct ks_nftables_names){.service = arena_printf(a, "service-%s", base),
                                      .local = arena_printf(a, "local-%s", base),
                                      .external = arena_printf(a, "external-%s", base),
                                      .firewall = arena_printf(a, "firewall-%s", base)};
}

/* "ns/name/proto/port__ip/port", with dots for the colons of an IPv6 address. */
static const char *endpoint_text(struct arena *a, const char *base, const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');
    size_t n = colon == NULL ? strlen(endpoint) : (size_t)(colon - endpoint);
    char *address = arena_strndup(a, endpoint + (*endpoint == '[' ? 1 : 0),
                                  *endpoint == '[' && n >= 2 ? n - 2 : n);
    for (char *c = address; *c != '\0'; c++) {
        *c = (char)(*c == ':' ? '.' : *c);
    }
    return arena_printf(a, "%s__%s/%s", base, address, colon == NULL ? "" : colon + 1);
}

const char *ks_nftables_endpoint(struct arena *a, const char *ns, const char *name,
                                 const char *port, const char *proto, const char *endpoint)
{
    const char *base = arena_printf(a, "%s/%s/%s/%s", ns, name, proto, port);
    return arena_printf(a, "endpoint-%s", nftables_base(a, endpoint_text(a, base, endpoint)));
}

const char *ks_nftables_affinity(struct arena *a, const char *ns, const char *name,
                                 const char *port, const char *proto, const char *endpoint)
{
    const char *base = arena_printf(a, "%s/%s/%s/%s", ns, name, proto, port);
    return arena_printf(a, "affinity-%s", nftables_base(a, endpoint_text(a, base, endpoint)));
}

/* ---- probabilities --------------------------------------------------------------------------- */

const char *ks_probability(struct arena *a, size_t n)
{
    return arena_printf(a, "%.10f", 1.0 / (double)(n == 0 ? 1 : n));
}

/* "0.25" and the like: digits, and at most one dot. */
static bool read_fraction(const char *text, double *ret)
{
    size_t digits = strspn(text, "0123456789");
    size_t n = digits;
    if (text[n] == '.') {
        size_t more = strspn(text + n + 1, "0123456789");
        digits += more;
        n += more + 1;
    }
    *ret = strtod(text, NULL);
    return digits > 0 && text[n] == '\0';
}

const char *ks_probability_saved(struct arena *a, const char *written)
{
    const double kernel_one = 2147483648.0; /* the kernel keeps 31 bits */
    double q;
    if (!read_fraction(written, &q) || q > 1) {
        return NULL;
    }
    uint64_t kept = (uint64_t)(q * kernel_one + 0.5);
    return arena_printf(a, "%.11f", (double)kept / kernel_one);
}
