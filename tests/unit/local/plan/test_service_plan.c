/* SPDX-License-Identifier: Apache-2.0 */
/* test_service_plan.c: from what the kernel has to what it is to have, as a table.  Every row's
 * plan is carried out on a mirror, after which it shows what was wanted, and nothing is planned any
 * more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after these four */
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "providers/local/plan/mirror.h"
#include "providers/local/plan/service_plan_internal.h"
#include "tests/support/unit.h"
#include "tests/unit/local/plan/plan_state.h"

/* ---- the plan as text ------------------------------------------------------------------------ */

static void show_change(struct str_buf *b, const struct local_nft_change *c)
{
    char text[IP_TEXT_MAX];
    const char *sign = c->del ? "-" : "+";

    if (c->e.set == LOCAL_NFT_SLOT) {
        str_appendf(b, " %s%u%s%c", sign, c->e.slot, c->e.hash ? "~" : "=",
                    'A' + c->e.target.bytes[3] - 1);
    } else if (c->e.set == LOCAL_NFT_ALL) {
        str_appendf(b, " %s%s", sign, c->e.id.vip.len == 4 ? "0.0.0.0/0" : "::/0");
    } else if (c->e.set == LOCAL_NFT_FROM) {
        ip_net_format(&c->e.net, text);
        str_appendf(b, " %s%s", sign, text);
    } else if (c->e.set == LOCAL_NFT_ALSO) {
        ip_net_format(&c->e.net, text);
        str_appendf(b, " %s<%s", sign, text);
    } else if (c->e.set == LOCAL_NFT_SNAT) {
        str_appendf(b, " %ssnat", sign);
    } else {
        str_appendf(b, " %s%s", sign, str_or(c->e.comment, "guard"));
    }
}

static void show_op(struct str_buf *b, const struct lb_op *op)
{
    static const char *const signs[] = {[LB_CREATE] = "+", [LB_CHANGE] = "~", [LB_DELETE] = "-"};

    str_appendf(b, "%d%s%s %s", op->wave, signs[op->verb], op->kind, op->name);
    if (op->type == &local_nft_type) {
        const struct local_nft_deed *deed = op->arg;
        str_append(b, deed->settles ? " after" : "");
        for (size_t i = 0; i < deed->n; i++) {
            show_change(b, &deed->changes[i]);
        }
    }
    for (size_t i = 0; op->shared && i < op->owners.n && op->owners.n > 1; i++) {
        str_appendf(b, " %s", op->owners.items[i]);
    }
    str_append(b, "; ");
}

/* ---- carrying it out ------------------------------------------------------------------------- */

/* Elements that go, or those that come. */
static void do_half(struct local_mirror *m, const struct lb_op *op, bool del)
{
    const struct local_nft_deed *deed = op->arg;

    for (size_t i = 0; op->type == &local_nft_type && i < deed->n; i++) {
        if (deed->changes[i].del == del) {
            local_mirror_element(m, &deed->changes[i].e, del);
        }
    }
}

static void do_op(struct local_mirror *m, const struct lb_op *op)
{
    if (op->type == &local_nft_type) {
        do_half(m, op, true);
        do_half(m, op, false);
    } else if (op->type == &local_hold_type) {
        const struct local_hold_deed *d = op->arg;
        local_mirror_hold(m, &d->addr, d->kind, d->link, d->del);
    } else if (op->type == &local_announce_type) {
        local_mirror_announced(m, &((const struct local_announce_deed *)op->arg)->addr, true);
    }
}

