/* SPDX-License-Identifier: Apache-2.0 */
/* gce_pack.c: see gce_pack.h. */
#include "providers/gce/cache/gce_pack.h"

#include "common/base/arena.h"

#include <stdlib.h>
#include <string.h>

#define MATCH_MIN  5u      /* a shorter copy takes as many bytes as what it stands for */
#define WINDOW_MAX 65000u  /* larger texts are kept as they are */
#define HEADS      2048u   /* places in the index of four-byte sequences */
#define CHAIN_MAX  16u     /* candidates that are looked at for a copy */
#define NOWHERE    0xffffu /* no place in the window */

struct gce_model {
    unsigned refs;
    uint32_t n;
    char text[];
};

static struct gce_model *model_new(const char *text, size_t n)
{
    struct gce_model *m = xmalloc(sizeof(*m) + n);
    m->refs = 1;
    m->n = (uint32_t)n;
    memcpy(m->text, text, n);
    return m;
}

static void model_unref(struct gce_model *m)
{
    if (m != NULL && --m->refs == 0) {
        free(m);
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void put_number(struct str_buf *b, size_t v)
{
    for (; v >= 0x80; v >>= 7) {
        str_append_c(b, (char)(v | 0x80));
    }
    str_append_c(b, (char)v);
}

static size_t take_number(const unsigned char **at, const unsigned char *end)
{
    size_t v = 0;
    for (unsigned shift = 0; *at < end && shift < 32; shift += 7) {
        unsigned char c = *(*at)++;
        v |= (size_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            break;
        }
    }
    return v;
}

/* ---- packing --------------------------------------------------------------------------------- */

/* Model, key and text one after the other, and where each four-byte sequence was seen. */
struct window {
    const char *at;
    size_t n;
    uint16_t heads[HEADS];
    uint16_t *before; /* the place before with the same hash */
};

static unsigned hash_of(const char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return (v * 2654435761u) >> 21;
}

static void index_place(struct window *w, size_t i)
{
    if (i + 4 <= w->n) {
        unsigned h = hash_of(w->at + i);
        w->before[i] = w->heads[h];
        w->heads[h] = (uint16_t)i;
    }
}

static size_t same_bytes(const struct window *w, size_t a, size_t b)
{
    size_t n = 0;
    while (b + n < w->n && w->at[a + n] == w->at[b + n]) {
        n++;
    }
    return n;
}

/* The longest piece before `i` that is the same as what begins there. */
static size_t longest(const struct window *w, size_t i, size_t *ret_from)
{
    size_t best = 0;
    uint16_t from = i + 4 <= w->n ? w->heads[hash_of(w->at + i)] : NOWHERE;
    for (unsigned k = 0; k < CHAIN_MAX && from != NOWHERE; k++, from = w->before[from]) {
        size_t n = same_bytes(w, from, i);
        if (n > best) {
            best = n;
            *ret_from = from;
        }
    }
    return best;
}

static void put_new(struct str_buf *out, const struct window *w, size_t from, size_t to)
{
    if (to > from) {
        put_number(out, (to - from) * 2);
        str_append_n(out, w->at + from, to - from);
    }
}

static void pack_window(struct window *w, size_t start, struct str_buf *out)
{
    size_t fresh = start; /* from here on nothing was written yet */
    for (size_t i = 0; i < start; i++) {
        index_place(w, i);
    }
    for (size_t i = start; i < w->n;) {
        size_t from = 0;
        size_t n = longest(w, i, &from);
        size_t step = n >= MATCH_MIN ? n : 1;
        if (n >= MATCH_MIN) {
            put_new(out, w, fresh, i);
            put_number(out, n * 2 + 1);
            put_number(out, from);
            fresh = i + n;
        }
        for (size_t k = 0; k < step; k++) {
            index_place(w, i + k);
        }
        i += step;
    }
    put_new(out, w, fresh, w->n);
}

static void pack_against(const struct gce_model *m, const char *key, const char *text, size_t n,
                         struct str_buf *out)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append_n(&b, m->text, m->n);
    str_append(&b, key);
    size_t start = b.len;
    str_append_n(&b, text, n);
    struct window w = {.at = b.data, .n = b.len};
    memset(w.heads, 0xff, sizeof(w.heads));
    w.before = xmalloc(b.len * sizeof(*w.before));
    str_buf_reset(out);
    pack_window(&w, start, out);
    free(w.before);
}

/* ---- models ---------------------------------------------------------------------------------- */

static void to_front(struct gce_packer *k, size_t i)
{
    struct gce_model *m = k->models[i];
    memmove(k->models + 1, k->models, i * sizeof(k->models[0]));
    k->models[0] = m;
}

static void add_model(struct gce_packer *k, const char *text, size_t n)
{
    if (k->n == GCE_PACK_MODELS) {
        model_unref(k->models[--k->n]);
    }
    k->models[k->n++] = model_new(text, n);
    to_front(k, k->n - 1);
}

/* Packs by the first model that fits well, else by the best; where none fits, the text is
 * a new model. */
static void choose(struct gce_packer *k, const char *key, const char *text, size_t n,
                   struct str_buf *best)
{
    _cleanup_(str_buf_done) struct str_buf one = STR_BUF_INIT;
    size_t best_i = 0;
    for (size_t i = 0; i < k->n; i++) {
        pack_against(k->models[i], key, text, n, &one);
        if (i == 0 || one.len < best->len) {
            best_i = i;
            str_buf_reset(best);
            str_append_n(best, one.data, one.len);
        }
        if (one.len <= n / 5) {
            break;
        }
    }
    if (k->n == 0 || best->len > n / 3) {
        add_model(k, text, n);
        pack_against(k->models[0], key, text, n, best);
    } else {
        to_front(k, best_i);
    }
}

void gce_pack(struct gce_packer *k, const char *key, const char *text, size_t n,
              struct gce_packed *ret)
{
    if (2 * n + strlen(key) >= WINDOW_MAX / 2) {
        *ret = (struct gce_packed){.bytes = xmalloc(n), .n_bytes = (uint32_t)n};
        memcpy(ret->bytes, text, n);
        ret->n_text = ret->n_bytes;
        return;
    }
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    choose(k, key, text, n, &b);
    *ret = (struct gce_packed){.model = k->models[0],
                               .bytes = xmalloc(b.len),
                               .n_bytes = (uint32_t)b.len,
                               .n_text = (uint32_t)n};
    memcpy(ret->bytes, b.data, b.len);
    ret->model->refs++;
}

void gce_packer_done(struct gce_packer *k)
{
    while (k->n > 0) {
        model_unref(k->models[--k->n]);
    }
}

void gce_packed_done(struct gce_packed *p)
{
    model_unref(p->model);
    free(p->bytes);
    *p = (struct gce_packed){0};
}

/* ---- unpacking ------------------------------------------------------------------------------- */

static void unpack_into(const struct gce_packed *p, struct str_buf *window)
{
    const unsigned char *at = p->bytes;
    const unsigned char *end = at + p->n_bytes;
    str_buf_reserve(window, p->n_text);
    while (at < end) {
        size_t head = take_number(&at, end);
        size_t n = head / 2;
        if (head % 2 == 0) {
            str_append_n(window, (const char *)at, n);
            at += n;
            continue;
        }
        size_t from = take_number(&at, end);
        if (from + n <= window->len) {
            str_append_n(window, window->data + from, n); /* there is room: nothing moves */
            continue;
        }
        for (size_t i = 0; i < n; i++) { /* byte by byte: the piece overlaps what it makes */
            str_append_c(window, window->data[from + i]);
        }
    }
}

void gce_unpack(const struct gce_packed *p, const char *key, struct str_buf *out)
{
    if (p->model == NULL) {
        str_append_n(out, (const char *)p->bytes, p->n_bytes);
        return;
    }
    _cleanup_(str_buf_done) struct str_buf window = STR_BUF_INIT;
    str_buf_reserve(&window, p->model->n + strlen(key) + p->n_text);
    str_append_n(&window, p->model->text, p->model->n);
    str_append(&window, key);
    size_t start = window.len;
    unpack_into(p, &window);
    str_append_n(out, window.data + start, window.len - start);
}
