/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_kube_cutter.c: the cutter of lists and watch streams.
 *
 * The first byte chooses list or stream and the size of chunks.  What holds for every input: the
 * outcome does not depend on the chunks; nothing of a refused document is kept past its caps; an
 * item, cut once more, is itself. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "common/base/str.h"
#include "common/data/json_splitter.h"
#include "controller/kube/store/object.h"

struct outcome {
    struct str_buf items;
    bool again; /* each item is cut once more */
    int rc;
    bool boundary;
};

static bool take(void *arg, const struct cutter_item *item);

static struct json_splitter *cutter(enum cutter_mode mode, const char *const *members,
                                    struct outcome *out)
{
    static const char *const head[] = {"kind", "type", "metadata.resourceVersion", NULL};
    const struct cutter_args args = {.mode = mode,
                                     .members = members,
                                     .prefix = mode == CUTTER_STREAM ? "object" : NULL,
                                     .more_members = head,
                                     .on_item = take,
                                     .arg = out};
    return json_splitter_new(&args);
}

static void feed(struct outcome *out, enum cutter_mode mode, const char *const *members,
                 const char *text, size_t n, size_t chunk)
{
    struct json_splitter *c = cutter(mode, members, out);
    struct err err = ERR_INIT;
    for (size_t i = 0; out->rc == ERR_OK && i < n; i += chunk) {
        out->rc = json_splitter_feed(c, text + i, n - i < chunk ? n - i : chunk, &err);
    }
    FUZZ_CHECK(out->rc == ERR_OK || err.message[0] != '\0');
    out->boundary = json_splitter_at_boundary(c);
    json_splitter_free(c);
}

/* A second pass keeps the same. */
static void check_again(const char *text, size_t n)
{
    const char *const members[] = {"metadata", "spec", "status", NULL};
    struct outcome once = {0};
    struct outcome twice = {0};
    feed(&once, CUTTER_STREAM, members, text, n, n + 1);
    if (once.rc == ERR_OK && once.items.len > 0) {
        feed(&twice, CUTTER_STREAM, members, once.items.data, once.items.len, 1);
        FUZZ_CHECK(twice.rc == ERR_OK && once.items.len == twice.items.len);
        FUZZ_CHECK(memcmp(once.items.data, twice.items.data, once.items.len) == 0);
    }
    str_buf_done(&once.items);
    str_buf_done(&twice.items);
}

static bool take(void *arg, const struct cutter_item *item)
{
    struct outcome *out = arg;
    FUZZ_CHECK(strlen(item->text) == item->n && item->n <= CUTTER_KEPT_MAX);
    str_append_n(&out->items, item->text, item->n);
    str_appendf(&out->items, "%s\n", str_nonnull(item->broken));
    if (out->again) {
        check_again(item->text, item->n);
    }
    return true;
}

FUZZ_TARGET(kube_cutter, const uint8_t *data, size_t size)
{
    if (size < 1 || size > 1 << 16) {
        return 0;
    }
    const char *text = (const char *)data + 1;
    enum cutter_mode mode = data[0] & 1 ? CUTTER_STREAM : CUTTER_LIST;
    const char *const *members = kube_kind_members(data[0] / 2 % KUBE_KIND_MAX);
    struct outcome whole = {.again = true};
    struct outcome parts = {0};
    feed(&whole, mode, members, text, size - 1, size);
    feed(&parts, mode, members, text, size - 1, (size_t)data[0] % 7 + 1);
    FUZZ_CHECK(whole.rc == parts.rc && whole.boundary == parts.boundary);
    FUZZ_CHECK(str_eq(str_buf_text(&whole.items), str_buf_text(&parts.items)));
    str_buf_done(&whole.items);
    str_buf_done(&parts.items);
    return 0;
}
