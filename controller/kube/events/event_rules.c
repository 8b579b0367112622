/* SPDX-License-Identifier: Apache-2.0 */
/* event_rules.c: three memories and their order (see event_rules.h).
 *
 * A memory is a hash table whose entries are kept in order of use: uthash iterates in order of
 * insertion, so an entry that is used is taken out and put in again, and the first one is the one
 * to forget.  Keys and messages are long and there are thousands of them: 128 bits of a seeded hash
 * stand for each; neither an attacker nor chance makes them collide. */
#include "controller/kube/events/event_rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/keep.h"
#include "common/net/ratelimit.h"

/* Never abort in the middle of an insertion with uthash's own exit(). */
#define uthash_fatal(msg) out_of_memory(0)
#include <uthash.h>

#define BURST             25
#define PER_SECOND        (1.0 / 300.0)
#define MAX_KEYS          4096
#define SIMILAR_MAX       10 /* distinct messages from which on they are merged */
#define SIMILAR_WINDOW_MS ((int64_t)600 * 1000)
#define AGGREGATE_PREFIX  "(combined from similar events): "
#define KEY_SEPARATOR     "\x1f"

/* Stands for a text. */
struct digest {
    uint64_t word[2];
};
struct memory {
    struct digest key;
    UT_hash_handle hh;
};
/* First member of each: its memory. */
struct similar {
    struct memory m;
    uint64_t messages[SIMILAR_MAX - 1]; /* a hash of each: they are nine of one kind */
    int n_messages;
    int64_t last_ms;
};
struct same {
    struct memory m;
    char *event_name;
    int count;
    int64_t first_us;
};
struct spam {
    struct memory m;
    struct ratelimit bucket;
};
struct event_rules {
    struct event_rules_params params;
    struct memory *similar;
    struct memory *same;
    struct memory *spam;
    uint64_t seed[2];
    struct same *last_same; /* of the last see(): named() fills its name */
    struct str_buf message; /* of the last aggregate */
};

static struct digest digest_of(const struct event_rules *r, const char *text)
{
    size_t n = strlen(text);
    return (struct digest){{hash_bytes(r->seed[0], text, n), hash_bytes(r->seed[1], text, n)}};
}

static void memory_free(const struct event_rules *r, struct memory *const *head, struct memory *m)
{
    if (head == &r->same) {
        free(((struct same *)m)->event_name);
    }
    keep_free(m, head == &r->same   ? sizeof(struct same)
                 : head == &r->spam ? sizeof(struct spam)
                                    : sizeof(struct similar));
}

static void memory_clear(const struct event_rules *r, struct memory **head)
{
    struct memory *m;
    struct memory *next;
    HASH_ITER (hh, *head, m, next) {
        HASH_DEL(*head, m);
        memory_free(r, head, m);
    }
}

struct event_rules *event_rules_new(const struct event_rules_params *params)
{
    struct event_rules *r = xcalloc(1, sizeof *r);
    r->seed[0] = hash_seed();
    r->seed[1] = hash_seed();
    r->params =
        (struct event_rules_params){.burst = BURST, .per_second = PER_SECOND, .max_keys = MAX_KEYS};
    if (params != NULL && params->burst > 0) {
        r->params.burst = params->burst;
    }
    if (params != NULL && params->per_second > 0) {
        r->params.per_second = params->per_second;
    }
    if (params != NULL && params->max_keys > 0) {
        r->params.max_keys = params->max_keys;
    }
    return r;
}

void event_rules_free(struct event_rules *r)
{
    if (r != NULL) {
        memory_clear(r, &r->similar);
        memory_clear(r, &r->same);
        memory_clear(r, &r->spam);
        str_buf_done(&r->message);
        free(r);
    }
}

/* The entry of that key, of `size` bytes, used last from now on; *ret_new tells whether
 * it was made. */
