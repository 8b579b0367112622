/* SPDX-License-Identifier: Apache-2.0 */
/* config_internal.h: how the files of this room read a configuration: findings with lines, and
 * tables of fields.
 *
 * A section of the file is read by a table (local_cfg_object()): a key that is in no row is a
 * finding, the others go to the function of their row, which writes one member or adds a
 * finding.  Reading continues after a finding.  Private to this room. */
#ifndef TRIMTAB_LOCAL_MODEL_CONFIG_INTERNAL_H
#define TRIMTAB_LOCAL_MODEL_CONFIG_INTERNAL_H

#include "providers/local/model/config.h"

#include "common/base/timefmt.h"
#include "common/data/json.h"

#define LOCAL_FINDINGS_MAX 200 /* further ones are counted only */

/* Bounds of health checks, of a file and of annotations. */
#define LOCAL_CHECK_INTERVAL_MIN 500
#define LOCAL_CHECK_TIMEOUT_MIN  100
#define LOCAL_CHECK_MS_MAX       3600000
#define LOCAL_CHECK_COUNT_MAX    100
#define LOCAL_DRAIN_MS_MAX       86400000

struct local_cfg {
    struct arena *a;
    const char *file;
    const char *text;
    size_t text_len;
    struct local_config_finding items[LOCAL_FINDINGS_MAX + 1];
    size_t n;
    size_t n_more;    /* that have no room in `items` */
    bool more_errors; /* one of them is an error */
};
/* The place of a value in the file: a chain up to the root. */
struct local_cfg_at {
    const struct local_cfg_at *up; /* NULL: the root's member */
    const char *key;               /* NULL: an item of a list */
    size_t index;
};

/* Adds a finding about the value at `at`; NULL: about the whole file. */
void local_cfg_error(struct local_cfg *c, const struct local_cfg_at *at, const char *fmt, ...)
    _printf_(3, 4);
void local_cfg_warn(struct local_cfg *c, const struct local_cfg_at *at, const char *fmt, ...)
    _printf_(3, 4);
/* Adds an error of a line that is known. */
void local_cfg_error_line(struct local_cfg *c, size_t line, const char *fmt, ...) _printf_(3, 4);
/* "checks.interval": the keys below the item of a list, or below `director`. */
const char *local_cfg_name(struct local_cfg *c, const struct local_cfg_at *at);
/* A scalar as a message shows it, without quotes. */
const char *local_cfg_shown(struct local_cfg *c, struct json_object *v);

struct local_cfg_field;
/* Reads `v`, which is not null, into the struct at `out`. */
typedef void local_cfg_read_fn(struct local_cfg *c, const struct local_cfg_at *at,
                               const struct local_cfg_field *f, struct json_object *v, void *out);
struct local_cfg_field {
    const char *key; /* NULL ends a table */
    local_cfg_read_fn *read;
    size_t offset; /* of the member */
    size_t size;   /* of the member */
    int64_t min;   /* numbers, durations (ms) */
    int64_t max;
    const char *const *words; /* LOCAL_CFG_WORD: index = value; NULL ends it */
};
#define LOCAL_CFG_FIELD(key, fn, type, member)                                                     \
    {                                                                                              \
        key, fn, offsetof(type, member), sizeof(((type *)0)->member), 0, 0, NULL                   \
    }
#define LOCAL_CFG_RANGE(key, fn, type, member, min, max)                                           \
    {                                                                                              \
        key, fn, offsetof(type, member), sizeof(((type *)0)->member), min, max, NULL               \
    }
#define LOCAL_CFG_WORD(key, type, member, words)                                                   \
    {                                                                                              \
        key, local_cfg_word, offsetof(type, member), sizeof(((type *)0)->member), 0, 0, words      \
    }

/* The keys of the sections; docs/providers/local-config.md has the same. */
extern const struct local_cfg_field local_cfg_top_fields[];
extern const struct local_cfg_field local_cfg_pool_fields[];
extern const struct local_cfg_field local_cfg_director_fields[];
extern const struct local_cfg_field local_cfg_check_fields[];

