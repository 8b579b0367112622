/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nsg_desired.c: the security rules that a Service wants (azure_nsg_desired.h).
 *
 * MD5 is not there to protect anything: names are compared with those that the Go controller made.
 * It is asked for outside of a FIPS policy for that reason.  Pure. */
#include "providers/azure/nsg/azure_nsg_desired.h"

#include <openssl/evp.h>
#include <string.h>

#include "common/base/str.h"

#define MD5_BYTES 16
#define INTERNET  "Internet"

/* ---- names ----------------------------------------------------------------------------------- */

static const char *family_text(enum azure_family f)
{
    return f == AZURE_IPV4 ? "IPv4" : "IPv6";
}

const char *azure_nsg_deny_name(enum azure_family f)
{
    return f == AZURE_IPV4 ? "k8s-azure-lb_deny-all_IPv4" : "k8s-azure-lb_deny-all_IPv6";
}

int azure_nsg_allow_name(struct arena *a, const struct azure_nsg_want *w, enum azure_family f,
                         const char **ret, struct err *err)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    size_t n = 0;
    const char *text =
        arena_printf(a, "%s_%s_%s", azure_protocol_text(w->protocol),
                     str_set_text(a, &w->sources, ","), str_set_text(a, &w->ports, ","));
    if (EVP_Q_digest(NULL, "MD5", "-fips", text, strlen(text), digest, &n) != 1 || n != MD5_BYTES) {
        return err_set(err, ERR_BUG, "this OpenSSL has no MD5, by which security rules are named");
    }
    char hex[2 * MD5_BYTES + 1] = "";
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < MD5_BYTES; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    *ret = arena_printf(a, "k8s-azure-lb_allow_%s_%s", family_text(f), hex);
    return ERR_OK;
}

/* ---- rules ----------------------------------------------------------------------------------- */

struct sources {
    struct azure_texts tags;
    struct str_set ranges[AZURE_FAMILIES];
};
struct wants {
    struct arena *a;
    struct azure_nsg_want *items;
    size_t n;
};

static struct str_set ranges_of(struct arena *a, const struct azure_prefixes *p,
                                enum azure_family f)
{
    const char **texts = ARENA_ARRAY(a, const char *, p->n);
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (azure_addr_family(&p->items[i].addr) == f) {
            texts[n++] = azure_prefix_text(a, &p->items[i]);
        }
    }
    return str_set_make(a, texts, n);
}

static bool any_allows_all(const struct azure_access *x)
{
    return azure_prefixes_allow_all(&x->source_ranges) ||
           azure_prefixes_allow_all(&x->allowed_ranges);
}

static struct sources sources_of(struct arena *a, const struct azure_access *x)
{
    struct azure_prefixes ranges = azure_access_prefixes(a, x);
    const char **tags = ARENA_ARRAY(a, const char *, x->tags.n + 1);
    struct sources s = {.tags = {.items = tags, .n = x->tags.n}};
    for (size_t i = 0; i < x->tags.n; i++) {
        tags[i] = x->tags.items[i];
    }
    if (x->allow_internet && !any_allows_all(x)) {
        tags[s.tags.n++] = INTERNET;
    }
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        s.ranges[f] = ranges_of(a, &ranges, f);
    }
    return s;
}

static int add_allow(struct wants *w, const struct azure_nsg_want *want, enum azure_family f,
                     struct err *err)
{
    struct azure_nsg_want *item = &w->items[w->n];
    *item = *want;
    int rc = azure_nsg_allow_name(w->a, want, f, &item->name, err);
    w->n += rc == ERR_OK;
    return rc;
}

/* One rule for each tag, then one for all ranges of the family. */
static int add_family(struct wants *w, const struct sources *s, struct azure_nsg_want want,
                      enum azure_family f, struct err *err)
{
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < s->tags.n; i++) {
        want.sources = str_set_make(w->a, &s->tags.items[i], 1);
        rc = add_allow(w, &want, f, err);
    }
    if (rc == ERR_OK && s->ranges[f].n > 0) {
        want.sources = s->ranges[f];
        rc = add_allow(w, &want, f, err);
    }
    return rc;
}

static void add_deny(struct wants *w, enum azure_family f, const struct str_set *destinations)
{
    const char *any = "*";
    w->items[w->n++] = (struct azure_nsg_want){
        .name = azure_nsg_deny_name(f),
        .protocol = AZURE_ANY,
        .deny = true,
        .sources = str_set_make(w->a, &any, 1),
        .ports = str_set_make(w->a, &any, 1),
        .destinations = *destinations,
    };
}

int azure_nsg_desired(struct arena *a, const struct azure_access *x,
                      const struct str_set destinations[AZURE_FAMILIES],
                      const struct azure_nsg_want **ret, size_t *ret_n, struct err *err)
{
    struct sources s = sources_of(a, x);
    size_t most = AZURE_FAMILIES * (AZURE_PROTOCOLS * (s.tags.n + 1) + 1);
    struct wants w = {.a = a, .items = ARENA_ARRAY(a, struct azure_nsg_want, most)};
    for (int p = 0; p < AZURE_PROTOCOLS; p++) {
        for (int f = 0; f < AZURE_FAMILIES; f++) {
            if (x->ports[p].n == 0 || destinations[f].n == 0) {
                continue;
            }
            struct azure_nsg_want want = {.protocol = (enum azure_protocol)p,
                                          .ports = azure_access_ports(a, x, p),
                                          .destinations = destinations[f]};
            int rc = add_family(&w, &s, want, f, err);
            if (rc != ERR_OK) {
                return rc;
            }
        }
    }
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        if (x->deny_all && destinations[f].n > 0) {
            add_deny(&w, f, &destinations[f]);
        }
    }
    *ret = w.items;
    *ret_n = w.n;
    return ERR_OK;
}

bool azure_nsg_wants_any(struct arena *a, const struct azure_access *x)
{
    const char *some = "*";
    struct str_set destinations[AZURE_FAMILIES];
    const struct azure_nsg_want *wants;
    size_t n = 0;
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        bool has = x->service->has_family[f];
        destinations[f] = str_set_make(a, &some, has ? 1 : 0);
    }
    return azure_nsg_desired(a, x, destinations, &wants, &n, NULL) != ERR_OK || n > 0;
}