/* The mirror's elements of the Service, at the addresses of both states. */
static void take_state(struct arena *a, const struct local_mirror *m, const struct state *like,
                       struct state *ret)
{
    *ret = *like;
    for (size_t i = 0; i < ret->n; i++) {
        struct one *x = &ret->items[i];
        x->n_fronts = 0;
        for (size_t k = 0; k < x->n_vips; k++) {
            const struct local_mirror_vip *v = local_mirror_vip(m, a, &x->vips[k].addr);
            x->vips[k] = v != NULL ? v->vip : (struct local_vip){.addr = x->vips[k].addr};
            for (size_t f = 0; v != NULL && f < v->n_fronts && x->other[k] == NULL; f++) {
                x->fronts[x->n_fronts++] = local_front_copy(a, &v->fronts[f]);
            }
        }
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static struct local_vip vip_at(const struct one *x, const struct ip_addr *addr)
{
    for (size_t i = 0; i < x->n_vips; i++) {
        if (ip_eq(&x->vips[i].addr, addr)) {
            return x->vips[i];
        }
    }
    return (struct local_vip){.addr = *addr};
}

static void pairs_of(struct arena *a, const struct one *have, const struct one *want,
                     struct local_service_state *ret)
{
    static const struct local_link eth0 = {.index = 2, .name = "eth0"};
    const struct local_link **links = ARENA_ARRAY(a, const struct local_link *, 1);
    struct local_vip_pair *pairs = ARENA_ARRAY(a, struct local_vip_pair, 2 * MOST);

    links[0] = &eth0;
    ret->vips = pairs;
    for (size_t i = 0; i < want->n_vips + have->n_vips; i++) {
        bool is_want = i < want->n_vips;
        const struct local_vip *v = is_want ? &want->vips[i] : &have->vips[i - want->n_vips];
        bool twice = false;
        for (size_t k = 0; k < ret->n_vips; k++) {
            twice = twice || ip_eq(&pairs[k].have.addr, &v->addr);
        }
        if (!twice) {
            pairs[ret->n_vips++] = (struct local_vip_pair){.have = vip_at(have, &v->addr),
                                                           .want = vip_at(want, &v->addr),
                                                           .other = is_want ? want->other[i] : NULL,
                                                           .why = "a test says so",
                                                           .links = links,
                                                           .n_links = 1};
        }
    }
}

static void plan_of(struct arena *a, const struct state *have, const struct state *want, bool table,
                    struct lb_plan *plan)
{
    struct local_service_state states[MOST];
    static const struct one nothing;
    struct err err = ERR_INIT;
    const struct local_target_set *none = ARENA_ARRAY(a, struct local_target_set, MOST);

    lb_plan_init(plan, a);
    for (size_t i = 0; i < want->n; i++) {
        const struct one *h = i < have->n ? &have->items[i] : &nothing;
        const struct one *w = &want->items[i];
        states[i] = (struct local_service_state){.key = w->key,
                                                 .have = h->fronts,
                                                 .n_have = h->n_fronts,
                                                 .want = w->fronts,
                                                 .targets = none,
                                                 .n_want = w->n_fronts};
        pairs_of(a, h, w, &states[i]);
        (void)lb_plan_service(plan, w->key);
    }
    local_services_plan(plan, "trimtab", table, states, want->n);
    assert_int_equal(lb_plan_seal(plan, &err), ERR_OK);
}

#define GUARDED "10.0.0.0 guard held ann "
static const struct row {
    const char *name, *have, *want, *plan;
    bool no_table;
} rows[] = {
    {"K08, the first one", "d/a", "d/a " GUARDED "80/tcp=ABAB<0.0.0.0/0",
     "1+table inet trimtab; 2+guard 10.0.0.0 +d/a; 2+frontend 10.0.0.0:80/tcp +0=A +1=B +2=A +3=B; "
     "3+source ranges 10.0.0.0:80/tcp +0.0.0.0/0; 4+hold 10.0.0.0; 5+announcement 10.0.0.0 on "
     "eth0; ",
     true},
    {"nothing to do", "d/a " GUARDED "80/tcp=ABAB<0.0.0.0/0^",
     "d/a " GUARDED "80/tcp=ABAB<0.0.0.0/0^", ""},
    {"K13, slots change in one deed", "d/a " GUARDED "80/tcp=ABAB<0.0.0.0/0",
     "d/a " GUARDED "80/tcp=AAAA<0.0.0.0/0", "1~frontend 10.0.0.0:80/tcp -1=B -3=B +1=A +3=A; "},
    {"another map", "d/a " GUARDED "80/tcp=ABAB<0.0.0.0/0", "d/a " GUARDED "80/tcp=~AB<0.0.0.0/0",
     "1~frontend 10.0.0.0:80/tcp +0~A +1~B; 2-former slots 10.0.0.0:80/tcp -0=A -1=B -2=A -3=B; "},
    {"another map, and ranges at once", "d/a " GUARDED "80/tcp=ABAB<192.0.2.0/24",
     "d/a " GUARDED "80/tcp=AB<0.0.0.0/0",
     "1~frontend 10.0.0.0:80/tcp +0=A +1=B; 2~source ranges 10.0.0.0:80/tcp +0.0.0.0/0; 3-former "
     "slots 10.0.0.0:80/tcp after -0=A -1=B -2=A -3=B; 3~source ranges 10.0.0.0:80/tcp after "
     "-192.0.2.0/24; "},
    {"killed in two maps", "d/a " GUARDED "80/tcp=ABAB|~AB<0.0.0.0/0",
     "d/a " GUARDED "80/tcp=~AB<0.0.0.0/0", "1-former slots 10.0.0.0:80/tcp -0=A -1=B -2=A -3=B; "},
    {"killed in two maps, and back", "d/a " GUARDED "80/tcp=ABAB|~AB<0.0.0.0/0",
     "d/a " GUARDED "80/tcp=ABAA<0.0.0.0/0",
     "1~frontend 10.0.0.0:80/tcp -3=B +3=A; 2-former slots 10.0.0.0:80/tcp after -0~A -1~B; "},
    {"killed in two maps, and other targets", "d/a " GUARDED "80/tcp=ABAB|~AB<0.0.0.0/0",
     "d/a " GUARDED "80/tcp=~AC<0.0.0.0/0",
     "1~frontend 10.0.0.0:80/tcp -1~B +1~C; 2-former slots 10.0.0.0:80/tcp -0=A -1=B -2=A -3=B; "},
    {"killed in two maps, and a third one", "d/a " GUARDED "80/tcp=ABAB|~AB<0.0.0.0/0",
     "d/a " GUARDED "80/tcp=A<0.0.0.0/0",
     "1~frontend 10.0.0.0:80/tcp -0~A -1~B +0=A; 2-former slots 10.0.0.0:80/tcp after -0=A -1=B "
     "-2=A -3=B; "},
    {"killed in two maps, and closed", "d/a " GUARDED "53/udp=AB|~ACAA<0.0.0.0/0",
     "d/a " GUARDED "53/udp=",
     "1-source ranges 10.0.0.0:53/udp -0.0.0.0/0; 2-frontend 10.0.0.0:53/udp -0=A -1=B -0~A -1~C "
     "-2~A -3~A; 2-connections 10.0.0.0:53/udp; "},
    {"K30, closed when no target is left", "d/a " GUARDED "80/tcp=AB<0.0.0.0/0^",
     "d/a " GUARDED "80/tcp=",
     "1-source ranges 10.0.0.0:80/tcp -snat -0.0.0.0/0; 2-frontend 10.0.0.0:80/tcp -0=A -1=B; "},
    {"and open when one comes", "d/a " GUARDED "80/tcp=", "d/a " GUARDED "80/tcp=AB<0.0.0.0/0^",
     "1+frontend 10.0.0.0:80/tcp +0=A +1=B; 2+source ranges 10.0.0.0:80/tcp +snat +0.0.0.0/0; "},
    {"K46", "d/a " GUARDED "80/tcp=AB<0.0.0.0/0", "d/a " GUARDED "81/tcp=AB<0.0.0.0/0",
     "1+frontend 10.0.0.0:81/tcp +0=A +1=B; 2+source ranges 10.0.0.0:81/tcp +0.0.0.0/0; 3-source "
     "ranges 10.0.0.0:80/tcp -0.0.0.0/0; 4-frontend 10.0.0.0:80/tcp -0=A -1=B; 4-connections "
     "10.0.0.0:80/tcp; "},
    {"UDP", "d/a " GUARDED "53/udp=AB<0.0.0.0/0", "d/a " GUARDED "53/udp=BB<0.0.0.0/0",
     "1~frontend 10.0.0.0:53/udp -0=A +0=B; 2-connections 10.0.0.0:53/udp; "},
    {"G02", "d/a", "d/a " GUARDED "80/tcp=A<192.0.2.0/24<198.51.100.7/32",
     "1+guard 10.0.0.0 +d/a; 1+frontend 10.0.0.0:80/tcp +0=A; 2+source ranges 10.0.0.0:80/tcp "
     "+192.0.2.0/24 +198.51.100.7/32; 3+hold 10.0.0.0; 4+announcement 10.0.0.0 on eth0; "},
    {"G06, everybody comes before ranges go",
     "d/a " GUARDED "80/tcp=A<192.0.2.0/24<198.51.100.7/32", "d/a " GUARDED "80/tcp=A<0.0.0.0/0",
     "1~source ranges 10.0.0.0:80/tcp +0.0.0.0/0; 2~source ranges 10.0.0.0:80/tcp after "
     "-192.0.2.0/24 -198.51.100.7/32; "},
    {"ranges come before everybody goes", "d/a " GUARDED "80/tcp=A<0.0.0.0/0",
     "d/a " GUARDED "80/tcp=A<192.0.2.0/24^",
     "1~source ranges 10.0.0.0:80/tcp +snat +192.0.2.0/24; 2~source ranges 10.0.0.0:80/tcp "
     "-0.0.0.0/0; "},
    {"one range for another", "d/a " GUARDED "80/tcp=A<192.0.2.0/24<198.51.100.7/32",
     "d/a " GUARDED "80/tcp=A<192.0.2.0/24<203.0.113.0/24",
     "1~source ranges 10.0.0.0:80/tcp +203.0.113.0/24; 2~source ranges 10.0.0.0:80/tcp "
     "-198.51.100.7/32; "},
    {"a range within the old one", "d/a " GUARDED "80/tcp=A<192.0.2.0/24",
     "d/a " GUARDED "80/tcp=A<192.0.2.128/25<198.51.100.7/32",
     "1~source ranges 10.0.0.0:80/tcp +198.51.100.7/32; 1+stand-in ranges 10.0.0.0:80/tcp "
     "+<192.0.2.128/25; 2~source ranges 10.0.0.0:80/tcp -192.0.2.0/24 +192.0.2.128/25; 3-stand-in "
     "ranges 10.0.0.0:80/tcp after -<192.0.2.128/25; "},
    {"a range around old ones", "d/a " GUARDED "80/tcp=A<192.0.2.0/26<192.0.2.128/25",
     "d/a " GUARDED "80/tcp=A<192.0.2.0/24",
     "1+stand-in ranges 10.0.0.0:80/tcp +<192.0.2.0/24; 2~source ranges 10.0.0.0:80/tcp "
     "-192.0.2.0/26 -192.0.2.128/25 +192.0.2.0/24; 3-stand-in ranges 10.0.0.0:80/tcp after "
     "-<192.0.2.0/24; "},
    {"a range within the old one, IPv6", "d/a fd00:: guard link ann 80/tcp=A<2001:db8::/32",
     "d/a fd00:: guard link ann 80/tcp=A<2001:db8:1::/48",
     "1+stand-in ranges [fd00::]:80/tcp +<2001:db8:1::/48; 2~source ranges [fd00::]:80/tcp "
     "-2001:db8::/32 +2001:db8:1::/48; 3-stand-in ranges [fd00::]:80/tcp after "
     "-<2001:db8:1::/48; "},
    {"killed when a range stands in", "d/a " GUARDED "80/tcp=A<192.0.2.0/24<<192.0.2.128/25",
     "d/a " GUARDED "80/tcp=A<192.0.2.128/25",
     "1~source ranges 10.0.0.0:80/tcp -192.0.2.0/24 +192.0.2.128/25; 2-stand-in ranges "
     "10.0.0.0:80/tcp after -<192.0.2.128/25; "},
    {"killed when it has taken its place", "d/a " GUARDED "80/tcp=A<192.0.2.128/25<<192.0.2.128/25",
     "d/a " GUARDED "80/tcp=A<192.0.2.128/25",
     "1-stand-in ranges 10.0.0.0:80/tcp after -<192.0.2.128/25; "},
    {"killed, and the ranges are others meanwhile",
     "d/a " GUARDED "80/tcp=A<192.0.2.0/24<<192.0.2.128/25<<198.51.100.0/24",
     "d/a " GUARDED "80/tcp=A<192.0.2.128/26",
     "1+stand-in ranges 10.0.0.0:80/tcp -<192.0.2.128/25 +<192.0.2.128/26; 2~source ranges "
     "10.0.0.0:80/tcp -192.0.2.0/24 +192.0.2.128/26; 3-stand-in ranges 10.0.0.0:80/tcp after "
     "-<198.51.100.0/24 -<192.0.2.128/26; "},
    {"closed when a range stands in", "d/a " GUARDED "80/tcp=A<192.0.2.0/24<<192.0.2.128/25",
     "d/a " GUARDED "80/tcp=",
     "1-source ranges 10.0.0.0:80/tcp -192.0.2.0/24 -<192.0.2.128/25; 2-frontend 10.0.0.0:80/tcp "
     "-0=A; "},
    {"snat alone", "d/a " GUARDED "80/tcp=A<0.0.0.0/0", "d/a " GUARDED "80/tcp=A<0.0.0.0/0^",
     "1~source ranges 10.0.0.0:80/tcp +snat; "},
    {"G11, an address of two, in one batch", "d/a; d/b",
     "d/a " GUARDED "80/tcp=A<192.0.2.0/24; d/b 10.0.0.0 by=d/a held ann 81/tcp=B<0.0.0.0/0",
     "1+guard 10.0.0.0 +d/a d/a d/b; 1+frontend 10.0.0.0:80/tcp +0=A; 1+frontend 10.0.0.0:81/tcp "
     "+0=B; 2+source ranges 10.0.0.0:80/tcp +192.0.2.0/24; 2+source ranges 10.0.0.0:81/tcp "
     "+0.0.0.0/0; 3+hold 10.0.0.0 d/a d/b; 4+announcement 10.0.0.0 on eth0 d/a d/b; "},
    {"one of two goes",
     "d/a " GUARDED "80/tcp=A<0.0.0.0/0; d/b 10.0.0.0 by=d/a held ann 81/tcp=B<0.0.0.0/0",
     "d/a 10.0.0.0 by=d/b held ann; d/b 10.0.0.0 by=d/b held ann 81/tcp=B<0.0.0.0/0",
     "1~guard 10.0.0.0 -guard +d/b d/a d/b; 2-source ranges 10.0.0.0:80/tcp -0.0.0.0/0; 3-frontend "
     "10.0.0.0:80/tcp -0=A; 3-connections 10.0.0.0:80/tcp; "},
    {"both go",
     "d/a " GUARDED "80/tcp=A<0.0.0.0/0; d/b 10.0.0.0 by=d/a held ann 81/tcp=B<0.0.0.0/0",
     "d/a; d/b",
     "1-hold 10.0.0.0 d/a d/b; 2-source ranges 10.0.0.0:80/tcp -0.0.0.0/0; 2-source ranges "
     "10.0.0.0:81/tcp -0.0.0.0/0; 3-frontend 10.0.0.0:80/tcp -0=A; 3-connections 10.0.0.0:80/tcp; "
     "3-frontend 10.0.0.0:81/tcp -0=B; 3-connections 10.0.0.0:81/tcp; 4-guard 10.0.0.0 -guard d/a "
     "d/b; "},
    {"A14, the new one first", "d/a " GUARDED "80/tcp=A<0.0.0.0/0",
     "d/a 10.0.0.5 guard held ann 80/tcp=A<0.0.0.0/0 " GUARDED "80/tcp=A<0.0.0.0/0",
     "1+guard 10.0.0.5 +d/a; 1+frontend 10.0.0.5:80/tcp +0=A; 2+source ranges 10.0.0.5:80/tcp "
     "+0.0.0.0/0; 3+hold 10.0.0.5; 4+announcement 10.0.0.5 on eth0; "},
    {"A14, then the old one goes",
     "d/a 10.0.0.5 guard held ann 80/tcp=A<0.0.0.0/0 " GUARDED "80/tcp=A<0.0.0.0/0",
     "d/a 10.0.0.5 guard held ann 80/tcp=A<0.0.0.0/0",
     "1-hold 10.0.0.0; 2-source ranges 10.0.0.0:80/tcp -0.0.0.0/0; 3-frontend 10.0.0.0:80/tcp "
     "-0=A; 3-connections 10.0.0.0:80/tcp; 4-guard 10.0.0.0 -guard; "},
    {"L17, by routes", "d/a 10.0.0.0 guard held exp 80/tcp=AB<0.0.0.0/0^", "d/a",
     "1-announcement 10.0.0.0; 2-hold 10.0.0.0; 3-source ranges 10.0.0.0:80/tcp -snat -0.0.0.0/0; "
     "4-frontend 10.0.0.0:80/tcp -0=A -1=B; 4-connections 10.0.0.0:80/tcp; 5-guard 10.0.0.0 "
     "-guard; "},
    {"IPv6", "d/a", "d/a fd00:: guard link ann 80/tcp=A<::/0",
     "1+guard fd00:: +d/a; 1+frontend [fd00::]:80/tcp +0=A; 2+source ranges [fd00::]:80/tcp +::/0; "
     "3+hold fd00::; 4+announcement fd00:: on eth0; "},
    {"from a route to an address of the link", "d/a fd00:: guard held ann 80/tcp=A<::/0",
     "d/a fd00:: guard link ann 80/tcp=A<::/0", "1+hold fd00::; 2-hold fd00::; "},
    {"L21, killed after FILL", "d/a 10.0.0.0 guard 80/tcp=AB", "d/a " GUARDED "80/tcp=AB<0.0.0.0/0",
     "1+source ranges 10.0.0.0:80/tcp +0.0.0.0/0; 2+hold 10.0.0.0; 3+announcement 10.0.0.0 on "
     "eth0; "},
    {"L22, killed after OPEN", "d/a 10.0.0.0 guard 80/tcp=AB<0.0.0.0/0",
     "d/a " GUARDED "80/tcp=AB<0.0.0.0/0", "1+hold 10.0.0.0; 2+announcement 10.0.0.0 on eth0; "},
    {"L23, killed before CLOSE", "d/a 10.0.0.0 guard 80/tcp=AB<0.0.0.0/0", "d/a",
     "1-source ranges 10.0.0.0:80/tcp -0.0.0.0/0; 2-frontend 10.0.0.0:80/tcp -0=A -1=B; "
     "2-connections 10.0.0.0:80/tcp; 3-guard 10.0.0.0 -guard; "},
    {"L24, adopted: announced once", "d/a 10.0.0.0 guard held 80/tcp=AB<0.0.0.0/0",
     "d/a " GUARDED "80/tcp=AB<0.0.0.0/0", "1+announcement 10.0.0.0 on eth0; "},
    {"the guard was taken away", "d/a 10.0.0.0 held ann 80/tcp=AB<0.0.0.0/0",
     "d/a " GUARDED "80/tcp=AB<0.0.0.0/0", "1+guard 10.0.0.0 +d/a; "},
};

static void check_second(struct arena *a, const struct row *row, const struct lb_plan *plan,
                         const struct state *have, const struct state *want)
{
    struct local_mirror *m = local_mirror_new(NULL);
    struct state now;
    struct lb_plan second;

    plan_state_put(m, have);
    for (size_t i = 0; i < plan->n_ops; i++) {
        do_op(m, &plan->ops[i]);
    }
    if (want->n == 1) { /* of two that share an address this test does not know whose a port is */
        take_state(a, m, want, &now);
        plan_of(a, &now, want, true, &second);
        if (second.n_ops != 0) {
            fail_msg("%s: the second plan has %zu operations", row->name, second.n_ops);
        }
    }
    for (size_t i = 0; i < have->n; i++) { /* nothing is left where nothing is wanted */
        for (size_t k = 0; k < have->items[i].n_vips; k++) {
            const struct ip_addr *addr = &have->items[i].vips[k].addr;
            if (want->n == 1 && !vip_at(&want->items[0], addr).guarded) {
                assert_null(local_mirror_vip(m, a, addr));
            }
        }
    }
    local_mirror_free(m);
}

/* ---- packets ---------------------------------------------------------------------------------
 * A packet is looked up in all4, from4 and also4, then in the maps of slots, and whole transactions
 * may go by between two of these lookups, up to the next wait for packets under way. */

#define MOMENTS 64

/* A frontend as it is after each transaction, and (`half`) between what goes and what comes: older
 * kernels do not find what comes for a while. */
struct moments {
    const struct local_front *at[MOMENTS]; /* NULL: there is none */
    bool half[MOMENTS];
    bool waits[MOMENTS]; /* packets of this moment and before are waited for */
    int n;
};

static const struct local_front *front_now(struct arena *a, const struct local_mirror *m,
                                           const struct local_frontend_id *id)
{
    const struct local_mirror_vip *v = local_mirror_vip(m, a, &id->vip);
    const struct local_front *f = v == NULL ? NULL : local_front_of(v->fronts, v->n_fronts, id);

    if (f == NULL) {
        return NULL;
    }
    struct local_front *copy = ARENA_NEW(a, struct local_front);
    *copy = local_front_copy(a, f);
    return copy;
}

static struct moments moments_of(struct arena *a, const struct lb_plan *plan,
                                 const struct state *have, const struct local_frontend_id *id)
{
    struct local_mirror *m = local_mirror_new(NULL);
    struct moments t = {.n = 1};

    plan_state_put(m, have);
    t.at[0] = front_now(a, m, id);
    for (int wave = 1; wave <= (int)plan->n_ops; wave++) {
        for (int half = 1; half >= 0; half--, t.n++) {
            assert_in_range(t.n, 0, MOMENTS - 1);
            for (size_t i = 0; i < plan->n_ops; i++) {
                if (plan->ops[i].wave == wave) {
                    do_half(m, &plan->ops[i], half == 1);
                    const struct local_nft_deed *deed = plan->ops[i].arg;
                    bool nft = plan->ops[i].type == &local_nft_type;
                    t.waits[t.n - 1] |= half == 1 && nft && deed->settles;
                }
            }
            t.half[t.n] = half == 1;
            t.at[t.n] = front_now(a, m, id);
        }
    }
    local_mirror_free(m);
    return t;
}

static bool in_nets(const struct ip_net *nets, size_t n, const struct ip_addr *client)
{
    for (size_t i = 0; i < n; i++) {
        if (ip_net_contains(&nets[i], client)) {
            return true;
        }
    }
    return false;
}

/* Lookup `which` at this moment: 0 to 2 sets, from 3 on maps, in the order of rules. */
static bool finds(const struct local_front *f, int which, const struct ip_addr *client)
{
    bool hash = which >= 3 + 5;
    unsigned m = 1u << (which < 3 ? 0 : (which - 3) % 5); /* rows have small maps */

    return f != NULL && (which == 0   ? f->all
                         : which == 1 ? in_nets(f->open, f->n_open, client)
                         : which == 2 ? in_nets(f->also, f->n_also, client)
                                      : (f->m == m && f->hash == hash) ||
                                            (f->other_m == m && f->other_hash == hash));
}

/* Lookups first … last - 1 of a packet that comes at moment `from` all miss, each as soon as
 * it can. */
static bool is_refused(const struct moments *t, int from, int first, int last,
                       const struct ip_addr *client)
{
    int at = from;

    for (int which = first; which < last; which++) {
        /* A map changes as a whole, also in an old kernel. */
        while (at < t->n && (finds(t->at[at], which, client) || (which >= 3 && t->half[at]))) {
            if (t->waits[at] && at > from) {
                return false; /* it is through before the next transaction */
            }
            at++;
        }
        if (at == t->n) {
            return false;
        }
    }
    return true;
}

static bool lets_in(const struct local_front *f, const struct ip_addr *client)
{
    return finds(f, 0, client) || finds(f, 1, client) || finds(f, 2, client);
}

static void check_client(const char *name, const struct moments *t, const struct ip_addr *client)
{
    char text[IP_TEXT_MAX];

    for (int from = 0; from < t->n; from++) {
        if (is_refused(t, from, 0, 3, client) || is_refused(t, from, 3, 13, client)) {
            ip_format(client, text);
            fail_msg("%s: %s may be refused from moment %d on", name, text, from);
        }
    }
}

/* The first and last client of each range that both states let in. */
static void check_front(struct arena *a, const char *name, const struct lb_plan *plan,
                        const struct state *have, const struct local_front *const fronts[2])
{
    const struct moments t = moments_of(a, plan, have, &fronts[0]->id);

    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < 2 * (fronts[i]->n_open + fronts[i]->all); k++) {
            const struct ip_net everybody = {.addr = {.len = fronts[i]->id.vip.len}};
            const struct ip_net *net =
                k / 2 < fronts[i]->n_open ? &fronts[i]->open[k / 2] : &everybody;
            const struct ip_addr client = k % 2 == 0 ? net->addr : ip_net_last(net);
            if (lets_in(fronts[0], &client) && lets_in(fronts[1], &client)) {
                check_client(name, &t, &client);
            }
        }
    }
}

