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

#define DIGEST_DIGITS 16
#define OWN_PREFIX    "trimtab.io/"

/* ---- the digest ------------------------------------------------------------------------------ */

static uint64_t mix_text(uint64_t h, const char *text)
{
    return text == NULL ? hash_bytes(h, "\1", 1) : hash_bytes(h, text, strlen(text) + 1);
}

static uint64_t mix_number(uint64_t h, int64_t n)
{
    return hash_bytes(h, &n, sizeof(n));
}

static uint64_t mix_texts(uint64_t h, const char *const *texts, uint32_t n)
{
    h = mix_number(h, n);
    for (uint32_t i = 0; i < n; i++) {
        h = mix_text(h, texts[i]);
    }
    return h;
}

static bool is_written_by_us(const struct tt_provider *desc, const char *key)
{
    if (str_has_prefix(key, OWN_PREFIX)) {
        return true;
    }
    for (uint32_t i = 0; i < desc->n_own_annotations; i++) {
        const char *own = desc->own_annotations[i];
        size_t n = strlen(own);
        bool begins = n > 0 && own[n - 1] == '*';
        if (begins ? strncmp(key, own, n - 1) == 0 : strcmp(key, own) == 0) {
            return true;
        }
    }
    return false;
}

static uint64_t mix_annotations(uint64_t h, const struct tt_service *s,
                                const struct tt_provider *desc)
{
    for (uint32_t i = 0; i < s->n_annotations; i++) {
        if (!is_written_by_us(desc, s->annotations[i].key)) {
            h = mix_text(mix_text(h, s->annotations[i].key), s->annotations[i].value);
        }
    }
    return h;
}

static uint64_t mix_ports(uint64_t h, const struct tt_service *s)
{
    h = mix_number(h, s->n_ports);
    for (uint32_t i = 0; i < s->n_ports; i++) {
        const struct tt_port *p = &s->ports[i];
        h = mix_text(mix_text(mix_text(h, p->name), p->protocol), p->app_protocol);
        h = mix_number(mix_number(h, p->port), p->node_port);
    }
    return h;
}

uint64_t quarantine_digest(const struct tt_service *s, const struct tt_provider *desc, bool deletes)
{
    uint64_t h = mix_number(2, deletes);

    h = mix_number(mix_text(h, s->uid), s->deleted_us != 0);
    h = mix_annotations(h, s, desc);
    h = mix_text(mix_text(mix_text(h, s->type), s->lb_class), s->lb_ip);
    h = mix_ports(h, s);
    h = mix_number(mix_text(h, s->session_affinity), s->affinity_timeout_s);
    h = mix_number(h, s->health_check_node_port);
    h = mix_texts(h, s->source_ranges, s->n_source_ranges);
    h = mix_texts(h, s->external_ips, s->n_external_ips);
    h = mix_text(mix_text(h, s->external_traffic_policy), s->internal_traffic_policy);
    h = mix_texts(h, s->ip_families, s->n_ip_families);
    h = mix_text(mix_text(h, s->ip_family_policy), s->traffic_distribution);
    return h == 0 ? 1 : h;
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
