/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sim_world.c: loading of worlds: --world, --state, PUT /sim/state.
 *
 * What holds for every input: it is refused with a reason, or it is loaded, and then what is dumped
 * can be loaded again and is dumped the same.  The simulator listens on loopback meanwhile, but has
 * no clients. */
#include "sim/sim.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/clock_fake.h"

#include <event2/event.h>
#include <string.h>

/* The dump as text, in `a`. */
static const char *dump(struct arena *a, struct sim *s)
{
    struct json_object *world = sim_dump(s);
    const char *text = json_text(a, world, JSON_SORTED);
    json_object_put(world);
    return text;
}

static void check_loaded(struct arena *a, struct sim *s)
{
    struct json_object *again = NULL;
    const char *first = dump(a, s);
    FUZZ_CHECK(json_parse_arena(a, first, strlen(first), NULL, &again, NULL) == ERR_OK);
    FUZZ_CHECK(sim_load(s, again, NULL) == ERR_OK);
    FUZZ_CHECK(str_eq(first, dump(a, s)));
}

FUZZ_TARGET(sim_world, const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct json_object *world = NULL;
    if (json_parse_arena(a, (const char *)data, size, NULL, &world, NULL) == ERR_OK) {
        struct clock *clock = clock_fake_new(1000, 1795287600000000);
        struct event_base *base = event_base_new();
        struct sim_config cfg = {.clock = clock};
        struct sim *s = NULL;
        struct err err = ERR_INIT;
        FUZZ_CHECK(sim_new(base, &cfg, &s, &err) == ERR_OK);
        int code = sim_load(s, world, &err);
        FUZZ_CHECK(code == ERR_OK || err.message[0] != '\0');
        if (code == ERR_OK) {
            check_loaded(a, s);
        }
        sim_free(s);
        event_base_free(base);
        clock_fake_free(clock);
    }
    arena_free(a);
    return 0;
}
