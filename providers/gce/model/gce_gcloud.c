/* SPDX-License-Identifier: Apache-2.0 */
/* gce_gcloud.c: see gce_gcloud.h. */
#include "providers/gce/model/gce_gcloud.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_links.h"

#include <stdlib.h>
#include <string.h>

static int compare_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* "--flag a,b,c", sorted with duplicates kept; nothing for an empty list. */
static void append_list(struct arena *a, struct str_buf *b, const char *flag,
                        const char *const *items, size_t n)
{
    if (n == 0) {
        return;
    }
    const char **sorted = arena_memdup(a, items, n * sizeof(*items));
    qsort(sorted, n, sizeof(*sorted), compare_text);
    str_appendf(b, " %s %s", flag, str_join(a, sorted, n, ","));
}

static void append_allows(struct arena *a, struct str_buf *b, const char *flag,
                          const struct gce_allows *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        n += w->items[i].ports.n + 1;
    }
    const char **out = ARENA_ARRAY(a, const char *, n);
    size_t k = 0;
    for (size_t i = 0; i < w->n; i++) {
        const struct gce_allow *e = &w->items[i];
        for (size_t p = 0; p < e->ports.n; p++) {
            out[k++] = arena_printf(a, "%s:%s", e->protocol, e->ports.items[p]);
        }
        if (e->ports.n == 0) {
            out[k++] = e->protocol;
        }
    }
    append_list(a, b, flag, out, k);
}

static void append_args(struct arena *a, struct str_buf *b, const struct gce_firewall *f,
                        const char *project)
{
    str_append(b, " --description "); /* always, even empty */
    str_append_go_quoted(b, str_nonnull(f->description));
    append_allows(a, b, "--allow", &f->allowed);
    append_allows(a, b, "--deny", &f->denied);
    append_list(a, b, "--source-ranges", f->sources.items, f->sources.n);
    append_list(a, b, "--destination-ranges", f->destinations.items, f->destinations.n);
    append_list(a, b, "--target-tags", f->tags.items, f->tags.n);
    if (f->priority != 0) {
        str_appendf(b, " --priority %d", f->priority);
    }
    if (!str_is_empty(f->direction)) {
        str_appendf(b, " --direction %s", f->direction);
    }
    if (f->disabled) {
        str_append(b, " --disabled");
    }
    str_appendf(b, " --project %s", project);
}

char *gce_gcloud_firewall(struct arena *a, enum gce_gcloud_verb verb, const struct gce_firewall *f,
                          const char *project)
{
    static const char *const verbs[] = {"create", "update", "delete"};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "gcloud compute firewall-rules %s %s", verbs[verb], f->name);
    if (verb == GCE_GCLOUD_DELETE) {
        str_appendf(&b, " --project %s", project);
        return str_buf_to_arena(&b, a);
    }
    if (verb == GCE_GCLOUD_CREATE) {
        str_appendf(&b, " --network %s", gce_link_last(f->network));
    }
    append_args(a, &b, f, project);
    return str_buf_to_arena(&b, a);
}

char *gce_gcloud_event(struct arena *a, const char *command)
{
    return arena_printf(a, "Firewall change required by security admin: `%s`", command);
}
