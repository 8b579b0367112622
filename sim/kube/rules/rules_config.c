/* SPDX-License-Identifier: Apache-2.0 */
/* rules_config.c: the rules of ConfigMaps and Secrets: keys, sizes, and what `immutable` forbids.
 *
 * Pure: edits and judges trees.  Source: API server validation; tests/data/kube-answers. */
#include "common/base/str.h"
#include "common/data/json.h"
#include "sim/kube/kube.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

#define CONTENT_MAX_BYTES (1024 * 1024)

static size_t bytes_of(struct json_object *map)
{
    size_t total = 0;
    if (map) {
        json_object_object_foreach(map, key, value)
        {
            (void)key;
            total += (size_t)json_object_get_string_len(value);
        }
    }
    return total;
}

static void validate_keys(struct json_object *o, const char *map_name, struct kube_causes *causes)
{
    struct json_object *map = json_member(o, map_name);
    struct json_object *binary = json_member(o, "binaryData");
    if (!map) {
        return;
    }
    json_object_object_foreach(map, key, value)
    {
        (void)value;
        const char *field = arena_printf(causes->arena, "%s[%s]", map_name, key);
        kube_check_config_key(causes, field, key);
        if (map != binary && binary && json_object_object_get_ex(binary, key, NULL)) {
            kube_invalid(causes, field, key, "duplicate of key present in binaryData");
        }
    }
}

/* Once immutable, neither the content nor the mark changes. */
static void validate_immutable(const struct kube_change *c, const char *const *maps, size_t n,
                               struct kube_causes *causes)
{
    static const char text[] = "field is immutable when `immutable` is set";
    if (!c->was || !json_bool(c->was, "immutable", false)) {
        return;
    }
    if (!json_bool(c->now, "immutable", false)) {
        kube_forbidden(causes, "immutable", text);
    }
    for (size_t i = 0; i < n; i++) {
        if (!kube_same(json_member(c->now, maps[i]), json_member(c->was, maps[i]))) {
            kube_forbidden(causes, maps[i], text);
        }
    }
}

static void validate_maps(const struct kube_change *c, const char *const *maps, size_t n,
                          struct kube_causes *causes)
{
    size_t total = 0;
    validate_immutable(c, maps, n, causes);
    for (size_t i = 0; i < n; i++) {
        validate_keys(c->now, maps[i], causes);
        total += bytes_of(json_member(c->now, maps[i]));
    }
    if (total > CONTENT_MAX_BYTES) {
        kube_cause(causes, KUBE_TOO_LONG, "[]", NULL, "may not be more than 1048576 bytes");
    }
}

/* --- ConfigMap -------------------------------------------------------------------------------- */
static void config_map_validate(const struct kube_change *c, struct kube_causes *causes)
{
    static const char *const maps[] = {"data", "binaryData"};
    validate_maps(c, maps, ARRAY_LEN(maps), causes);
}

const struct kube_rules kube_rules_config_map = {.validate = config_map_validate};

/* --- Secret ----------------------------------------------------------------------------------- */
static void secret_defaults(struct kube_change *c)
{
    struct json_object *plain = json_member(c->now, "stringData");
    if (plain) {
        struct json_object *data = kube_need(c->now, "data");
        json_object_object_foreach(plain, key, value)
        {
            const char *text = json_object_get_string(value);
            kube_set(
                data, key,
                json_object_new_string(str_base64_encode(c->arena, text, strlen(text), false)));
        }
        kube_set(c->now, "stringData", NULL);
    }
    if (str_is_empty(json_str(c->now, "type"))) {
        kube_set(c->now, "type", json_object_new_string("Opaque"));
    }
}

static void secret_validate(const struct kube_change *c, struct kube_causes *causes)
{
    static const char *const maps[] = {"data"};
    validate_maps(c, maps, ARRAY_LEN(maps), causes);
    if (c->was && !kube_same(json_member(c->now, "type"), json_member(c->was, "type"))) {
        kube_invalid_json(causes, "type", json_member(c->now, "type"), "field is immutable");
    }
}

const struct kube_rules kube_rules_secret = {
    .set_defaults = secret_defaults,
    .validate = secret_validate,
};