static void *recall(const struct event_rules *r, struct memory **head, size_t size, const char *key,
                    bool *ret_new)
{
    const struct digest d = digest_of(r, key);
    struct memory *m = NULL;
    HASH_FIND(hh, *head, &d, sizeof d, m);
    *ret_new = m == NULL;
    if (m != NULL) {
        HASH_DEL(*head, m);
    } else {
        m = keep_alloc(size);
        m->key = d;
        if (HASH_COUNT(*head) >= (unsigned)r->params.max_keys) {
            struct memory *oldest = *head;
            HASH_DEL(*head, oldest);
            memory_free(r, head, oldest);
        }
    }
    HASH_ADD(hh, *head, key, sizeof m->key, m);
    return m;
}

static void add(struct str_buf *b, const char *s)
{
    str_append(b, str_nonnull(s));
    str_append(b, KEY_SEPARATOR);
}

static void add_object(struct str_buf *b, const struct event_input *in)
{
    add(b, in->component);
    add(b, in->kind);
    add(b, in->ns);
    add(b, in->name);
    add(b, in->uid);
    add(b, in->api_version);
    add(b, in->type);
}

/* True when this message is one too many of its kind.  The tenth distinct one is the first to be
 * merged; from then on one old message makes room, so that the next is one too many again. */
static bool is_aggregated(struct event_rules *r, const struct event_input *in, int64_t now_ms,
                          const char *key)
{
    bool is_new;
    uint64_t message = digest_of(r, str_nonnull(in->message)).word[0];
    struct similar *m = recall(r, &r->similar, sizeof *m, key, &is_new);
    /* Upstream resets after "more than" ten minutes by a clock that moves between two
     * of its readings. */
    if (!is_new && now_ms - m->last_ms >= SIMILAR_WINDOW_MS) {
        m->n_messages = 0;
    }
    m->last_ms = now_ms;
    for (int i = 0; i < m->n_messages; i++) {
        if (m->messages[i] == message) {
            return false;
        }
    }
    if (m->n_messages == SIMILAR_MAX - 1) {
        return true;
    }
    m->messages[m->n_messages++] = message;
    return false;
}

static void count(struct event_rules *r, const char *key, int64_t wall_us,
                  struct event_verdict *ret)
{
    bool is_new;
    struct same *m = recall(r, &r->same, sizeof *m, key, &is_new);
    if (is_new) {
        m->first_us = wall_us;
    }
    m->count++;
    r->last_same = m;
    ret->count = m->count;
    ret->patch = m->count > 1 && m->event_name != NULL;
    ret->event_name = m->event_name;
    ret->first_us = m->first_us;
}

static bool is_spam(struct event_rules *r, const struct event_input *in, int64_t now_ms)
{
    struct str_buf key _cleanup_(str_buf_done) = STR_BUF_INIT;
    bool is_new;
    add_object(&key, in);
    struct spam *m = recall(r, &r->spam, sizeof *m, str_buf_text(&key), &is_new);
    if (is_new) {
        ratelimit_init(&m->bucket, r->params.per_second, r->params.burst, now_ms);
    }
    return !ratelimit_try(&m->bucket, now_ms);
}

void event_rules_see(struct event_rules *r, const struct event_input *in, int64_t now_ms,
                     int64_t wall_us, struct event_verdict *ret)
{
    struct str_buf key _cleanup_(str_buf_done) = STR_BUF_INIT;
    *ret = (struct event_verdict){.message = str_nonnull(in->message)};
    add_object(&key, in);
    add(&key, in->reason);
    ret->aggregate = is_aggregated(r, in, now_ms, str_buf_text(&key));
    if (ret->aggregate) {
        str_buf_reset(&r->message);
        str_append(&r->message, AGGREGATE_PREFIX);
        str_append(&r->message, ret->message);
        ret->message = str_buf_text(&r->message);
    } else {
        add(&key, in->message);
    }
    count(r, str_buf_text(&key), wall_us, ret);
    ret->drop = is_spam(r, in, now_ms);
}

void event_rules_named(struct event_rules *r, const char *event_name)
{
    if (r->last_same != NULL) {
        free(r->last_same->event_name);
        r->last_same->event_name = xstrdup(event_name);
    }
}