static void check_moments(struct arena *a, const struct row *row, const struct lb_plan *plan,
                          const struct state *have, const struct state *want)
{
    for (size_t i = 0; i < have->n && i < want->n; i++) {
        for (size_t f = 0; f < have->items[i].n_fronts; f++) {
            const struct local_front *from = &have->items[i].fronts[f];
            const struct local_front *to =
                local_front_of(want->items[i].fronts, want->items[i].n_fronts, &from->id);
            if (to != NULL) {
                check_front(a, row->name, plan, have,
                            (const struct local_front *const[]){from, to});
            }
        }
    }
}

static void plans(void **unused)
{
    unsigned failed = 0;

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena *a = arena_new();
        struct state have;
        struct state want;
        struct lb_plan plan;
        _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

        plan_state_read(a, rows[i].have, &have);
        plan_state_read(a, rows[i].want, &want);
        plan_of(a, &have, &want, !rows[i].no_table, &plan);
        for (size_t k = 0; k < plan.n_ops; k++) {
            show_op(&b, &plan.ops[k]);
        }
        if (!str_eq(str_buf_text(&b), rows[i].plan)) {
            print_error("%s\n  want %s\n  got  %s\n", rows[i].name, rows[i].plan, str_buf_text(&b));
            failed++;
        }
        check_second(a, &rows[i], &plan, &have, &want);
        check_moments(a, &rows[i], &plan, &have, &want);
        arena_free(a);
    }
    assert_int_equal(failed, 0);
}

