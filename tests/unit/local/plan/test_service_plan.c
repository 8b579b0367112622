/* SPDX-License-Identifier: Apache-2.0 */
/* test_service_plan.c: from what the kernel has to what it is to have, as a table.  Every row's
 * plan is carried out on a mirror, after which it shows what was wanted, and nothing is planned any
 * more.
 *
 * A state: Services parted by "; ", each "KEY ADDRESS words ADDRESS words…".  Words of an address:
 * guard (by=KEY: its comment), held, link (held by an address of eth0), ann, exp, other=KEY, lives;
 * and frontends "80/tcp=AABB<0.0.0.0/0^": four slots, letters are targets 10.1.0.LETTER:30080, "~"
 * before them: by the client's address, "^": snat. */
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

#define MOST 8 /* Services, addresses of each, frontends of each */

struct state {
    size_t n;
    struct one {
        const char *key;
        struct local_vip vips[MOST];
        const char *other[MOST];
        bool lives[MOST];
        size_t n_vips;
        struct local_front fronts[MOST];
        size_t n_fronts;
    } items[MOST];
};

/* ---- states from texts ----------------------------------------------------------------------- */

static struct local_dest dest_of(char letter)
{
    return (struct local_dest){.addr = {.len = 4, .bytes = {10, 1, 0, (uint8_t)(letter - 'A' + 1)}},
                               .port = 30080};
}

static void read_front(struct arena *a, const char *word, const struct ip_addr *vip,
                       struct local_front *f)
{
    const char *slots = strchr(word, '=') + 1;
    size_t n_nets = 0;
    char **nets = str_split(a, slots, '<', &n_nets);

    *f = (struct local_front){
        .id = {.vip = *vip,
               .port = (uint16_t)strtoul(word, NULL, 10),
               .protocol = strstr(word, "/tcp=") != NULL ? LOCAL_TCP : LOCAL_UDP},
        .snat = strchr(word, '^') != NULL,
        .hash = *slots == '~',
        .open = ARENA_ARRAY(a, struct ip_net, n_nets + 1),
        .also = ARENA_ARRAY(a, struct ip_net, n_nets + 1)};
    slots += f->hash;
    for (size_t i = 1; i < n_nets; i++) {
        nets[i][strcspn(nets[i], "^")] = '\0';
    }
    f->m = (uint16_t)strcspn(slots, "<^");
    f->slots = ARENA_ARRAY(a, struct local_dest, f->m + 1u);
    for (unsigned i = 0; i < f->m; i++) {
        f->slots[i] = dest_of(slots[i]);
    }
    for (size_t i = 1; i < n_nets; i++) {
        bool also = nets[i][0] == '\0'; /* "<<": it stands in for others */
        struct ip_net *to = also ? &f->also[f->n_also++] : &f->open[f->n_open++];
        i += also;
        assert_true(ip_net_parse(nets[i], to));
    }
    local_front_let_in(f, f->open, f->n_open);
}

static void read_word(struct arena *a, const char *word, struct one *x)
{
    struct ip_addr addr;
    size_t at = x->n_vips - 1;
    struct local_vip *v = x->n_vips == 0 ? NULL : &x->vips[at];

    if (ip_parse(word, &addr)) {
        x->vips[x->n_vips++].addr = addr;
    } else if (str_eq(word, "guard") || str_has_prefix(word, "by=")) {
        v->guarded = true;
        v->comment = word[0] == 'g' ? x->key : word + 3;
    } else if (str_eq(word, "held") || str_eq(word, "link")) {
        v->held = true;
        v->held_on = word[0] == 'l' ? 2 : 0;
    } else if (str_eq(word, "ann")) {
        v->announced = true;
    } else if (str_eq(word, "exp")) {
        v->exported = true;
    } else if (str_has_prefix(word, "other=")) {
        x->other[at] = word + 6;
    } else if (strchr(word, '=') != NULL) {
        read_front(a, word, &v->addr, &x->fronts[x->n_fronts++]);
    } else if (*word != '\0') {
        fail_msg("word %s", word);
    }
}

