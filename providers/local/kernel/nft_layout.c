/* SPDX-License-Identifier: Apache-2.0 */
/* nft_layout.c: sets and maps of our table, keys and values (nft_layout.h).  Pure. */
#include "providers/local/kernel/nft_layout.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static const uint16_t sizes[] = {4, 16, 64, 256};

#define FIRST_MAP 6 /* behind scope, vip, all, from, also, snat */

bool local_nft_has_ranges(enum local_nft_set set)
{
    return set == LOCAL_NFT_FROM || set == LOCAL_NFT_ALSO;
}

static uint8_t addr_len(const struct local_nft_set_info *s)
{
    return s->v6 ? 16 : 4;
}

void local_nft_set_info(unsigned i, struct local_nft_set_info *ret)
{
    static const char *const names[] = {"scope", "vip", "all", "from", "also", "snat"};
    unsigned at = i % LOCAL_NFT_SETS_HALF;
    *ret = (struct local_nft_set_info){.v6 = i >= LOCAL_NFT_SETS_HALF};
    unsigned family = ret->v6 ? 6 : 4;
    if (at < FIRST_MAP) {
        ret->set = (enum local_nft_set)at;
        snprintf(ret->name, sizeof(ret->name), "%s%u", names[at], family);
        return;
    }
    ret->set = LOCAL_NFT_SLOT;
    ret->hash = at - FIRST_MAP >= ARRAY_LEN(sizes);
    ret->m = sizes[(at - FIRST_MAP) % ARRAY_LEN(sizes)];
    snprintf(ret->name, sizeof(ret->name), "f%u_%s_%u", family, ret->hash ? "hash" : "rr",
             (unsigned)ret->m);
}

void local_nft_old_set_info(bool v6, struct local_nft_set_info *ret)
{
    *ret = (struct local_nft_set_info){.set = LOCAL_NFT_FROM, .v6 = v6};
    snprintf(ret->name, sizeof(ret->name), "open%u", v6 ? 6u : 4u);
}

static bool families_fit(const struct local_nft_element *e)
{
    uint8_t len = e->set == LOCAL_NFT_SCOPE ? e->net.addr.len : e->id.vip.len;
    if (len != 4 && len != 16) {
        return false;
    }
    if (local_nft_has_ranges(e->set) || e->set == LOCAL_NFT_SCOPE) {
        return e->net.addr.len == len && e->net.prefix <= 8 * len;
    }
    return e->set != LOCAL_NFT_SLOT || e->target.len == len;
}

int local_nft_set_of(const struct local_nft_element *e, unsigned *ret, struct err *err)
{
    if (!families_fit(e)) {
        return err_set(err, ERR_BUG, "element of set %d: addresses of different families",
                       (int)e->set);
    }
    bool v6 = (e->set == LOCAL_NFT_SCOPE ? e->net.addr.len : e->id.vip.len) == 16;
    unsigned at = (unsigned)e->set;
    if (e->set == LOCAL_NFT_SLOT) {
        unsigned i = 0;
        while (i < ARRAY_LEN(sizes) && sizes[i] != e->m) {
            i++;
        }
        if (i == ARRAY_LEN(sizes) || e->slot >= e->m) {
            return err_set(err, ERR_BUG, "slot %u of %u: there is no such map", (unsigned)e->slot,
                           (unsigned)e->m);
        }
        at = FIRST_MAP + i + (e->hash ? (unsigned)ARRAY_LEN(sizes) : 0);
    }
    *ret = at + (v6 ? LOCAL_NFT_SETS_HALF : 0);
    return ERR_OK;
}

/* --- keys and values -------------------------------------------------------------------------- */

static void put_addr(uint8_t **at, const struct ip_addr *a)
{
    memcpy(*at, a->bytes, a->len);
    *at += a->len;
}

static void put_port(uint8_t **at, uint16_t port)
{
    uint16_t wire = htons(port);
    memset(*at, 0, 4);
    memcpy(*at, &wire, sizeof(wire));
    *at += 4;
}

/* The address behind `a`; false when there is none. */
static bool next_addr(struct ip_addr *a)
{
    for (int i = a->len - 1; i >= 0; i--) {
        if (++a->bytes[i] != 0) {
            return true;
        }
    }
    return false;
}