/* Reads all members of `o`; adds a finding when it is not a mapping. */
void local_cfg_object(struct local_cfg *c, const struct local_cfg_at *at, struct json_object *o,
                      const struct local_cfg_field *fields, void *out);
void local_cfg_bool(struct local_cfg *c, const struct local_cfg_at *at,
                    const struct local_cfg_field *f, struct json_object *v, void *out);
void local_cfg_word(struct local_cfg *c, const struct local_cfg_at *at,
                    const struct local_cfg_field *f, struct json_object *v, void *out);
/* A whole number of 1, 2, 4 or 8 bytes, by `size` */
void local_cfg_number(struct local_cfg *c, const struct local_cfg_at *at,
                      const struct local_cfg_field *f, struct json_object *v, void *out);
/* int64_t, in ms. */
void local_cfg_duration(struct local_cfg *c, const struct local_cfg_at *at,
                        const struct local_cfg_field *f, struct json_object *v, void *out);
/* const char *, not empty. */
void local_cfg_text(struct local_cfg *c, const struct local_cfg_at *at,
                    const struct local_cfg_field *f, struct json_object *v, void *out);
/* Reads a list of texts that are not empty; NULL, with a finding, for anything else. */
const char *const *local_cfg_texts(struct local_cfg *c, const struct local_cfg_at *at,
                                   struct json_object *v, size_t *ret_n);
/* struct local_selector. */
void local_cfg_selector(struct local_cfg *c, const struct local_cfg_at *at,
                        const struct local_cfg_field *f, struct json_object *v, void *out);
void local_cfg_mode(struct local_cfg *c, const struct local_cfg_at *at,
                    const struct local_cfg_field *f, struct json_object *v, void *out);
void local_cfg_scheduler(struct local_cfg *c, const struct local_cfg_at *at,
                         const struct local_cfg_field *f, struct json_object *v, void *out);
/* struct local_check_config. */
void local_cfg_checks(struct local_cfg *c, const struct local_cfg_at *at,
                      const struct local_cfg_field *f, struct json_object *v, void *out);
void local_cfg_sorry(struct local_cfg *c, const struct local_cfg_at *at,
                     const struct local_cfg_field *f, struct json_object *v, void *out);

/* ---- sections -------------------------------------------------------------------------------- */

void local_cfg_director(struct local_cfg *c, struct json_object *v,
                        struct local_director_config *d);
/* `d` has been read. */
void local_cfg_pools(struct local_cfg *c, struct json_object *v, struct local_config *config);
void local_cfg_reservations(struct local_cfg *c, struct json_object *v,
                            struct local_config *config);

/* ---- ranges ---------------------------------------------------------------------------------- */

/* A list of CIDRs, ranges and addresses, sorted.  *ret_index (may be NULL): the item of the list
 * that each came from. */
struct local_range *local_cfg_ranges(struct local_cfg *c, const struct local_cfg_at *at,
                                     struct json_object *v, size_t *ret_n, size_t **ret_index);
/* True when all addresses of `r` lie in the n sorted ranges. */
bool local_ranges_cover(const struct local_range *ranges, size_t n, const struct local_range *r);
char *local_range_text(struct arena *a, const struct local_range *r);

/* ---- words ----------------------------------------------------------------------------------- */

extern const char *const local_role_words[];
extern const char *const local_mode_words[];
extern const char *const local_scheduler_words[];
extern const char *const local_targets_words[];
extern const char *const local_snat_words[];
extern const char *const local_announce_words[];
extern const char *const local_ip_mode_words[];
extern const char *const local_redundancy_words[];
extern const char *const local_check_words[]; /* the first is "" */
extern const char *const local_tunnel_words[];
/* Returns the index of `text`, or -1 when it is not one of the words. */
int local_word_find(const char *const *words, const char *text);
/* "a, b or c". */
char *local_words_text(struct arena *a, const char *const *words);
bool local_duration_parse(const char *text, int64_t *ret_ms);

#endif
