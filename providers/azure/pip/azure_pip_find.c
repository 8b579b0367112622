/* SPDX-License-Identifier: Apache-2.0 */
/* azure_pip_find.c: public IPs by name, address and ID (azure_pip_find.h).  Pure. */
#include "providers/azure/pip/azure_pip_find.h"
#include "common/base/ip.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_names.h"
#include "providers/azure/pip/azure_pip_index.h"

#include <string.h>

/* An IPv6 address may carry a zone, which says nothing of what kind it is. */
static bool parse(const char *s, struct ip_addr *ret)
{
    char text[IP_TEXT_MAX];
    const char *zone = strchr(s, '%');
    size_t n = zone != NULL ? (size_t)(zone - s) : strlen(s);
    if (n >= sizeof(text) || (zone != NULL && (zone[1] == '\0' || strchr(s, ':') == NULL))) {
        return false;
    }
    memcpy(text, s, n);
    text[n] = '\0';
    return ip_parse(text, ret);
}

static bool is_within(const struct ip_addr *ip, const char *const *nets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct ip_net net;
        if (ip_net_parse(nets[i], &net) && net.addr.len == ip->len && ip_net_contains(&net, ip)) {
            return true;
        }
    }
    return false;
}

enum azure_candidate azure_public_ip_candidate(const char *ip)
{
    /* Not global unicast, private, shared address space, and the address of
     * Azure's own services. */
    static const char *const non_public[] = {
        "0.0.0.0/32",    "127.0.0.0/8",   "169.254.0.0/16",     "224.0.0.0/4",
        "10.0.0.0/8",    "172.16.0.0/12", "255.255.255.255/32", "192.168.0.0/16",
        "100.64.0.0/10", "::/128",        "168.63.129.16/32",   "::1/128",
        "fe80::/10",     "ff00::/8",      "fc00::/7",
    };
    struct ip_addr addr;
    if (!parse(ip, &addr)) {
        return AZURE_IP_INVALID;
    }
    return is_within(&addr, non_public, ARRAY_LEN(non_public)) ? AZURE_IP_NON_PUBLIC : AZURE_IP_OK;
}

static bool in_group(struct arena *a, struct json_object *pip, const char *group)
{
    return azure_eq(str_nonnull(azure_id_group(a, azure_doc_id(pip))), group);
}

static struct json_object *first_in_group(struct arena *a, struct azure_pip_slots slots,
                                          const char *group)
{
    for (size_t i = 0; i < slots.n; i++) {
        if (slots.items[i]->doc != NULL && in_group(a, slots.items[i]->doc, group)) {
            return slots.items[i]->doc;
        }
    }
    return NULL;
}

struct json_object *azure_pip_by_name(struct arena *a, const struct azure_pips *pips,
                                      const char *group, const char *name)
{
    if (pips->index != NULL) {
        return first_in_group(a, azure_pip_index_by_name(pips->index, name), group);
    }
    for (size_t i = 0; i < pips->n; i++) {
        if (azure_eq(azure_doc_name(pips->items[i]), name) && in_group(a, pips->items[i], group)) {
            return pips->items[i];
        }
    }
    return NULL;
}

const char *azure_pip_address(struct json_object *pip)
{
    return str_nonnull(azure_prop_str(pip, "ipAddress"));
}

bool azure_address_eq(const char *x, const char *y)
{
    struct ip_addr p, q;
    return x[0] != '\0' &&
           (strcmp(x, y) == 0 || (ip_parse(x, &p) && ip_parse(y, &q) && ip_eq(&p, &q)));
}

/* One that was edited may have another address now. */
static struct json_object *first_with(struct arena *a, struct azure_pip_slots slots,
                                      const char *group, const char *ip)
{
    for (size_t i = 0; i < slots.n; i++) {
        struct json_object *doc = slots.items[i]->doc;
        if (doc != NULL && azure_address_eq(azure_pip_address(doc), ip) &&
            in_group(a, doc, group)) {
            return doc;
        }
    }
    return NULL;
}

struct json_object *azure_pip_by_ip(struct arena *a, const struct azure_pips *pips,
                                    const char *group, const char *ip)
{
    if (pips->index != NULL) {
        return first_with(a, azure_pip_index_by_ip(pips->index, ip), group, ip);
    }
    for (size_t i = 0; i < pips->n; i++) {
        if (azure_address_eq(azure_pip_address(pips->items[i]), ip) &&
            in_group(a, pips->items[i], group)) {
            return pips->items[i];
        }
    }
    return NULL;
}

struct json_object *azure_pip_by_id(const struct azure_pips *pips, const char *id)
{
    if (pips->index != NULL) {
        return azure_pip_index_by_id(pips->index, id);
    }
    for (size_t i = 0; i < pips->n; i++) {
        if (azure_id_eq(azure_doc_id(pips->items[i]), id)) {
            return pips->items[i];
        }
    }
    return NULL;
}

/* ---- those of one Service -------------------------------------------------------------------- */

struct found {
    struct arena *a;
    struct azure_pip_slot **items;
    size_t n;
    size_t cap;
};

static void take(struct found *f, struct azure_pip_slots slots)
{
    for (size_t i = 0; i < slots.n; i++) {
        size_t at = f->n;
        while (at > 0 && f->items[at - 1]->order > slots.items[i]->order) {
            at--;
        }
        bool there = at > 0 && f->items[at - 1] == slots.items[i];
        if (there || slots.items[i]->doc == NULL) {
            continue;
        }
        if (f->n == f->cap) {
            f->cap = f->cap * 2 + 8;
            struct azure_pip_slot **more = ARENA_ARRAY(f->a, struct azure_pip_slot *, f->cap);
            if (f->n > 0) {
                memcpy(more, f->items, f->n * sizeof(*more));
            }
            f->items = more;
        }
        memmove(&f->items[at + 1], &f->items[at], (f->n - at) * sizeof(*f->items));
        f->items[at] = slots.items[i];
        f->n++;
    }
}

struct azure_pips azure_pips_about(struct arena *a, const struct azure_pips *pips, const char *key,
                                   const char *const *ips, const char *const *names, size_t n)
{
    if (pips->index == NULL) {
        return *pips;
    }
    struct found f = {.a = a};
    take(&f, azure_pip_index_by_service(pips->index, key));
    for (size_t i = 0; i < n; i++) {
        if (ips[i] != NULL) {
            take(&f, azure_pip_index_by_ip(pips->index, ips[i]));
        }
        if (names[i] != NULL) {
            take(&f, azure_pip_index_by_name(pips->index, names[i]));
        }
    }
    struct json_object **items = ARENA_ARRAY(a, struct json_object *, f.n + 1);
    for (size_t i = 0; i < f.n; i++) {
        items[i] = f.items[i]->doc;
    }
    return (struct azure_pips){.items = items, .n = f.n};
}