size_t local_nft_key(const struct local_nft_element *e, bool last, uint8_t out[LOCAL_NFT_KEY_MAX])
{
    uint8_t *at = out;
    struct ip_addr end = {0};
    if (e->set == LOCAL_NFT_SCOPE || local_nft_has_ranges(e->set)) {
        end = last ? ip_net_last(&e->net) : e->net.addr;
    }
    if (e->set == LOCAL_NFT_SCOPE) {
        if (last && !next_addr(&end)) {
            return 0;
        }
        put_addr(&at, &end);
        return (size_t)(at - out);
    }
    put_addr(&at, &e->id.vip);
    if (e->set == LOCAL_NFT_VIP) {
        return (size_t)(at - out);
    }
    memset(at, 0, 4);
    *at = e->id.protocol;
    at += 4;
    put_port(&at, e->id.port);
    if (local_nft_has_ranges(e->set)) {
        put_addr(&at, &end);
    } else if (e->set == LOCAL_NFT_SLOT) {
        uint32_t slot = e->slot;
        memcpy(at, &slot, sizeof(slot));
        at += sizeof(slot);
    }
    return (size_t)(at - out);
}

size_t local_nft_key_len(const struct local_nft_set_info *s)
{
    size_t addr = addr_len(s);
    switch (s->set) {
    case LOCAL_NFT_FROM:
    case LOCAL_NFT_ALSO:
        return addr + 8 + addr;
    case LOCAL_NFT_ALL:
    case LOCAL_NFT_SNAT:
        return addr + 8;
    case LOCAL_NFT_SLOT:
        return addr + 12;
    default:
        return addr;
    }
}

size_t local_nft_value(const struct local_nft_element *e, uint8_t out[LOCAL_NFT_KEY_MAX])
{
    uint8_t *at = out;
    put_addr(&at, &e->target);
    put_port(&at, e->target_port);
    return (size_t)(at - out);
}

static void read_addr(const uint8_t **at, uint8_t len, struct ip_addr *ret)
{
    *ret = (struct ip_addr){.len = len};
    memcpy(ret->bytes, *at, len);
    *at += len;
}

static uint16_t read_port(const uint8_t **at)
{
    uint16_t wire;
    memcpy(&wire, *at, sizeof(wire));
    *at += 4;
    return ntohs(wire);
}

bool local_nft_net_of(const uint8_t *first, const uint8_t *last, uint8_t len, struct ip_net *ret)
{
    unsigned prefix = 0;
    while (prefix < 8u * len &&
           ((first[prefix / 8] ^ last[prefix / 8]) & (0x80 >> prefix % 8)) == 0) {
        prefix++;
    }
    for (unsigned i = prefix; i < 8u * len; i++) {
        uint8_t bit = (uint8_t)(0x80 >> i % 8);
        if ((first[i / 8] & bit) != 0 || (last[i / 8] & bit) == 0) {
            return false;
        }
    }
    *ret = (struct ip_net){.addr.len = len, .prefix = (uint8_t)prefix};
    memcpy(ret->addr.bytes, first, len);
    return true;
}

bool local_nft_read_key(const struct local_nft_set_info *s, const uint8_t *key, size_t n,
                        const uint8_t *last, struct local_nft_element *ret)
{
    uint8_t len = addr_len(s);
    const uint8_t *at = key;
    if (n != local_nft_key_len(s)) {
        return false;
    }
    *ret = (struct local_nft_element){.set = s->set, .hash = s->hash, .m = s->m};
    if (s->set == LOCAL_NFT_SCOPE) {
        return local_nft_net_of(key, last, len, &ret->net);
    }
    read_addr(&at, len, &ret->id.vip);
    if (s->set == LOCAL_NFT_VIP) {
        return true;
    }
    ret->id.protocol = *at;
    at += 4;
    ret->id.port = read_port(&at);
    if (local_nft_has_ranges(s->set)) {
        const uint8_t *end = last != NULL ? last + (at - key) : at;
        return local_nft_net_of(at, end, len, &ret->net);
    }
    if (s->set == LOCAL_NFT_SLOT) {
        uint32_t slot;
        memcpy(&slot, at, sizeof(slot));
        ret->slot = (uint16_t)slot;
        return slot < s->m;
    }
    return true;
}