/* ---- many source ranges ---------------------------------------------------------------------- */

static unsigned long comparisons;

int __real_local_net_cmp(const struct ip_net *a, const struct ip_net *b);
int __wrap_local_net_cmp(const struct ip_net *a, const struct ip_net *b);
bool __real_ip_net_contains(const struct ip_net *net, const struct ip_addr *addr);
bool __wrap_ip_net_contains(const struct ip_net *net, const struct ip_addr *addr);

int __wrap_local_net_cmp(const struct ip_net *a, const struct ip_net *b)
{
    comparisons++;
    return __real_local_net_cmp(a, b);
}

bool __wrap_ip_net_contains(const struct ip_net *net, const struct ip_addr *addr)
{
    comparisons++;
    return __real_ip_net_contains(net, addr);
}

/* All of n ranges are halved. */
static unsigned long comparisons_for(unsigned n)
{
    struct arena *a = arena_new();
    struct state have;
    struct state want;
    struct lb_plan plan;
    _cleanup_(str_buf_done) struct str_buf from = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf to = STR_BUF_INIT;

    str_append(&from, "d/a " GUARDED "80/tcp=A");
    str_append(&to, "d/a " GUARDED "80/tcp=A");
    for (unsigned i = 0; i < n; i++) {
        str_appendf(&from, "<10.%u.%u.0/24", i / 256, i % 256);
        str_appendf(&to, "<10.%u.%u.0/25", i / 256, i % 256);
    }
    plan_state_read(a, str_buf_text(&from), &have);
    plan_state_read(a, str_buf_text(&to), &want);
    comparisons = 0;
    plan_of(a, &have, &want, true, &plan);
    unsigned long done = comparisons;
    assert_int_equal(plan.n_ops, 3);
    arena_free(a);
    return done;
}

static void many_ranges__compared_about_once_each(void **unused)
{
    unsigned long few = comparisons_for(200);
    unsigned long many = comparisons_for(2000);

    (void)unused;
    print_message("# comparisons: %lu for 200 ranges, %lu for 2,000\n", few, many);
    assert_in_range(many, 2000, 20 * few); /* not the square */
}

UNIT_MAIN(service_plan)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans),
                                       cmocka_unit_test(many_ranges__compared_about_once_each)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