static void read_state(struct arena *a, const char *text, struct state *st)
{
    size_t n = 0;
    char **items = str_split(a, text, ';', &n);

    *st = (struct state){.n = 0};
    for (size_t i = 0; i < n; i++) {
        size_t n_words = 0;
        char **words = str_split(a, items[i] + strspn(items[i], " "), ' ', &n_words);
        struct one *x = &st->items[st->n++];
        x->key = words[0];
        for (size_t k = 1; k < n_words; k++) {
            read_word(a, words[k], x);
        }
    }
}

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

static void put(struct local_mirror *m, enum local_nft_set set, const struct local_front *f,
                const struct ip_net *net, unsigned slot)
{
    struct local_nft_element e = {
        .set = set, .id = f->id, .hash = f->hash, .m = f->m, .slot = (uint16_t)slot};

    if (net != NULL) {
        e.net = *net;
    }
    if (set == LOCAL_NFT_SLOT) {
        e.target = f->slots[slot].addr;
        e.target_port = f->slots[slot].port;
    }
    local_mirror_element(m, &e, false);
}

static void put_state(struct local_mirror *m, const struct state *st)
{
    for (size_t i = 0; i < st->n; i++) {
        const struct one *x = &st->items[i];
        for (size_t k = 0; k < x->n_vips; k++) {
            const struct local_vip *v = &x->vips[k];
            const struct local_nft_element e = {
                .set = LOCAL_NFT_VIP, .id = {.vip = v->addr}, .comment = v->comment};
            if (v->guarded) {
                local_mirror_element(m, &e, false);
            }
            if (v->held) {
                local_mirror_hold(m, &v->addr, LOCAL_ROUTE_HOLD, v->held_on, false);
            }
            if (v->exported) {
                local_mirror_hold(m, &v->addr, LOCAL_ROUTE_EXPORT, 0, false);
            }
            if (v->announced) {
                local_mirror_announced(m, &v->addr, true);
            }
        }
        for (size_t k = 0; k < x->n_fronts; k++) {
            const struct local_front *f = &x->fronts[k];
            for (unsigned s = 0; s < f->m; s++) {
                put(m, LOCAL_NFT_SLOT, f, NULL, s);
            }
            for (size_t o = 0; o < f->n_open; o++) {
                put(m, LOCAL_NFT_FROM, f, &f->open[o], 0);
            }
            for (size_t o = 0; o < f->n_also; o++) {
                put(m, LOCAL_NFT_ALSO, f, &f->also[o], 0);
            }
            if (f->all) {
                put(m, LOCAL_NFT_ALL, f, NULL, 0);
            }
            if (f->snat) {
                put(m, LOCAL_NFT_SNAT, f, NULL, 0);
            }
        }
    }
}

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
     "1~frontend 10.0.0.0:80/tcp -0=A -1=B -2=A -3=B +0~A +1~B; "},
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
     "1~source ranges 10.0.0.0:80/tcp +0.0.0.0/0; 2~source ranges 10.0.0.0:80/tcp -192.0.2.0/24 "
     "-198.51.100.7/32; "},
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
     "ranges 10.0.0.0:80/tcp -<192.0.2.128/25; "},
    {"a range around old ones", "d/a " GUARDED "80/tcp=A<192.0.2.0/26<192.0.2.128/25",
     "d/a " GUARDED "80/tcp=A<192.0.2.0/24",
     "1+stand-in ranges 10.0.0.0:80/tcp +<192.0.2.0/24; 2~source ranges 10.0.0.0:80/tcp "
     "-192.0.2.0/26 -192.0.2.128/25 +192.0.2.0/24; 3-stand-in ranges 10.0.0.0:80/tcp "
     "-<192.0.2.0/24; "},
    {"a range within the old one, IPv6", "d/a fd00:: guard link ann 80/tcp=A<2001:db8::/32",
     "d/a fd00:: guard link ann 80/tcp=A<2001:db8:1::/48",
     "1+stand-in ranges [fd00::]:80/tcp +<2001:db8:1::/48; 2~source ranges [fd00::]:80/tcp "
     "-2001:db8::/32 +2001:db8:1::/48; 3-stand-in ranges [fd00::]:80/tcp -<2001:db8:1::/48; "},
    {"killed when a range stands in", "d/a " GUARDED "80/tcp=A<192.0.2.0/24<<192.0.2.128/25",
     "d/a " GUARDED "80/tcp=A<192.0.2.128/25",
     "1~source ranges 10.0.0.0:80/tcp -192.0.2.0/24 +192.0.2.128/25; 2-stand-in ranges "
     "10.0.0.0:80/tcp -<192.0.2.128/25; "},
    {"killed when it has taken its place", "d/a " GUARDED "80/tcp=A<192.0.2.128/25<<192.0.2.128/25",
     "d/a " GUARDED "80/tcp=A<192.0.2.128/25",
     "1-stand-in ranges 10.0.0.0:80/tcp -<192.0.2.128/25; "},
    {"killed, and the ranges are others meanwhile",
     "d/a " GUARDED "80/tcp=A<192.0.2.0/24<<192.0.2.128/25<<198.51.100.0/24",
     "d/a " GUARDED "80/tcp=A<192.0.2.128/26",
     "1+stand-in ranges 10.0.0.0:80/tcp -<192.0.2.128/25 +<192.0.2.128/26; 2~source ranges "
     "10.0.0.0:80/tcp -192.0.2.0/24 +192.0.2.128/26; 3-stand-in ranges 10.0.0.0:80/tcp "
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

    put_state(m, have);
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

static bool in_nets(const struct ip_net *nets, size_t n, const struct ip_addr *client)
{
    for (size_t i = 0; i < n; i++) {
        if (ip_net_contains(&nets[i], client)) {
            return true;
        }
    }
    return false;
}

static bool lets_in(const struct local_front *f, const struct ip_addr *client)
{
    return f->all || in_nets(f->open, f->n_open, client) || in_nets(f->also, f->n_also, client);
}

/* The first and last client of each of its ranges that both states let in is let in now. */
static void check_front_clients(struct arena *a, const char *name, const struct local_mirror *m,
                                const struct local_front *const fronts[2])
{
    const struct local_mirror_vip *v = local_mirror_vip(m, a, &fronts[0]->id.vip);

    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < 2 * fronts[i]->n_open; k++) {
            const struct ip_net *net = &fronts[i]->open[k / 2];
            const struct ip_addr client = k % 2 == 0 ? net->addr : ip_net_last(net);
            bool in = !lets_in(fronts[0], &client) || !lets_in(fronts[1], &client);
            for (size_t f = 0; v != NULL && f < v->n_fronts; f++) {
                in = in || (local_frontend_cmp(&v->fronts[f].id, &fronts[0]->id) == 0 &&
                            lets_in(&v->fronts[f], &client));
            }
            if (!in) {
                char text[IP_TEXT_MAX];
                ip_format(&client, text);
                fail_msg("%s: %s is refused for a moment", name, text);
            }
        }
    }
}

