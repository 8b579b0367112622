/* SPDX-License-Identifier: Apache-2.0 */
/* small.c: writing and reading the small form (see small.h).
 *
 * One block: a head, the texts that the store looks at (key, UID, version, of a slice its Service),
 * then the structure.  A structure is a bit for each member of its table, and then the members
 * whose bits are set.  A number takes seven bits a byte.  A text is a word of words.h, a place
 * further up where the same text already stands, or it stands here; UIDs, IPv4 addresses, the
 * namespace and what begins with the object's own UID are recreated with the structures.  Pure but
 * for malloc. */
#include "controller/kube/store/small.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/ip.h"
#include "common/base/keep.h"
#include "common/base/str.h"
#include "common/base/uuid.h"
#include "controller/kube/model/words.h"
#include "controller/kube/store/small_members.h"

/* Only the first bytes are searched for an equal text: enough for one object's
 * names, and bounded. */
#define LOOK_BACK ((size_t)4096)
/* Of bytes of one object, so that places fit in what names them. */
#define BYTES_MAX ((size_t)UINT32_MAX / 4)

/* Codes of a text; above them a word's place or one in `bytes`, by the lowest bit. */
#define CODE_NULL   0u
#define CODE_HERE   1u
#define CODE_IPV4   2u /* four bytes */
#define CODE_UUID   3u /* sixteen */
#define CODE_UID    4u /* the object's, and what stands here */
#define CODE_SPACE  5u /* the object's namespace: its key, up to the slash */
#define CODE_OTHERS 6u

struct kube_small {
    _Atomic uint32_t refs;
    uint32_t n_bytes;
    uint32_t whole; /* bytes of the structures that a reader makes, the object included */
    uint16_t uid, version, service, structure; /* where they begin in `bytes` */
    uint8_t kind;
    bool has_uuid; /* the UID is sixteen bytes; else a text */
    char bytes[];  /* the key first */
};

/* The structures of an object begin where anything may. */
#define ALIGNED(n) (((n) + 7) & ~(size_t)7)

