/* SPDX-License-Identifier: Apache-2.0 */
/* mirror_fronts.c: frontends of one address in one block (mirror_fronts.h).
 *
 * Behind the head of a frontend come its m slots (length of the address, or 0: none; address;
 * port), while it moves to another map a byte that says which (size, OTHER_HASH) and the slots of
 * that, then its source ranges, sorted (address, prefix), and those that stand in for others
 * while they change.  Slots change in their places; everything else moves what is behind it. */
#include "providers/local/plan/mirror_fronts.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/keep.h"

struct head {
    struct local_ipvs_front *ipvs; /* heap; NULL: IPVS has nothing */
    uint16_t port;
    uint16_t n_open;
    uint16_t n_also;
    uint8_t protocol;
    uint8_t size : 4; /* 0: it has no slots; else they are 2 to the power of size - 1 */
    bool hash : 1;
    bool snat : 1;
    bool all : 1;
    bool two : 1; /* it has slots in another map, too */
};
#define OTHER_SIZE 0x0fu /* as `size` */
#define OTHER_HASH 0x80u

static size_t slot_size(const struct mirror_fronts *x)
{
    return 1u + x->len + sizeof(uint16_t);
}

static size_t range_size(const struct mirror_fronts *x)
{
    return x->len + 1u;
}

/* head.size as a number of slots. */
static uint16_t m_of(unsigned size)
{
    return size == 0 ? 0 : (uint16_t)(1u << (size - 1));
}

static uint16_t slots_of(const struct head *h)
{
    return m_of(h->size);
}

static unsigned size_of(uint16_t m)
{
    unsigned size = 0;

    while (m != 0) {
        m /= 2;
        size++;
    }
    return size;
}

static size_t other_bytes(const struct mirror_fronts *x, size_t at, const struct head *h)
{
    if (!h->two) {
        return 0;
    }
    return 1 +
           m_of(x->bytes[at + sizeof *h + slots_of(h) * slot_size(x)] & OTHER_SIZE) * slot_size(x);
}

static size_t ranges_at(const struct mirror_fronts *x, size_t at, const struct head *h)
{
    return at + sizeof *h + slots_of(h) * slot_size(x) + other_bytes(x, at, h);
}

static size_t end_of(const struct mirror_fronts *x, size_t at, const struct head *h)
{
    return ranges_at(x, at, h) + ((size_t)h->n_open + h->n_also) * range_size(x);
}

static struct head head_at(const struct mirror_fronts *x, size_t at)
{
    struct head h;

    memcpy(&h, x->bytes + at, sizeof h);
    return h;
}

static void put_head(struct mirror_fronts *x, size_t at, const struct head *h)
{
    memcpy(x->bytes + at, h, sizeof *h);
}

/* The block has `more` zero bytes at `at` then, or lacks those that are there. */
static void open_gap(struct mirror_fronts *x, size_t at, size_t more)
{
    x->bytes = keep_resize(x->bytes, x->size, x->size + more);
    memmove(x->bytes + at + more, x->bytes + at, x->size - at);
    memset(x->bytes + at, 0, more);
    x->size += (uint32_t)more;
}

static void close_gap(struct mirror_fronts *x, size_t at, size_t less)
{
    size_t size = x->size - less;

    memmove(x->bytes + at, x->bytes + at + less, size - at);
    x->bytes = keep_resize(x->bytes, x->size, size);
    x->size = (uint32_t)size;
}

static bool find(const struct mirror_fronts *x, const struct local_frontend_id *id, size_t *ret_at,
                 struct head *ret)
{
    for (size_t at = 0; at < x->size; at = end_of(x, at, ret)) {
        *ret = head_at(x, at);
        if (ret->port == id->port && ret->protocol == id->protocol) {
            *ret_at = at;
            return true;
        }
    }
    return false;
}