bool local_nft_read_value(const struct local_nft_set_info *s, const uint8_t *value, size_t n,
                          struct local_nft_element *ret)
{
    if (n != (size_t)addr_len(s) + 4) {
        return false;
    }
    const uint8_t *at = value;
    read_addr(&at, addr_len(s), &ret->target);
    ret->target_port = read_port(&at);
    return true;
}

/* --- for nft ---------------------------------------------------------------------------------- */

/* nft numbers its types, expressions and protocol fields; these are what `nft --debug=mnl` shows of
 * a set that it made. */
enum {
    TYPE_INTEGER = 4,
    TYPE_IPV4 = 7,
    TYPE_IPV6 = 8,
    TYPE_PROTOCOL = 12,
    TYPE_PORT = 13,
    TYPE_BITS = 6, /* of one type in the number of a concatenation */
};
enum { EXPR_PAYLOAD = 7, EXPR_META = 9, EXPR_CONCAT = 13, EXPR_NUMGEN = 23 };
enum { PROTO_TH = 11, PROTO_IP = 12, PROTO_IP6 = 13 };
enum { TH_DPORT = 2, IP_SADDR = 11, IP_DADDR = 12, IP6_SADDR = 8, IP6_DADDR = 9 };
enum { META_L4PROTO = 16 };
enum { NOTE_ORDER = 0, NOTE_VALUE_ORDER = 1, NOTE_KEY = 3, NOTE_VALUE = 4, NOTE_VALUE_RANGES = 6 };
enum { ORDER_NONE = 0, ORDER_NETWORK = 2 };

uint32_t local_nft_key_type(const struct local_nft_set_info *s)
{
    uint32_t addr = s->v6 ? TYPE_IPV6 : TYPE_IPV4;
    if (s->set == LOCAL_NFT_SCOPE || s->set == LOCAL_NFT_VIP) {
        return addr;
    }
    uint32_t type = ((addr << TYPE_BITS) | TYPE_PROTOCOL) << TYPE_BITS | TYPE_PORT;
    if (s->set == LOCAL_NFT_ALL || s->set == LOCAL_NFT_SNAT) {
        return type;
    }
    return type << TYPE_BITS | (local_nft_has_ranges(s->set) ? addr : TYPE_INTEGER);
}

uint32_t local_nft_value_type(const struct local_nft_set_info *s)
{
    uint32_t addr = s->v6 ? TYPE_IPV6 : TYPE_IPV4;
    return addr << TYPE_BITS | TYPE_PORT;
}

/* Notes are nested: a number, a length of one byte, the bytes.  Numbers in them are in the
 * machine's order. */
struct notes {
    uint8_t *data;
    size_t len;
};

static void note(struct notes *n, uint8_t type, const void *value, size_t len)
{
    n->data[n->len++] = type;
    n->data[n->len++] = (uint8_t)len;
    memcpy(n->data + n->len, value, len);
    n->len += len;
}

static void note_u32(struct notes *n, uint8_t type, uint32_t value)
{
    note(n, type, &value, sizeof(value));
}

static size_t open_note(struct notes *n, uint8_t type)
{
    n->data[n->len++] = type;
    n->len++;
    return n->len;
}

static void close_note(struct notes *n, size_t from)
{
    n->data[from - 1] = (uint8_t)(n->len - from);
}

/* An expression: its kind, and two or three numbers of its own. */
static void note_expr(struct notes *n, uint8_t type, uint32_t kind, const uint32_t *own,
                      unsigned n_own)
{
    size_t whole = open_note(n, type);
    note_u32(n, 0, kind);
    size_t data = open_note(n, 1);
    for (unsigned i = 0; i < n_own; i++) {
        note_u32(n, (uint8_t)i, own[i]);
    }
    close_note(n, data);
    close_note(n, whole);
}

static void note_field(struct notes *n, uint8_t type, uint32_t proto, uint32_t field)
{
    note_expr(n, type, EXPR_PAYLOAD, (uint32_t[]){proto, field}, 2);
}

