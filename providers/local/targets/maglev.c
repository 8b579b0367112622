/* SPDX-License-Identifier: Apache-2.0 */
/* maglev.c: Maglev's filling of slots, for maps by the client's address.
 *
 * Each target has an order of its own of all slots, made from a hash of its address and port; in
 * turns, as often as its weight says, it takes the first slot in its order that is free.  So
 * every director computes the same table, and a target that goes leaves most slots of the others
 * alone.  m is a power of two, so an odd step visits every slot.  Pure. */
#include "providers/local/targets/slots_internal.h"

#include "common/base/hash.h"

#include <string.h>

/* Any fixed numbers; tables of different versions agree only while they stay. */
#define SEED_BEGIN UINT64_C(0x6d61676c65760001)
#define SEED_STEP  UINT64_C(0x6d61676c65760002)

/* A target's walk through its order of slots. */
struct walk {
    unsigned next;
    unsigned step; /* odd */
    uint32_t turn; /* weight that was saved up for the next turn */
    uint16_t left; /* slots that it still takes */
};

static struct walk walk_of(const struct local_target *t, uint16_t slots, unsigned m)
{
    unsigned char key[18] = {0};
    if (t->addr.len == 4) {
        key[10] = key[11] = 0xff;
        memcpy(key + 12, t->addr.bytes, 4);
    } else {
        memcpy(key, t->addr.bytes, 16);
    }
    key[16] = (unsigned char)(t->port >> 8);
    key[17] = (unsigned char)t->port;
    return (struct walk){.next = (unsigned)(hash_bytes(SEED_BEGIN, key, sizeof(key)) % m),
                         .step = (unsigned)((hash_bytes(SEED_STEP, key, sizeof(key)) * 2 + 1) % m),
                         .left = slots};
}

static void take_next(struct walk *w, uint16_t index, unsigned m, uint16_t *slots)
{
    while (slots[w->next] != LOCAL_SLOT_NONE) {
        w->next = (w->next + w->step) % m;
    }
    slots[w->next] = index;
    w->left--;
}

/* Returns true while a target still takes slots. */
static bool take_turns(const struct local_shares *s, struct walk *walks, uint32_t largest,
                       unsigned m, uint16_t *slots)
{
    bool more = false;
    for (size_t i = 0; i < s->n; i++) {
        walks[i].turn += s->items[i].weight;
        if (walks[i].turn >= largest) {
            walks[i].turn -= largest;
            if (walks[i].left > 0) {
                take_next(&walks[i], s->items[i].index, m, slots);
            }
        }
        more = more || walks[i].left > 0;
    }
    return more;
}

void local_slots_maglev(const struct local_target_set *t, unsigned m, uint16_t *slots)
{
    struct local_shares s;
    struct walk walks[LOCAL_SLOTS_MAX];
    uint32_t largest = 0;
    m = m > LOCAL_SLOTS_MAX ? LOCAL_SLOTS_MAX : m;
    local_shares_make(t, m, &s);
    for (unsigned k = 0; k < m; k++) {
        slots[k] = LOCAL_SLOT_NONE;
    }
    for (size_t i = 0; i < s.n; i++) {
        walks[i] = walk_of(&t->items[s.items[i].index], s.items[i].slots, m);
        largest = s.items[i].weight > largest ? s.items[i].weight : largest;
    }
    while (s.n > 0 && take_turns(&s, walks, largest, m, slots)) {
    }
}