static const struct small_struct *struct_of(enum kube_kind kind)
{
    return kind == KUBE_SERVICE ? &small_service : kind == KUBE_SLICE ? &small_slice : NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct writer {
    struct str_buf out;
    size_t whole;
    const char *key;
    const char *uid; /* that is written as sixteen bytes; NULL: it is not */
};

static void write_number(struct writer *w, uint64_t n)
{
    while (n >= 0x80) {
        str_append_c(&w->out, (char)(0x80 | (n & 0x7f)));
        n >>= 7;
    }
    str_append_c(&w->out, (char)n);
}

/* Small numbers of either sign are short. */
static void write_signed(struct writer *w, int64_t n)
{
    write_number(w, ((uint64_t)n << 1) ^ (n < 0 ? UINT64_MAX : 0));
}

/* Even: whole seconds.  1: microseconds follow. */
static void write_time(struct writer *w, int64_t us)
{
    if (us >= 0 && us % 1000000 == 0) {
        write_number(w, (uint64_t)(us / 1000000) << 1);
        return;
    }
    write_number(w, 1);
    write_signed(w, us);
}

/* A text of n bytes that a reader makes. */
static void write_made(struct writer *w, uint64_t code, const void *bytes, size_t size, size_t n)
{
    write_number(w, code);
    str_append_n(&w->out, bytes, size);
    w->whole += ALIGNED(n + 1);
}

static bool is_ipv4(const char *s, struct ip_addr *ret)
{
    char text[IP_TEXT_MAX];

    if (s[0] < '0' || s[0] > '9' || !ip_parse(s, ret) || ret->len != 4) {
        return false;
    }
    ip_format(ret, text);
    return strcmp(text, s) == 0;
}

/* One of the forms that are shorter than the text; false: it has none. */
static bool write_short(struct writer *w, const char *s)
{
    uint8_t uuid[UUID_BYTES];
    struct ip_addr ip;
    size_t n = strlen(s);
    size_t space = strcspn(w->key, "/");

    if (is_ipv4(s, &ip)) {
        write_made(w, CODE_IPV4, ip.bytes, 4, n);
    } else if (w->uid != NULL && str_has_prefix(s, w->uid)) {
        write_number(w, CODE_UID);
        str_append_n(&w->out, s + UUID_TEXT - 1, n - (UUID_TEXT - 1) + 1);
        w->whole += n == UUID_TEXT - 1 ? 0 : ALIGNED(n + 1);
    } else if (n == UUID_TEXT - 1 && uuid_read(s, uuid)) {
        write_made(w, CODE_UUID, uuid, sizeof uuid, n);
    } else if (n > 0 && n == space && w->key[n] == '/' && memcmp(s, w->key, n) == 0) {
        write_made(w, CODE_SPACE, "", 0, n);
    } else {
        return false;
    }
    return true;
}

static void write_text(struct writer *w, const char *s, bool as_word)
{
    if (s == NULL) {
        write_number(w, CODE_NULL);
        return;
    }
    uint32_t place = 0;
    const char *word = as_word ? kube_word(s) : s;
    if (word != NULL && kube_word_place(word, &place)) {
        write_number(w, CODE_OTHERS + ((uint64_t)place << 1));
        return;
    }
    if (write_short(w, s)) {
        return;
    }
    size_t size = strlen(s) + 1;
    size_t far = w->out.len < LOOK_BACK ? w->out.len : LOOK_BACK;
    const char *same = memmem(w->out.data, far, s, size);
    if (same != NULL) {
        write_number(w, CODE_OTHERS + ((uint64_t)(same - w->out.data) << 1 | 1));
        return;
    }
    write_number(w, CODE_HERE);
    str_append_n(&w->out, s, size);
}

static void write_struct(struct writer *w, const struct small_struct *t, const char *p);

static void write_items(struct writer *w, const struct small_member *m, const void *items,
                        uint32_t n)
{
    const struct tt_kv *kvs = items;
    const char *const *texts = items;
    const char *structs = items;

    write_number(w, n);
    for (uint32_t i = 0; i < n; i++) {
        if (m->type == SMALL_KVS) {
            write_text(w, kvs[i].key, false);
            write_text(w, kvs[i].value, false);
        } else if (m->type == SMALL_TEXTS) {
            write_text(w, texts[i], false);
        } else {
            write_struct(w, m->sub, structs + (size_t)i * m->sub->size);
        }
    }
}

static size_t item_size(const struct small_member *m)
{
    return m->type == SMALL_KVS     ? sizeof(struct tt_kv)
           : m->type == SMALL_TEXTS ? sizeof(const char *)
                                    : m->sub->size;
}

/* The value at `p`, of a type that is a number. */
static int64_t number_at(unsigned type, const char *p)
{
    int32_t i32 = 0;
    uint32_t u32 = 0;
    int64_t i64 = 0;

    switch (type) {
    case SMALL_I32:
        memcpy(&i32, p, sizeof i32);
        return i32;
    case SMALL_U32:
        memcpy(&u32, p, sizeof u32);
        return u32;
    default:
        memcpy(&i64, p, sizeof i64);
        return i64;
    }
}

static const void *pointer_at(const char *p)
{
    const void *to = NULL;
    memcpy(&to, p, sizeof to);
    return to;
}

static bool is_set(const struct small_member *m, const char *p)
{
    if (m->type == SMALL_TEXT || m->type == SMALL_WORD) {
        return pointer_at(p + m->at) != NULL;
    }
    return m->type >= SMALL_KVS ? number_at(SMALL_U32, p + m->n_at) > 0
                                : number_at(m->type, p + m->at) != 0;
}

static void write_member(struct writer *w, const struct small_member *m, const char *p)
{
    if (m->type == SMALL_TEXT || m->type == SMALL_WORD) {
        write_text(w, pointer_at(p + m->at), m->type == SMALL_WORD);
    } else if (m->type >= SMALL_KVS) {
        uint32_t n = (uint32_t)number_at(SMALL_U32, p + m->n_at);
        w->whole += ALIGNED(n * item_size(m));
        write_items(w, m, pointer_at(p + m->at), n);
    } else if (m->type == SMALL_TIME) {
        write_time(w, number_at(SMALL_TIME, p + m->at));
    } else {
        write_signed(w, number_at(m->type, p + m->at));
    }
}

static void write_struct(struct writer *w, const struct small_struct *t, const char *p)
{
    char bits[8] = {0};

    for (uint32_t i = 0; i < t->n; i++) {
        bits[i / 8] = (char)(bits[i / 8] | is_set(&t->members[i], p) << i % 8);
    }
    str_append_n(&w->out, bits, (t->n + 7) / 8);
    for (uint32_t i = 0; i < t->n; i++) {
        if (bits[i / 8] & 1 << i % 8) {
            write_member(w, &t->members[i], p);
        }
    }
}

/* Where the text begins. */
static size_t write_head(struct writer *w, const char *text)
{
    size_t at = w->out.len;
    str_append_n(&w->out, text, strlen(text) + 1);
    return at;
}

static struct kube_small *small_new(const struct kube_object *o, const struct small_struct *t,
                                    struct writer *w)
{
    uint8_t uuid[UUID_BYTES];
    bool has_uuid = strlen(o->uid) == UUID_TEXT - 1 && uuid_read(o->uid, uuid);
    w->whole = ALIGNED(sizeof *o) + ALIGNED(t->size) + (has_uuid ? ALIGNED(UUID_TEXT) : 0);
    w->key = o->key;
    w->uid = has_uuid ? o->uid : NULL;
    (void)write_head(w, o->key);
    size_t uid = has_uuid ? w->out.len : write_head(w, o->uid);
    if (has_uuid) {
        str_append_n(&w->out, uuid, sizeof uuid);
    }
    size_t version = write_head(w, o->resource_version);
    size_t service = write_head(w, o->kind == KUBE_SLICE ? o->slice->service : "");
    size_t structure = w->out.len;
    if (structure > UINT16_MAX) {
        return NULL;
    }
    write_struct(w, t, (const char *)o->service); /* the union: all members are pointers */
    if (w->out.len > BYTES_MAX || w->whole > BYTES_MAX) {
        return NULL;
    }
    struct kube_small *s = keep_alloc(offsetof(struct kube_small, bytes) + w->out.len);
    atomic_init(&s->refs, 1);
    s->n_bytes = (uint32_t)w->out.len;
    s->whole = (uint32_t)w->whole;
    s->uid = (uint16_t)uid;
    s->version = (uint16_t)version;
    s->service = (uint16_t)service;
    s->structure = (uint16_t)structure;
    s->kind = (uint8_t)o->kind;
    s->has_uuid = has_uuid;
    memcpy(s->bytes, w->out.data, w->out.len);
    return s;
}

struct kube_small *kube_small_of(const struct kube_object *o)
{
    const struct small_struct *t = struct_of(o->kind);
    if (t == NULL || o->unreadable != NULL || o->base != NULL) {
        return NULL;
    }
    if (o->small != NULL) {
        return kube_small_ref(o->small);
    }
    struct writer w = {0};
    str_buf_reserve(&w.out, o->bytes);
    struct kube_small *s = small_new(o, t, &w);
    str_buf_done(&w.out);
    return s;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reader {
    const struct kube_small *s;
    const char *uid;
    const unsigned char *at;
    char *room; /* where the next structures go */
};

static uint64_t read_number(struct reader *r)
{
    uint64_t n = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned char c = *r->at++;
        n |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            return n;
        }
    }
}