static void check_clients(struct arena *a, const char *name, const struct local_mirror *m,
                          const struct state *have, const struct state *want)
{
    for (size_t i = 0; i < have->n && i < want->n; i++) {
        for (size_t f = 0; f < have->items[i].n_fronts; f++) {
            const struct local_front *from = &have->items[i].fronts[f];
            const struct local_front *to =
                local_front_of(want->items[i].fronts, want->items[i].n_fronts, &from->id);
            if (to != NULL) {
                check_front_clients(a, name, m, (const struct local_front *const[]){from, to});
            }
        }
    }
}

/* Within a transaction a packet may miss what goes and what comes. */
static void check_moments(struct arena *a, const struct row *row, const struct lb_plan *plan,
                          const struct state *have, const struct state *want)
{
    struct local_mirror *m = local_mirror_new(NULL);

    put_state(m, have);
    for (int wave = 1; wave <= (int)plan->n_ops; wave++) {
        for (int half = 1; half >= 0; half--) {
            for (size_t i = 0; i < plan->n_ops; i++) {
                if (plan->ops[i].wave == wave) {
                    do_half(m, &plan->ops[i], half == 1);
                }
            }
            check_clients(a, row->name, m, have, want);
        }
    }
    local_mirror_free(m);
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

        read_state(a, rows[i].have, &have);
        read_state(a, rows[i].want, &want);
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

UNIT_MAIN(service_plan)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
