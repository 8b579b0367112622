/* SPDX-License-Identifier: Apache-2.0 */
/* plan_state.c: see plan_state.h. */
#include "tests/unit/local/plan/plan_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after these four */
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

/* ---- states from texts ----------------------------------------------------------------------- */

static struct local_dest dest_of(char letter)
{
    return (struct local_dest){.addr = {.len = 4, .bytes = {10, 1, 0, (uint8_t)(letter - 'A' + 1)}},
                               .port = 30080};
}

static void read_other(struct arena *a, const char *slots, struct local_front *f)
{
    if (slots != NULL) {
        f->other_hash = slots[1] == '~';
        slots += 1 + f->other_hash;
        f->other_m = (uint16_t)strcspn(slots, "<^");
        f->other_slots = ARENA_ARRAY(a, struct local_dest, f->other_m);
        for (unsigned i = 0; i < f->other_m; i++) {
            f->other_slots[i] = dest_of(slots[i]);
        }
    }
}

static int by_net(const void *a, const void *b)
{
    return local_net_cmp(a, b);
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
    read_other(a, strchr(slots, '|'), f);
    for (size_t i = 1; i < n_nets; i++) {
        nets[i][strcspn(nets[i], "^")] = '\0';
    }
    f->m = (uint16_t)strcspn(slots, "<^|");
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
    qsort(f->open, f->n_open, sizeof *f->open, by_net);
    qsort(f->also, f->n_also, sizeof *f->also, by_net);
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

void plan_state_read(struct arena *a, const char *text, struct state *st)
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

/* ---- into a mirror --------------------------------------------------------------------------- */

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

void plan_state_put(struct local_mirror *m, const struct state *st)
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
            struct local_front other = *f;
            other.hash = f->other_hash;
            other.slots = f->other_slots;
            for (unsigned s = 0; s < f->other_m; s++) {
                other.m = f->other_m;
                put(m, LOCAL_NFT_SLOT, &other, NULL, s);
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