static int64_t read_signed(struct reader *r)
{
    uint64_t n = read_number(r);
    return (int64_t)((n >> 1) ^ (n & 1 ? UINT64_MAX : 0));
}

static int64_t read_time(struct reader *r)
{
    uint64_t n = read_number(r);
    return n == 1 ? read_signed(r) : (int64_t)(n >> 1) * 1000000;
}

/* A text of n bytes that the caller fills in. */
static char *make_text(struct reader *r, size_t n)
{
    char *text = r->room;
    r->room += ALIGNED(n + 1); /* zero so far */
    return text;
}

static const char *read_ipv4(struct reader *r)
{
    struct ip_addr ip = {.len = 4};
    char text[IP_TEXT_MAX];
    memcpy(ip.bytes, r->at, 4);
    r->at += 4;
    ip_format(&ip, text);
    size_t n = strlen(text);
    return memcpy(make_text(r, n), text, n);
}

static const char *read_uuid(struct reader *r)
{
    char *text = make_text(r, UUID_TEXT - 1);
    uuid_format(r->at, text);
    r->at += UUID_BYTES;
    return text;
}

static const char *read_uid(struct reader *r)
{
    const char *rest = (const char *)r->at;
    size_t n = strlen(rest);
    r->at += n + 1;
    if (n == 0) {
        return r->uid;
    }
    char *text = make_text(r, UUID_TEXT - 1 + n);
    memcpy(text, r->uid, UUID_TEXT - 1);
    memcpy(text + UUID_TEXT - 1, rest, n);
    return text;
}

static const char *read_space(struct reader *r)
{
    size_t n = strcspn(kube_small_key(r->s), "/");
    return memcpy(make_text(r, n), kube_small_key(r->s), n);
}

