/* SPDX-License-Identifier: Apache-2.0 */
/* quarantine_rules.c: see quarantine_rules.h. */
#include "controller/rules/quarantine_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/data/json.h"
#include "common/lb/service_digest.h"

#define DIGEST_DIGITS 16

/* ---- the digest ------------------------------------------------------------------------------ */

uint64_t quarantine_digest(const struct tt_service *s, const struct tt_provider *desc, bool deletes)
{
    int64_t verb = deletes;

    return svc_digest(hash_bytes(2, &verb, sizeof(verb)), s, desc->own_annotations,
                      desc->n_own_annotations);
}

/* ---- the text -------------------------------------------------------------------------------- */

static struct quarantine_entry read_entry(struct arena *a, const char *key, struct json_object *o)
{
    return (struct quarantine_entry){
        .key = arena_strdup(a, key),
        .call = arena_strdup(a, str_nonnull(json_str(o, "call"))),
        .digest = strtoull(str_nonnull(json_str(o, "digest")), NULL, DIGEST_DIGITS),
        .at_us = json_int(o, "at_us", 0),
        .deaths = (int)json_int(o, "deaths", 0),
    };
}

struct quarantine_record quarantine_parse(struct arena *a, const char *text)
{
    struct quarantine_record r = {.provider = "", .version = ""};
    struct json_object *o = NULL;

    if (text == NULL || json_parse_arena(a, text, strlen(text), NULL, &o, NULL) != ERR_OK) {
        return r;
    }
    r.provider = arena_strdup(a, str_nonnull(json_str(o, "provider")));
    r.version = arena_strdup(a, str_nonnull(json_str(o, "version")));
    struct json_object *deaths = json_member(o, "services");
    if (!json_object_is_type(deaths, json_type_object)) {
        return r;
    }
    r.entries = ARENA_ARRAY(a, struct quarantine_entry, QUARANTINE_KEYS_MAX);
    json_object_object_foreach(deaths, key, value)
    {
        if (r.n < QUARANTINE_KEYS_MAX) {
            r.entries[r.n++] = read_entry(a, key, value);
        }
    }
    return r;
}

const char *quarantine_print(struct arena *a, const struct quarantine_record *r)
{
    struct json_object *o = json_object_new_object();
    struct json_object *deaths = json_object_new_object();

    for (size_t i = 0; i < r->n; i++) {
        const struct quarantine_entry *e = &r->entries[i];
        struct json_object *one = json_object_new_object();
        json_add_int(one, "deaths", e->deaths);
        json_add_str(one, "call", e->call);
        json_add_str(one, "digest", arena_printf(a, "%016" PRIx64, e->digest));
        json_add_int(one, "at_us", e->at_us);
        json_add(deaths, e->key, one);
    }
    json_add_str(o, "provider", r->provider);
    json_add_str(o, "version", r->version);
    json_add(o, "services", deaths);
    const char *text = json_text(a, o, JSON_COMPACT);
    json_object_put(o);
    return text;
}

/* ---- counting -------------------------------------------------------------------------------- */

static bool is_of(const struct quarantine_record *r, const struct tt_provider *desc)
{
    return str_eq(r->provider, desc->name) && str_eq(r->version, desc->version);
}

static struct quarantine_entry *entry_of(const struct quarantine_record *r, const char *key)
{
    for (size_t i = 0; i < r->n; i++) {
        if (strcmp(r->entries[i].key, key) == 0) {
            return &r->entries[i];
        }
    }
    return NULL;
}

/* A place for another one: the oldest's, when there is none left. */
static struct quarantine_entry *place_in(struct quarantine_record *r)
{
    size_t oldest = 0;

    if (r->n < QUARANTINE_KEYS_MAX) {
        return &r->entries[r->n++];
    }
    for (size_t i = 1; i < r->n; i++) {
        oldest = r->entries[i].at_us < r->entries[oldest].at_us ? i : oldest;
    }
    return &r->entries[oldest];
}

void quarantine_count(struct arena *a, struct quarantine_record *r, const struct tt_provider *desc,
                      const struct quarantine_entry *death)
{
    if (!is_of(r, desc) || r->entries == NULL) {
        *r = (struct quarantine_record){
            .provider = desc->name,
            .version = desc->version,
            .entries = ARENA_ARRAY(a, struct quarantine_entry, QUARANTINE_KEYS_MAX)};
    }
    struct quarantine_entry *e = entry_of(r, death->key);
    bool in_a_row =
        e != NULL && e->digest == death->digest && death->at_us - e->at_us <= QUARANTINE_ROW_US;
    int before = in_a_row ? e->deaths : 0;

    e = e == NULL ? place_in(r) : e;
    *e = *death;
    e->deaths = before + 1;
}

const struct quarantine_entry *quarantine_find(const struct quarantine_record *r,
                                               const struct tt_provider *desc, const char *key,
                                               uint64_t digest)
{
    const struct quarantine_entry *e = is_of(r, desc) ? entry_of(r, key) : NULL;

    return e != NULL && e->deaths >= QUARANTINE_DEATHS && e->digest == digest ? e : NULL;
}

bool quarantine_wants_alone(const struct quarantine_record *r, const struct tt_provider *desc,
                            int64_t now_us)
{
    const struct quarantine_entry *several =
        is_of(r, desc) ? entry_of(r, QUARANTINE_SEVERAL) : NULL;
    bool alone = several != NULL && now_us - several->at_us <= QUARANTINE_ROW_US;

    for (size_t i = 0; alone && i < r->n; i++) {
        const struct quarantine_entry *e = &r->entries[i];
        bool found = e != several && e->deaths >= QUARANTINE_DEATHS && e->at_us >= several->at_us;
        alone = !found; /* it is held back now; of another one the next death tells */
    }
    return alone;
}
