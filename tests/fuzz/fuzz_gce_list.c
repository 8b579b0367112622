/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_gce_list.c: the pages of Google's lists, cut into items and kept by the snapshot.
 *
 * The first byte chooses a plain or an aggregated list and the size of chunks.  What holds for
 * every input: the items and what is around them do not depend on the chunks; packed text comes
 * back as it was, whatever was packed before it; what a snapshot took from a list is there by its
 * name afterwards. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/str.h"
#include "providers/gce/cache/gce_pack.h"
#include "providers/gce/cache/gce_snapshot.h"
#include "tests/support/clock_fake.h"

struct outcome {
    struct str_buf items;
    struct gce_packer packer;
    struct gce_fill *fill; /* or NULL */
    bool fits;
};

static void check_pack(struct outcome *out, const char *text, size_t n)
{
    struct gce_packed p;
    struct str_buf b = STR_BUF_INIT;
    gce_pack(&out->packer, "key", text, n, &p);
    gce_unpack(&p, "key", &b);
    FUZZ_CHECK(b.len == n && memcmp(b.data, text, n) == 0);
    str_buf_done(&b);
    gce_packed_done(&p);
}

static void take(void *arg, const char *text, size_t n)
{
    struct outcome *out = arg;
    FUZZ_CHECK(n > 0);
    str_append_n(&out->items, text, n);
    str_append_c(&out->items, '\n');
    if (out->fill != NULL) {
        check_pack(out, text, n);
        gce_fill_item(out->fill, text, n);
    }
}

static void feed(struct outcome *out, bool aggregated, const char *text, size_t n, size_t chunk,
                 struct str_buf *around)
{
    struct gce_splitter c;
    gce_splitter_init(&c, take, out);
    gce_splitter_reset(&c);
    c.scoped = aggregated ? "networkEndpointGroups" : NULL;
    out->fits = true;
    for (size_t i = 0; out->fits && i < n; i += chunk) {
        out->fits = gce_splitter_feed(&c, text + i, n - i < chunk ? n - i : chunk);
    }
    str_append(around, gce_splitter_rest(&c));
    gce_splitter_done(&c);
}

/* The name of the last item that the list brought is known, unless the list is none. */
static void check_known(struct gce_snapshot *s, struct arena *a, bool aggregated, const char *item,
                        size_t n)
{
    struct json_object *o = NULL;
    struct json_object *kept = NULL;
    if (json_parse_arena(a, item, n, NULL, &o, NULL) != ERR_OK) {
        return;
    }
    const char *zone = str_nonnull(json_str(o, "zone"));
    const char *slash = strrchr(zone, '/');
    const struct gce_key key = {.c = aggregated ? GCE_NEGS : GCE_BACKENDS,
                                .zone = aggregated ? (slash != NULL ? slash + 1 : zone) : NULL,
                                .name = json_str(o, "name")};
    FUZZ_CHECK(gce_snapshot_get(s, &key, GCE_SNAPSHOT_ANY, a, &kept) == GCE_PRESENT);
    FUZZ_CHECK(str_eq(json_str(kept, "name"), key.name));
}

static void check_snapshot(struct outcome *whole, struct gce_snapshot *s, bool aggregated)
{
    bool good = !gce_fill_is_bad(whole->fill) && !gce_fill_is_over(whole->fill);
    if (!good || !whole->fits) {
        gce_fill_drop(whole->fill);
        return;
    }
    gce_fill_commit(whole->fill);
    struct arena *a = arena_new();
    const char *text = str_buf_text(&whole->items);
    const char *last = text + (whole->items.len > 0 ? whole->items.len - 1 : 0);
    if (last > text && memchr(text, '\n', (size_t)(last - text)) == NULL) { /* one item */
        check_known(s, a, aggregated, text, (size_t)(last - text));
    }
    arena_free(a);
}

FUZZ_TARGET(gce_list, const uint8_t *data, size_t size)
{
    if (size < 1 || size > 1 << 16) {
        return 0;
    }
    bool aggregated = (data[0] & 1) != 0;
    const char *text = (const char *)data + 1;
    struct clock *clock = clock_fake_new(1000, 0);
    struct gce_snapshot *s = gce_snapshot_new(clock);
    struct outcome whole = {.fill = gce_fill_begin(s, aggregated ? GCE_NEGS : GCE_BACKENDS)};
    struct outcome parts = {0};
    struct str_buf around[2] = {STR_BUF_INIT, STR_BUF_INIT};
    feed(&whole, aggregated, text, size - 1, size, &around[0]);
    feed(&parts, aggregated, text, size - 1, (size_t)data[0] % 7 + 1, &around[1]);
    FUZZ_CHECK(whole.fits == parts.fits);
    FUZZ_CHECK(str_eq(str_buf_text(&around[0]), str_buf_text(&around[1])));
    FUZZ_CHECK(
        whole.items.len == parts.items.len &&
        (whole.items.len == 0 || memcmp(whole.items.data, parts.items.data, whole.items.len) == 0));
    check_snapshot(&whole, s, aggregated);
    gce_packer_done(&whole.packer);
    str_buf_done(&whole.items);
    str_buf_done(&parts.items);
    str_buf_done(&around[0]);
    str_buf_done(&around[1]);
    gce_snapshot_free(s);
    clock_fake_free(clock);
    return 0;
}
