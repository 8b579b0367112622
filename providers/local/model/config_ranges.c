/* SPDX-License-Identifier: Apache-2.0 */
/* config_ranges.c: addresses of pools: CIDRs, ranges and single ones, in order.  Pure. */
#include "providers/local/model/config_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"

int local_addr_cmp(const struct ip_addr *a, const struct ip_addr *b)
{
    return a->len != b->len ? (a->len < b->len ? -1 : 1) : memcmp(a->bytes, b->bytes, a->len);
}

static const void *first_member(const void *record)
{
    return record;
}

static uint64_t addr_hash(uint64_t seed, const void *key)
{
    const struct ip_addr *addr = key;

    return hash_quick(seed, addr->bytes, addr->len);
}

static int addr_key_cmp(const void *a, const void *b)
{
    return local_addr_cmp(a, b);
}

const struct index_kind local_addr_kind = {first_member, addr_hash, addr_key_cmp};

static bool bit_of(const struct ip_addr *addr, int i)
{
    return ((addr->bytes[i / 8] >> (7 - i % 8)) & 1) != 0;
}

/* Returns the length of the prefix of a range that is a network, else -1. */
static int prefix_of(const struct local_range *r)
{
    int prefix = 0;
    int bits = r->first.len * 8;
    while (prefix < bits && bit_of(&r->first, prefix) == bit_of(&r->last, prefix)) {
        prefix++;
    }
    for (int i = prefix; i < bits; i++) {
        if (bit_of(&r->first, i) || !bit_of(&r->last, i)) {
            return -1;
        }
    }
    return prefix;
}

char *local_range_text(struct arena *a, const struct local_range *r)
{
    char first[IP_TEXT_MAX];
    char last[IP_TEXT_MAX];
    ip_format(&r->first, first);
    ip_format(&r->last, last);
    int prefix = prefix_of(r);
    if (strcmp(first, last) == 0) {
        return arena_strdup(a, first);
    }
    return prefix >= 0 ? arena_printf(a, "%s/%d", first, prefix)
                       : arena_printf(a, "%s-%s", first, last);
}

/* Networks whose addresses no host on a network may have. */
static const char *const never[] = {"127.0.0.0/8", "0.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32",
                                    "::/128",      "::1/128",   "fe80::/10",   "ff00::/8"};

static const char *never_of(const struct local_range *r)
{
    for (size_t i = 0; i < ARRAY_LEN(never); i++) {
        struct ip_net net;
        if (!ip_net_parse(never[i], &net)) {
            continue;
        }
        struct ip_addr last = ip_net_last(&net);
        if (net.addr.len == r->first.len && local_addr_cmp(&r->first, &last) <= 0 &&
            local_addr_cmp(&net.addr, &r->last) <= 0) {
            return never[i];
        }
    }
    return NULL;
}

static bool read_cidr(struct local_cfg *c, const struct local_cfg_at *at, const char *text,
                      struct local_range *ret)
{
    struct ip_net net;
    struct ip_net host;
    char masked[IP_TEXT_MAX];
    if (!ip_net_parse(text, &net) || !ip_net_parse_host(text, &host)) {
        local_cfg_error(c, at, "\"%.100s\": not a CIDR", text);
        return false;
    }
    if (!ip_eq(&net.addr, &host.addr)) {
        ip_net_format(&net, masked);
        local_cfg_warn(c, at, "\"%s\": taken as %s", text, masked);
    }
    *ret = (struct local_range){net.addr, ip_net_last(&net)};
    return true;
}

static bool read_ends(struct local_cfg *c, const struct local_cfg_at *at, const char *text,
                      size_t dash, struct local_range *ret)
{
    const char *first = str_trim(c->a, arena_strndup(c->a, text, dash));
    const char *last = str_trim(c->a, text + dash + 1);
    if (!ip_parse(first, &ret->first) || !ip_parse(last, &ret->last)) {
        local_cfg_error(c, at, "\"%.100s\": \"%.50s\" is not an address", text,
                        ip_parse(first, &ret->first) ? last : first);
        return false;
    }
    if (ret->first.len != ret->last.len) {
        local_cfg_error(c, at, "\"%s\": the ends of a range have different families", text);
        return false;
    }
    if (local_addr_cmp(&ret->first, &ret->last) > 0) {
        local_cfg_error(c, at, "\"%s\": the range ends before it begins", text);
        return false;
    }
    return true;
}

