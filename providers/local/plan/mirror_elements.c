/* SPDX-License-Identifier: Apache-2.0 */
/* mirror_elements.c: the mirror as elements of nftables, for a table that
 * is recreated (mirror.h). */
#include "providers/local/plan/mirror.h"

struct elements {
    struct local_nft_change *items; /* NULL: they are counted */
    size_t n;
};

static void add(struct elements *x, const struct local_nft_element *e)
{
    if (x->items != NULL) {
        x->items[x->n] = (struct local_nft_change){.e = *e};
    }
    x->n++;
}

static void add_slots(struct elements *x, struct local_nft_element e,
                      const struct local_dest *slots)
{
    for (; e.slot < e.m; e.slot++) {
        e.target = slots[e.slot].addr;
        e.target_port = slots[e.slot].port;
        if (e.target.len != 0) {
            add(x, &e);
        }
    }
}

static void add_front(struct elements *x, const struct local_front *f)
{
    struct local_nft_element e = {.set = LOCAL_NFT_FROM, .id = f->id};

    if (f->all) {
        add(x, &(struct local_nft_element){.set = LOCAL_NFT_ALL, .id = f->id});
    }
    for (size_t i = 0; i < f->n_open; i++) {
        e.net = f->open[i];
        add(x, &e);
    }
    e.set = LOCAL_NFT_ALSO;
    for (size_t i = 0; i < f->n_also; i++) {
        e.net = f->also[i];
        add(x, &e);
    }
    if (f->snat) {
        add(x, &(struct local_nft_element){.set = LOCAL_NFT_SNAT, .id = f->id});
    }
    e = (struct local_nft_element){.set = LOCAL_NFT_SLOT, .id = f->id, .hash = f->hash, .m = f->m};
    add_slots(x, e, f->slots);
    e.hash = f->other_hash;
    e.m = f->other_m;
    add_slots(x, e, f->other_slots);
}

static void add_vip(void *arg, const struct local_mirror_vip *v)
{
    if (v->vip.guarded) {
        add(arg, &(struct local_nft_element){
                     .set = LOCAL_NFT_VIP, .id = {.vip = v->vip.addr}, .comment = v->vip.comment});
    }
    for (size_t i = 0; i < v->n_fronts; i++) {
        add_front(arg, &v->fronts[i]);
    }
}

static void add_all(const struct local_mirror *m, struct elements *x)
{
    size_t n = 0;
    const struct ip_net *scope = local_mirror_scope(m, &n);

    for (size_t i = 0; i < n; i++) {
        add(x, &(struct local_nft_element){.set = LOCAL_NFT_SCOPE, .net = scope[i]});
    }
    local_mirror_each(m, add_vip, x);
}

void local_mirror_elements(const struct local_mirror *m, struct arena *a,
                           struct local_nft_change **ret, size_t *ret_n)
{
    struct elements x = {.items = NULL};

    add_all(m, &x);
    x = (struct elements){.items = ARENA_ARRAY(a, struct local_nft_change, x.n + 1)};
    add_all(m, &x);
    *ret = x.items;
    *ret_n = x.n;
}
