/* SPDX-License-Identifier: Apache-2.0 */
/* ids.c: new identifiers, other than those of loaded worlds.
 *
 * Identifiers come from the seeded generator, and a world may have been made by a simulator with
 * the same seed: the new Service would get the uid of the first one of the world.  So identifiers
 * of loaded worlds are remembered, and passed over.  Only texts in the forms of the generators
 * count: UUIDs, and "sg-0123456789abcdef0". */
#include "sim/core/frame.h"

#include <string.h>

#include "common/base/map.h"

#define UUID_LEN ((size_t)36)
#define HEX_LEN  ((size_t)17) /* behind the prefix, in AWS' identifiers */

static bool is_hex(const char *s, size_t n)
{
    return strspn(s, "0123456789abcdef") >= n;
}

static bool is_uuid(const char *s)
{
    return strlen(s) == UUID_LEN && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' &&
           is_hex(s, 8) && is_hex(s + 24, 12);
}

static bool is_prefixed(const char *s)
{
    const char *dash = strrchr(s, '-');
    return dash != NULL && strlen(dash + 1) == HEX_LEN && is_hex(dash + 1, HEX_LEN);
}

void sim_ids_note(struct sim *s, struct json_object *o)
{
    if (json_object_is_type(o, json_type_object)) {
        json_object_object_foreach(o, name, value)
        {
            (void)name;
            sim_ids_note(s, value);
        }
    } else if (json_object_is_type(o, json_type_array)) {
        for (size_t i = 0; i < json_len(o); i++) {
            sim_ids_note(s, json_object_array_get_idx(o, i));
        }
    } else if (json_object_is_type(o, json_type_string)) {
        const char *text = json_object_get_string(o);
        if (is_uuid(text) || is_prefixed(text)) {
            map_set(s->loaded_ids, text, NULL);
        }
    }
}

bool sim_id_is_loaded(const struct sim *s, const char *id)
{
    return map_has(s->loaded_ids, id);
}

void sim_new_uuid(const struct sim *s, char out[37])
{
    do {
        rng_uuid(s->rng, out);
    } while (sim_id_is_loaded(s, out));
}