static bool read_range(struct local_cfg *c, const struct local_cfg_at *at, struct json_object *v,
                       struct local_range *ret)
{
    const char *text = v == NULL ? "null" : local_cfg_shown(c, v);
    const char *dash = strchr(text, '-');
    if (strchr(text, '/') != NULL) {
        return read_cidr(c, at, text, ret);
    }
    if (dash != NULL) {
        return read_ends(c, at, text, (size_t)(dash - text), ret);
    }
    if (!ip_parse(text, &ret->first)) {
        local_cfg_error(c, at, "\"%.100s\" is not an address", text);
        return false;
    }
    ret->last = ret->first;
    return true;
}

/* A range with the item of the list that it comes from. */
struct item {
    struct local_range r;
    size_t index;
};

static int by_first(const void *x, const void *y)
{
    const struct item *a = x;
    const struct item *b = y;
    int d = local_addr_cmp(&a->r.first, &b->r.first);
    d = d != 0 ? d : local_addr_cmp(&a->r.last, &b->r.last);
    return d != 0 ? d : a->index < b->index ? -1 : a->index > b->index;
}

struct local_range *local_cfg_ranges(struct local_cfg *c, const struct local_cfg_at *at,
                                     struct json_object *v, size_t *ret_n, size_t **ret_index)
{
    size_t n = json_object_is_type(v, json_type_array) ? json_object_array_length(v) : 0;
    if (!json_object_is_type(v, json_type_array)) {
        local_cfg_error(c, at, "%s: want a list, got \"%.100s\"", local_cfg_name(c, at),
                        local_cfg_shown(c, v));
    } else if (n > LOCAL_ENTRIES_MAX) {
        local_cfg_error(c, at, "%s: %zu entries; at most %d", local_cfg_name(c, at), n,
                        LOCAL_ENTRIES_MAX);
        n = 0;
    }
    struct item *items = ARENA_ARRAY(c->a, struct item, n);
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const struct local_cfg_at here = {at, NULL, i};
        struct json_object *item = json_object_array_get_idx(v, i);
        if (!read_range(c, &here, item, &items[used].r)) {
            continue;
        }
        const char *refused = never_of(&items[used].r);
        if (refused != NULL) {
            local_cfg_error(c, &here, "\"%s\": %s cannot be handed out", local_cfg_shown(c, item),
                            refused);
            continue;
        }
        items[used++].index = i;
    }
    qsort(items, used, sizeof(*items), by_first);
    struct local_range *ranges = ARENA_ARRAY(c->a, struct local_range, used);
    size_t *index = ARENA_ARRAY(c->a, size_t, used);
    for (size_t i = 0; i < used; i++) {
        ranges[i] = items[i].r;
        index[i] = items[i].index;
    }
    *ret_n = used;
    if (ret_index != NULL) {
        *ret_index = index;
    }
    return ranges;
}

/* Returns false when the address was the last one of its family. */
static bool next_address(struct ip_addr *addr)
{
    for (size_t i = addr->len; i-- > 0;) {
        if (++addr->bytes[i] != 0) {
            return true;
        }
    }
    return false;
}

bool local_ranges_cover(const struct local_range *ranges, size_t n, const struct local_range *r)
{
    struct ip_addr from = r->first;
    size_t low = 0;
    size_t high = n;
    while (low < high) { /* the first range that begins behind `from` */
        size_t middle = low + (high - low) / 2;
        if (local_addr_cmp(&ranges[middle].first, &from) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (size_t i = low == 0 ? 0 : low - 1; i < n; i++) {
        if (ranges[i].first.len != from.len || local_addr_cmp(&ranges[i].first, &from) > 0) {
            return false;
        }
        if (local_addr_cmp(&ranges[i].last, &r->last) >= 0) {
            return true;
        }
        if (local_addr_cmp(&ranges[i].last, &from) >= 0) {
            from = ranges[i].last;
            if (!next_address(&from)) {
                return false;
            }
        }
    }
    return false;
}