static size_t find_or_make(struct mirror_fronts *x, const struct local_frontend_id *id,
                           struct head *ret)
{
    size_t at = x->size;

    if (!find(x, id, &at, ret)) {
        at = x->size;
        *ret = (struct head){.port = id->port, .protocol = id->protocol};
        open_gap(x, at, sizeof *ret);
        put_head(x, at, ret);
        x->n++;
    }
    return at;
}

static void ipvs_free(struct local_ipvs_front *f)
{
    if (f != NULL) {
        free(f->reals);
        free(f);
    }
}

static bool drop_if_empty(struct mirror_fronts *x, size_t at)
{
    struct head h = head_at(x, at);

    if (h.size != 0 || h.n_open != 0 || h.n_also != 0 || h.all || h.snat ||
        (h.ipvs != NULL && h.ipvs->served)) {
        return false;
    }
    ipvs_free(h.ipvs);
    close_gap(x, at, sizeof h);
    x->n--;
    return true;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static size_t first_slot(const struct mirror_fronts *x, size_t at, const struct head *h, bool other)
{
    return at + sizeof *h + (other ? slots_of(h) * slot_size(x) + 1 : 0);
}

static void set_slots(struct mirror_fronts *x, size_t at, struct head *h, uint16_t m, bool hash)
{
    size_t first = first_slot(x, at, h, false);

    /* the head stays, so that the block is not empty */
    close_gap(x, first, slots_of(h) * slot_size(x));
    h->size = size_of(m) & OTHER_SIZE;
    open_gap(x, first, slots_of(h) * slot_size(x));
    h->hash = hash;
}

/* The slots of the other map; m 0: it has none. */
static void set_other(struct mirror_fronts *x, size_t at, struct head *h, uint16_t m, bool hash)
{
    size_t first = first_slot(x, at, h, true) - 1;

    close_gap(x, first, other_bytes(x, at, h));
    h->two = m != 0;
    if (h->two) {
        open_gap(x, first, 1 + m * slot_size(x));
        x->bytes[first] = (unsigned char)(size_of(m) | (hash ? OTHER_HASH : 0));
    }
}

/* It has left its map for the other one. */
static void set_moved(struct mirror_fronts *x, size_t at, struct head *h)
{
    unsigned char other = x->bytes[first_slot(x, at, h, true) - 1];

    close_gap(x, first_slot(x, at, h, false), slots_of(h) * slot_size(x) + 1);
    h->size = other & OTHER_SIZE;
    h->hash = (other & OTHER_HASH) != 0;
    h->two = false;
}

static bool has_slots(const struct mirror_fronts *x, size_t first, uint16_t m)
{
    for (unsigned i = 0; i < m; i++) {
        if (x->bytes[first + i * slot_size(x)] != 0) {
            return true;
        }
    }
    return false;
}

static void put_slot(const struct mirror_fronts *x, size_t at, const struct local_nft_element *e)
{
    unsigned char *to = x->bytes + at;

    memset(to, 0, slot_size(x));
    if (e->target.len <= x->len) {
        to[0] = e->target.len;
        memcpy(to + 1, e->target.bytes, e->target.len);
        memcpy(to + 1 + x->len, &e->target_port, sizeof e->target_port);
    }
}

static void note_slot(struct mirror_fronts *x, size_t at, struct head *h,
                      const struct local_nft_element *e, bool gone)
{
    static const struct local_nft_element none = {.slot = 0};
    unsigned char map = (unsigned char)(size_of(e->m) | (e->hash ? OTHER_HASH : 0));
    bool first = slots_of(h) == e->m && h->hash == e->hash;
    bool other = !first && h->two && x->bytes[first_slot(x, at, h, true) - 1] == map;

    if (!first && !other && gone) {
        return;
    }
    if (!first && !other && h->size == 0) {
        set_slots(x, at, h, e->m, e->hash);
    } else if (!first && !other) {
        set_other(x, at, h, e->m, e->hash); /* never in three: the one before went first */
        other = true;
    }
    size_t slots = first_slot(x, at, h, other);
    if (e->slot < e->m) {
        put_slot(x, slots + e->slot * slot_size(x), gone ? &none : e);
    }
    if (!gone || has_slots(x, slots, e->m)) {
        return;
    }
    if (other) {
        set_other(x, at, h, 0, false);
    } else if (h->two) {
        set_moved(x, at, h);
    } else {
        set_slots(x, at, h, 0, false);
    }
}

/* ---- source ranges --------------------------------------------------------------------------- */

static struct ip_net range_at(const struct mirror_fronts *x, size_t at)
{
    struct ip_net net = {.addr.len = x->len, .prefix = x->bytes[at + x->len]};

    memcpy(net.addr.bytes, x->bytes + at, x->len);
    return net;
}

static void note_range(struct mirror_fronts *x, size_t front, struct head *h,
                       const struct local_nft_element *e, bool gone)
{
    bool also = e->set == LOCAL_NFT_ALSO;
    uint16_t *n = also ? &h->n_also : &h->n_open;
    const struct ip_net *net = &e->net;
    size_t first = ranges_at(x, front, h) + (also ? h->n_open * range_size(x) : 0);
    size_t low = 0;
    size_t high = *n;
    bool there = false;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct ip_net have = range_at(x, first + mid * range_size(x));
        int order = local_net_cmp(&have, net);
        there = there || order == 0;
        if (order < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    size_t at = first + low * range_size(x);
    if (gone && there) {
        close_gap(x, at, range_size(x));
        (*n)--;
    } else if (!gone && !there && net->addr.len == x->len) {
        open_gap(x, at, range_size(x));
        memcpy(x->bytes + at, net->addr.bytes, x->len);
        x->bytes[at + x->len] = net->prefix;
        (*n)++;
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

void mirror_fronts_done(struct mirror_fronts *x)
{
    struct head h;

    for (size_t at = 0; at < x->size; at = end_of(x, at, &h)) {
        h = head_at(x, at);
        ipvs_free(h.ipvs);
    }
    keep_free(x->bytes, x->size);
    x->bytes = NULL;
    x->size = 0;
    x->n = 0;
}

void mirror_fronts_element(struct mirror_fronts *x, const struct local_nft_element *e, bool gone)
{
    struct head h;
    size_t at = find_or_make(x, &e->id, &h);

    if (e->set == LOCAL_NFT_SLOT) {
        note_slot(x, at, &h, e, gone);
    } else if (e->set == LOCAL_NFT_FROM || e->set == LOCAL_NFT_ALSO) {
        note_range(x, at, &h, e, gone);
    } else if (e->set == LOCAL_NFT_ALL) {
        h.all = !gone;
    } else {
        h.snat = !gone;
    }
    put_head(x, at, &h);
    (void)drop_if_empty(x, at);
}

struct local_ipvs_front *mirror_fronts_ipvs(struct mirror_fronts *x,
                                            const struct local_frontend_id *id)
{
    struct head h;
    size_t at = find_or_make(x, id, &h);

    if (h.ipvs == NULL) {
        h.ipvs = xcalloc(1, sizeof *h.ipvs);
        put_head(x, at, &h);
    }
    return h.ipvs;
}

void mirror_fronts_ipvs_end(struct mirror_fronts *x, const struct local_frontend_id *id)
{
    struct head h;
    size_t at;

    if (!find(x, id, &at, &h)) {
        return;
    }
    if (h.ipvs != NULL && !h.ipvs->served) {
        ipvs_free(h.ipvs);
        h.ipvs = NULL;
        put_head(x, at, &h);
    }
    (void)drop_if_empty(x, at);
}

void mirror_fronts_forget(struct mirror_fronts *x)
{
    for (size_t at = 0; at < x->size;) {
        struct head h = head_at(x, at);
        close_gap(x, at + sizeof h, end_of(x, at, &h) - at - sizeof h);
        h.size = 0;
        h.n_open = h.n_also = 0;
        h.hash = h.snat = h.all = h.two = false;
        put_head(x, at, &h);
        if (!drop_if_empty(x, at)) {
            at += sizeof h;
        }
    }
}

static struct local_dest *open_slots(const struct mirror_fronts *x, struct arena *a, size_t first,
                                     uint16_t m)
{
    struct local_dest *slots = m == 0 ? NULL : ARENA_ARRAY(a, struct local_dest, m);

    for (unsigned i = 0; i < m; i++) {
        const unsigned char *from = x->bytes + first + i * slot_size(x);
        if (from[0] != 0) {
            slots[i].addr.len = from[0];
            memcpy(slots[i].addr.bytes, from + 1, from[0]);
            memcpy(&slots[i].port, from + 1 + x->len, sizeof slots[i].port);
        }
    }
    return slots;
}

static void open_maps(const struct mirror_fronts *x, struct arena *a, size_t at,
                      const struct head *h, struct local_front *f)
{
    f->hash = h->hash;
    f->m = slots_of(h);
    f->slots = open_slots(x, a, first_slot(x, at, h, false), f->m);
    if (h->two) {
        size_t first = first_slot(x, at, h, true);
        f->other_hash = (x->bytes[first - 1] & OTHER_HASH) != 0;
        f->other_m = m_of(x->bytes[first - 1] & OTHER_SIZE);
        f->other_slots = open_slots(x, a, first, f->other_m);
    }
}

static void open_ipvs(struct arena *a, const struct head *h, struct local_front *f)
{
    if (h->ipvs != NULL) {
        const struct local_ipvs_front *ipvs = h->ipvs;
        f->ipvs = *ipvs;
        f->ipvs.reals = ipvs->n_reals == 0
                            ? NULL
                            : arena_memdup(a, ipvs->reals, ipvs->n_reals * sizeof *ipvs->reals);
    }
}

static struct ip_net *open_ranges(const struct mirror_fronts *x, struct arena *a, size_t at,
                                  uint16_t n)
{
    struct ip_net *nets = n == 0 ? NULL : ARENA_ARRAY(a, struct ip_net, n);

    for (size_t i = 0; i < n; i++) {
        nets[i] = range_at(x, at + i * range_size(x));
    }
    return nets;
}

static struct local_front open_at(const struct mirror_fronts *x, struct arena *a, size_t at,
                                  const struct head *h, const struct ip_addr *vip)
{
    struct local_front f = {.id = {.vip = *vip, .protocol = h->protocol, .port = h->port},
                            .snat = h->snat,
                            .all = h->all,
                            .n_open = h->n_open,
                            .n_also = h->n_also};

    open_maps(x, a, at, h, &f);
    open_ipvs(a, h, &f);
    f.open = open_ranges(x, a, ranges_at(x, at, h), h->n_open);
    f.also = open_ranges(x, a, ranges_at(x, at, h) + h->n_open * range_size(x), h->n_also);
    return f;
}

struct local_front *mirror_fronts_open(const struct mirror_fronts *x, struct arena *a,
                                       const struct ip_addr *vip)
{
    struct local_front *fronts = ARENA_ARRAY(a, struct local_front, x->n + 1u);
    struct local_front *f = fronts;
    struct head h;

    for (size_t at = 0; at < x->size; at = end_of(x, at, &h)) {
        h = head_at(x, at);
        *f++ = open_at(x, a, at, &h, vip);
    }
    return fronts;
}

struct local_front mirror_fronts_open_one(const struct mirror_fronts *x, struct arena *a,
                                          const struct local_frontend_id *id)
{
    struct head h;
    size_t at = 0;

    return find(x, id, &at, &h) ? open_at(x, a, at, &h, &id->vip) : (struct local_front){.id = *id};
}
