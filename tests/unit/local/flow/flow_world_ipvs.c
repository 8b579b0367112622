/* SPDX-License-Identifier: Apache-2.0 */
/* flow_world_ipvs.c: virtual services of the kernel in the tests of the flow: as text, and what must hold of them (flow_kit.h). */
#include "tests/unit/local/flow/flow_kit.h"

#include <stdlib.h>
#include <string.h>

/* ---- read and shown ------------------------------------------------------------------------------ */

static void note_virtual(void *arg, const struct local_ipvs_list *l)
{
    local_mirror_ipvs(arg, l, 1);
}

void flow_world_read_ipvs(struct flow_kit *k, struct local_mirror *m)
{
    fake_kernel_virtual(k->kernel, note_virtual, m);
}

static void show_way(struct str_buf *b, const struct local_ipvs_dest *d)
{
    static const char *const tunnels[] = {
        [LOCAL_TUNNEL_IPIP] = "ipip", [LOCAL_TUNNEL_GUE] = "gue", [LOCAL_TUNNEL_GRE] = "gre"};

    str_append(b, d->method == LOCAL_IPVS_NAT  ? "m"
                  : d->method == LOCAL_IPVS_DR ? "g"
                                               : tunnels[d->tunnel]);
    if (d->tunnel_port != 0) {
        str_appendf(b, "%u:", (unsigned)d->tunnel_port);
    }
    str_appendf(b, "%u", (unsigned)d->weight);
}

static bool in_scope(const struct local_mirror *m, const struct ip_addr *vip)
{
    size_t n = 0;
    const struct ip_net *scope = local_mirror_scope(m, &n);

    for (size_t i = 0; i < n; i++) {
        if (scope[i].addr.len == vip->len && ip_net_contains(&scope[i], vip)) {
            return true;
        }
    }
    return false;
}

void flow_world_show_ipvs(struct str_buf *b, const struct local_mirror *m,
                          const struct local_ipvs_front *f)
{
    if (!f->served) {
        return;
    }
    str_appendf(b, " ipvs-%s", f->service.scheduler);
    if (f->service.flags != 0) {
        str_appendf(b, "/%x", (unsigned)f->service.flags);
    }
    if (f->service.timeout_s != 0) {
        str_appendf(b, "/%us", (unsigned)f->service.timeout_s);
    }
    for (size_t i = 0; i < f->n_reals; i++) {
        str_append(b, " ");
        flow_world_show_dest(b, &f->reals[i].dest.addr, f->reals[i].dest.port);
        show_way(b, &f->reals[i].dest);
    }
    str_append(b, in_scope(m, &f->service.id.vip) ? "" : " OUT OF SCOPE");
}

/* ---- invariants ---------------------------------------------------------------------------------- */

static const struct local_front *front_in(const struct local_mirror *m, struct arena *a,
                                          const struct local_frontend_id *id)
{
    const struct local_mirror_vip *v = local_mirror_vip(m, a, &id->vip);

    for (size_t i = 0; v != NULL && i < v->n_fronts; i++) {
        if (local_frontend_cmp(&v->fronts[i].id, id) == 0) {
            return &v->fronts[i];
        }
    }
    return NULL;
}

static const struct kit_real *real_of(const struct kit_reals *all,
                                      const struct local_frontend_id *id,
                                      const struct local_ipvs_dest *d)
{
    for (size_t i = 0; i < all->n; i++) {
        if (local_frontend_cmp(&all->items[i].id, id) == 0 &&
            local_ipvs_dest_cmp(&all->items[i].dest, d) == 0) {
            return &all->items[i];
        }
    }
    return NULL;
}

/* One that goes with a port which is closed for all, and what carries datagrams, need not drain. */
static bool may_go(const struct flow_kit *k, const struct kit_real *was,
                   const struct local_front *front)
{
    int64_t age = clock_now_ms(k->clock) - was->quiet_ms;

    return front == NULL || !local_front_is_open(front) || was->id.protocol == LOCAL_UDP ||
           k->drain_ms == 0 ||
           (was->quiet_ms != 0 &&
            (age >= k->drain_ms || (age >= LOCAL_IPVS_QUIET_MS && was->dest.active == 0)));
}

struct look {
    struct flow_kit *k;
    const struct local_mirror *m;
    struct kit_reals now;
};

static void note_reals(struct look *l, const struct local_front *f)
{
    for (size_t i = 0; f->ipvs.served && i < f->ipvs.n_reals; i++) {
        const struct local_ipvs_dest *d = &f->ipvs.reals[i].dest;
        const struct kit_real *was = real_of(&l->k->reals, &f->id, d);
        bool was_quiet = was != NULL && was->quiet_ms != 0;
        assert_true(l->now.n < ARRAY_LEN(l->now.items));
        l->now.items[l->now.n++] =
            (struct kit_real){.id = f->id,
                              .dest = *d,
                              .quiet_ms = d->weight > 0 ? 0
                                          : was_quiet   ? was->quiet_ms
                                                        : clock_now_ms(l->k->clock)};
    }
}

static void look_at(void *arg, const struct local_mirror_vip *v)
{
    struct look *l = arg;

    for (size_t i = 0; i < v->n_fronts; i++) {
        if (v->fronts[i].ipvs.served && !l->k->flushed && !in_scope(l->m, &v->vip.addr)) {
            flow_world_broken(l->k, "THE SCOPE", &v->vip.addr);
        }
        note_reals(l, &v->fronts[i]);
    }
}

void flow_world_check_ipvs(struct flow_kit *k, const struct local_mirror *m)
{
    struct look l = {.k = k, .m = m};

    local_mirror_each(m, look_at, &l);
    for (size_t i = 0; i < k->reals.n; i++) {
        const struct kit_real *was = &k->reals.items[i];
        if (real_of(&l.now, &was->id, &was->dest) == NULL &&
            !may_go(k, was, front_in(m, k->a, &was->id))) {
            flow_world_broken(k, "I4", &was->id.vip);
        }
    }
    k->reals = l.now;
}

/* ---- connections --------------------------------------------------------------------------------- */

struct activity {
    struct flow_kit *k;
    struct ip_addr addr;
    uint32_t n;
};

static void set_active(void *arg, const struct local_ipvs_list *l)
{
    const struct activity *x = arg;

    fake_kernel_active(x->k->kernel, &l->service.id, &x->addr, x->n);
}

void flow_world_active(struct flow_kit *k, uint32_t n, char *const *addrs, size_t n_addrs)
{
    for (size_t i = 0; i < n_addrs; i++) {
        struct activity x = {.k = k, .n = n};
        assert_true(ip_parse(addrs[i], &x.addr));
        fake_kernel_virtual(k->kernel, set_active, &x);
    }
    k->unchecked = 1;
    flow_world_check(k, k->kernel);
}

/* ---- others who write ---------------------------------------------------------------------------- */

struct taken {
    struct local_ipvs_change changes[32];
    size_t n;
};

static void take_virtual(void *arg, const struct local_ipvs_list *l)
{
    struct taken *t = arg;

    assert_true(t->n < ARRAY_LEN(t->changes));
    t->changes[t->n++] =
        (struct local_ipvs_change){.what = LOCAL_IPVS_DEL_SERVICE, .service = l->service};
}

void flow_world_clear_ipvs(struct flow_kit *k)
{
    struct taken t = {.n = 0};

    k->watching = false;
    fake_kernel_virtual(k->kernel, take_virtual, &t);
    for (size_t i = 0; i < t.n; i++) {
        fake_kernel_foreign_ipvs(k->kernel, &t.changes[i]);
    }
}