static const char *read_text(struct reader *r)
{
    uint64_t code = read_number(r);
    if (code == CODE_NULL) {
        return NULL;
    }
    if (code == CODE_HERE) {
        const char *here = (const char *)r->at;
        r->at += strlen(here) + 1;
        return here;
    }
    if (code < CODE_OTHERS) {
        return code == CODE_IPV4   ? read_ipv4(r)
               : code == CODE_UUID ? read_uuid(r)
               : code == CODE_UID  ? read_uid(r)
                                   : read_space(r);
    }
    code -= CODE_OTHERS;
    return code & 1 ? r->s->bytes + (code >> 1) : kube_word_at((uint32_t)(code >> 1));
}

static void read_struct(struct reader *r, const struct small_struct *t, char *p);

static void read_items(struct reader *r, const struct small_member *m, char *p)
{
    uint32_t n = (uint32_t)read_number(r);
    char *items = r->room;
    struct tt_kv *kvs = (struct tt_kv *)(void *)items;
    const char **texts = (const char **)(void *)items;

    r->room += ALIGNED(n * item_size(m));
    memcpy(p + m->n_at, &n, sizeof n);
    memcpy(p + m->at, &items, sizeof items);
    for (uint32_t i = 0; i < n; i++) {
        if (m->type == SMALL_KVS) {
            kvs[i].key = read_text(r);
            kvs[i].value = read_text(r);
        } else if (m->type == SMALL_TEXTS) {
            texts[i] = read_text(r);
        } else {
            read_struct(r, m->sub, items + (size_t)i * m->sub->size);
        }
    }
}

static void read_member(struct reader *r, const struct small_member *m, char *p)
{
    if (m->type == SMALL_TEXT || m->type == SMALL_WORD) {
        const char *text = read_text(r);
        memcpy(p + m->at, &text, sizeof text);
    } else if (m->type >= SMALL_KVS) {
        read_items(r, m, p);
    } else if (m->type == SMALL_I32 || m->type == SMALL_U32) {
        uint32_t n = (uint32_t)read_signed(r);
        memcpy(p + m->at, &n, sizeof n);
    } else {
        int64_t n = m->type == SMALL_TIME ? read_time(r) : read_signed(r);
        memcpy(p + m->at, &n, sizeof n);
    }
}

static void read_struct(struct reader *r, const struct small_struct *t, char *p)
{
    const unsigned char *bits = r->at;

    r->at += (t->n + 7) / 8;
    for (uint32_t i = 0; i < t->n; i++) {
        if (bits[i / 8] & 1 << i % 8) {
            read_member(r, &t->members[i], p);
        }
    }
}

struct kube_object *kube_small_read(struct kube_small *s)
{
    const struct small_struct *t = struct_of((enum kube_kind)s->kind);
    char *block = xcalloc(1, s->whole);
    struct kube_object *o = (struct kube_object *)(void *)block;
    char *p = block + ALIGNED(sizeof *o);
    size_t size = t->size;
    struct reader r = {
        .s = s, .at = (const unsigned char *)s->bytes + s->structure, .room = p + ALIGNED(size)};

    atomic_init(&o->refs, 1);
    o->kind = (enum kube_kind)s->kind;
    o->bytes = s->whole;
    o->key = kube_small_key(s);
    if (s->has_uuid) {
        uuid_format((const uint8_t *)s->bytes + s->uid, make_text(&r, UUID_TEXT - 1));
    }
    r.uid = s->has_uuid ? p + ALIGNED(size) : s->bytes + s->uid;
    o->uid = r.uid;
    o->resource_version = kube_small_version(s);
    o->small = kube_small_ref(s);
    o->service = (const struct tt_service *)(void *)p;
    memcpy(p, &size, sizeof size); /* the first member of both structures */
    read_struct(&r, t, p);
    assert(r.at == (const unsigned char *)s->bytes + s->n_bytes && r.room == block + s->whole);
    return o;
}

/* ---- the rest -------------------------------------------------------------------------------- */

struct kube_small *kube_small_ref(struct kube_small *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void kube_small_unref(struct kube_small *s)
{
    if (s != NULL && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) {
        keep_free(s, kube_small_bytes(s));
    }
}

const char *kube_small_key(const struct kube_small *s)
{
    return s->bytes;
}

const char *kube_small_uid(const struct kube_small *s, char room[UUID_TEXT])
{
    if (!s->has_uuid) {
        return s->bytes + s->uid;
    }
    uuid_format((const uint8_t *)s->bytes + s->uid, room);
    return room;
}

const char *kube_small_version(const struct kube_small *s)
{
    return s->bytes + s->version;
}

const char *kube_small_service(const struct kube_small *s)
{
    return s->bytes + s->service;
}

size_t kube_small_bytes(const struct kube_small *s)
{
    return offsetof(struct kube_small, bytes) + s->n_bytes;
}
