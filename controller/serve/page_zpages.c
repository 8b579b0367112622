/* SPDX-License-Identifier: Apache-2.0 */
/* page_zpages.c: /statusz and /flagz, in the text form of Kubernetes 1.36 (component-base/zpages).
 *
 * Upstream picks one of four delimiters by chance, so that clients do not rely on the text; here it
 * is always the same, because trimtab's texts are stable.  Values of secret flags are never
 * shown. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller/serve/pages.h"

#define COMPONENT "cloud-controller-manager"
#define WARNING                                                                                    \
    "Warning: This endpoint is not meant to be machine parseable, has no formatting "              \
    "compatibility guarantees and is for debugging purposes only.\n"
#define KUBERNETES "1.36" /* whose behaviour this program has */

/* False, and 406: it wants something else than text. */
static bool wants_text(const struct page_request *req, struct page_answer *ret)
{
    size_t n = 0;
    char **items = str_split(req->a, req->accept, ',', &n);

    if (str_is_empty(req->accept)) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        const char *type = str_trim(req->a, str_split(req->a, items[i], ';', &(size_t){0})[0]);
        if (str_eq_nocase(type, "text/plain") || str_eq_nocase(type, "text/*") ||
            str_eq(type, "*/*")) {
            return true;
        }
    }
    page_fail(ret, 406, "only text/plain is served here");
    return false;
}

/* Go's time.UnixDate. */
static void append_date(struct str_buf *b, int64_t wall_us)
{
    time_t s = (time_t)(wall_us / 1000000);
    struct tm tm;
    char text[64];

    (void)gmtime_r(&s, &tm);
    (void)strftime(text, sizeof(text), "%a %b %e %H:%M:%S UTC %Y", &tm);
    str_append(b, text);
}

void page_statusz(void *arg, const struct page_request *req, struct page_answer *ret)
{
    const struct pages_args *p = arg;
    struct page pages[PAGES_MAX];
    int64_t up_s = (clock_wall_us(p->clock) - p->started_us) / 1000000;
    struct str_buf *b = &ret->body;

    if (!wants_text(req, ret)) {
        return;
    }
    str_append(b, "\n" COMPONENT " statusz\n" WARNING "\nStarted: ");
    append_date(b, p->started_us);
    str_appendf(b, "\nUp: %d hr %02d min %02d sec\n", (int)(up_s / 3600), (int)(up_s / 60 % 60),
                (int)(up_s % 60));
    str_append(b, "Go version: none (trimtab is written in C; compiler " __VERSION__ ")\n"
                  "Binary version: " TRIMTAB_VERSION "\nEmulation version: " KUBERNETES "\nPaths:");
    size_t n = pages_fill(p, pages, PAGES_MAX);
    for (size_t i = 0; i < n; i++) {
        if (!pages[i].unlisted) {
            str_appendf(b, " %s", pages[i].path);
        }
    }
    str_append_c(b, '\n');
}

static int cmp_values(const void *a, const void *b)
{
    const struct option_value *const *x = a;
    const struct option_value *const *y = b;

    return strcmp((*x)->def->name, (*y)->def->name);
}

void page_flagz(void *arg, const struct page_request *req, struct page_answer *ret)
{
    const struct options *o = ((const struct pages_args *)arg)->options;
    const struct option_value **sorted =
        ARENA_ARRAY(req->a, const struct option_value *, o->n_values);

    if (!wants_text(req, ret)) {
        return;
    }
    for (size_t i = 0; i < o->n_values; i++) {
        sorted[i] = &o->values[i];
    }
    if (o->n_values > 0) {
        qsort(sorted, o->n_values, sizeof(sorted[0]), cmp_values);
    }
    str_append(&ret->body, "\n" COMPONENT " flags\n" WARNING "\n");
    for (size_t i = 0; i < o->n_values; i++) {
        const struct option_value *v = sorted[i];
        str_appendf(&ret->body, "%s=%s\n", v->def->name, v->def->secret ? "***" : v->text);
    }
}