static void note_daddr(struct notes *n, uint8_t type, bool v6)
{
    note_field(n, type, v6 ? PROTO_IP6 : PROTO_IP, v6 ? IP6_DADDR : IP_DADDR);
}

static void note_key(struct notes *n, const struct local_nft_set_info *s)
{
    if (s->set == LOCAL_NFT_SCOPE || s->set == LOCAL_NFT_VIP) {
        note_daddr(n, NOTE_KEY, s->v6);
        return;
    }
    size_t whole = open_note(n, NOTE_KEY);
    note_u32(n, 0, EXPR_CONCAT);
    size_t parts = open_note(n, 1);
    note_daddr(n, 0, s->v6);
    note_expr(n, 1, EXPR_META, (uint32_t[]){META_L4PROTO}, 1);
    note_field(n, 2, PROTO_TH, TH_DPORT);
    if (local_nft_has_ranges(s->set)) {
        note_field(n, 3, s->v6 ? PROTO_IP6 : PROTO_IP, s->v6 ? IP6_SADDR : IP_SADDR);
    } else if (s->set == LOCAL_NFT_SLOT) {
        /* Also for slots by hash: nft 1.0.6 crashes when it prints a set of typeof jhash. */
        note_expr(n, 3, EXPR_NUMGEN, (uint32_t[]){0, s->m, 0}, 3);
    }
    close_note(n, parts);
    close_note(n, whole);
}

size_t local_nft_set_notes(const struct local_nft_set_info *s, uint8_t out[LOCAL_NFT_UDATA_MAX])
{
    struct notes n = {.data = out};
    bool plain = s->set == LOCAL_NFT_SCOPE || s->set == LOCAL_NFT_VIP;
    note_u32(&n, NOTE_ORDER, plain ? ORDER_NETWORK : ORDER_NONE);
    if (s->set == LOCAL_NFT_SLOT) {
        note_u32(&n, NOTE_VALUE_ORDER, ORDER_NONE);
    }
    note_key(&n, s);
    if (s->set == LOCAL_NFT_SLOT) {
        size_t whole = open_note(&n, NOTE_VALUE);
        note_u32(&n, 0, EXPR_CONCAT);
        size_t parts = open_note(&n, 1);
        note_daddr(&n, 0, s->v6);
        note_field(&n, 1, PROTO_TH, TH_DPORT);
        close_note(&n, parts);
        close_note(&n, whole);
        note_u32(&n, NOTE_VALUE_RANGES, 0);
    }
    return n.len;
}

size_t local_nft_comment_notes(const char *text, uint8_t out[LOCAL_NFT_UDATA_MAX])
{
    struct notes n = {.data = out};
    note(&n, 0, text, strnlen(text, LOCAL_NFT_COMMENT_MAX) + 1);
    out[n.len - 1] = '\0';
    return n.len;
}

const char *local_nft_read_comment(const uint8_t *notes, size_t n, size_t *ret_len)
{
    for (size_t at = 0; at + 2 <= n && at + 2 + notes[at + 1] <= n;
         at += 2 + (size_t)notes[at + 1]) {
        if (notes[at] == 0) {
            const char *text = (const char *)notes + at + 2;
            *ret_len = strnlen(text, notes[at + 1]);
            return text;
        }
    }
    return NULL;
}

void local_nft_element_text(const struct local_nft_element *e, char out[LOCAL_NFT_TEXT_MAX])
{
    char text[IP_TEXT_MAX];
    if (e->set == LOCAL_NFT_SCOPE) {
        ip_net_format(&e->net, out);
        return;
    }
    ip_format(&e->id.vip, text);
    if (e->set == LOCAL_NFT_VIP) {
        snprintf(out, LOCAL_NFT_TEXT_MAX, "%s", text);
        return;
    }
    bool v6 = e->id.vip.len == 16;
    snprintf(out, LOCAL_NFT_TEXT_MAX, "%s%s%s:%u/%s", v6 ? "[" : "", text, v6 ? "]" : "",
             (unsigned)e->id.port, e->id.protocol == IPPROTO_UDP ? "udp" : "tcp");
}
