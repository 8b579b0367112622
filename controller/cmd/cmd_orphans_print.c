/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_orphans_print.c: the table of orphans, and the same as JSON. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/timefmt.h"
#include "controller/base/term.h"
#include "controller/cmd/cmd_orphans.h"

#define SECOND_US INT64_C(1000000)

const char *orphans_age(struct arena *a, int64_t created_us, int64_t now_us)
{
    static const struct {
        int64_t s;
        char unit;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}};
    int64_t s = (now_us - created_us) / SECOND_US;

    if (created_us == 0) {
        return "";
    }
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (s >= 2 * units[i].s) {
            return arena_printf(a, "%lld%c", (long long)(s / units[i].s), units[i].unit);
        }
    }
    return arena_printf(a, "%llds", (long long)(s < 0 ? 0 : s));
}

static bool is_billed(const struct orphan *item)
{
    return str_has_prefix(item->cost, "billed");
}

struct sums {
    size_t billed, unsure, by_hand;
};

static struct sums sums_of(const struct orphans *o)
{
    struct sums n = {0};

    for (size_t i = 0; i < o->n; i++) {
        n.billed += is_billed(&o->items[i]);
        n.unsure += o->items[i].unsure;
        n.by_hand += o->items[i].remove_as == NULL;
    }
    return n;
}

/* ---- text ------------------------------------------------------------------------------------ */

struct widths {
    int kind, name, age;
};

static struct widths widths_of(const struct orphans *o, int64_t now_us)
{
    struct widths w = {0};

    for (size_t i = 0; i < o->n; i++) {
        const struct orphan *item = &o->items[i];
        int kind = (int)strlen(item->kind);
        int name = (int)(strlen(item->name) + strlen(item->place)) + (*item->place != '\0');
        int age = (int)strlen(orphans_age(o->s.a, item->created_us, now_us));
        w.kind = kind > w.kind ? kind : w.kind;
        w.name = name > w.name ? name : w.name;
        w.age = age > w.age ? age : w.age;
    }
    return w;
}

/* How wide the text may be. */
static size_t columns(void)
{
    const struct str_buf b = {.columns = term_of(STDOUT_FILENO, false).columns};
    return str_buf_columns(&b);
}

/* Without blanks at the end. */
static void put_line(const char *text)
{
    size_t n = strlen(text);

    while (n > 0 && text[n - 1] == ' ') {
        n--;
    }
    printf("%.*s\n", (int)n, text);
}

/* A sentence, as wide as the terminal; `lead` blanks before it. */
static void put_text(size_t lead, const char *text)
{
    _cleanup_(str_buf_done) struct str_buf b = {.columns = columns()};

    str_appendf(&b, "%*s", (int)lead, "");
    str_append_wrapped(&b, text, lead, lead > 0 ? lead + 2 : 0);
    puts(str_buf_text(&b));
}

/* A command that a person pastes into a shell: lines of a terminal that is too narrow end
 * in a backslash. */
static void put_command(struct arena *a, size_t lead, const char *text)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    bool is_terminal = term_of(STDOUT_FILENO, false).columns > 0;

    b.columns = is_terminal ? columns() - 2 : SIZE_MAX;
    str_appendf(&b, "%*s", (int)lead, "");
    str_append_wrapped(&b, text, lead, lead + 4);
    puts(str_replace(a, str_buf_text(&b), "\n", " \\\n"));
}

/* Kind, name and age, each on a line where they do not fit on one. */
static void put_start(const struct orphan *item, const char *start, const char *name,
                      const char *age)
{
    if (str_columns(start) <= columns()) {
        put_line(start);
        return;
    }
    printf("  %c %s\n      %s\n", item->chosen ? '-' : '!', item->kind, name);
    if (*age != '\0') {
        printf("      %s\n", age);
    }
}

/* Names, places and owners come from the cloud. */
static struct orphan clean_item(struct arena *a, const struct orphan *item)
{
    struct orphan out = *item;

    out.kind = str_clean(a, item->kind);
    out.name = str_clean(a, item->name);
    out.place = str_clean(a, item->place);
    out.owner = str_clean(a, item->owner);
    out.cost = str_clean(a, item->cost);
    out.command = str_clean(a, item->command);
    return out;
}

static void print_item(const struct orphans *o, const struct orphan *item, const struct widths *w,
                       int64_t now_us)
{
    struct arena *a = o->s.a;
    const char *name =
        *item->place == '\0' ? item->name : arena_printf(a, "%s %s", item->name, item->place);
    const char *age = orphans_age(a, item->created_us, now_us);
    const char *start = arena_printf(a, "  %c %-*s  %-*s  %*s", item->chosen ? '-' : '!', w->kind,
                                     item->kind, w->name, name, w->age, age);

    if (strlen(start) + 2 + strlen(item->cost) <= columns()) {
        put_line(arena_printf(a, "%s  %s", start, item->cost));
    } else {
        put_start(item, start, name, age);
        put_text(6, item->cost);
    }
    if (item->unsure) {
        put_text(6, "may belong to another cluster: nothing identifies its owner");
    }
    if (item->remove_as == NULL && *item->command != '\0') {
        put_command(a, 6, arena_printf(a, "by hand: %s", item->command));
    }
}

static void print_head(const struct orphan *item)
{
    if (*item->owner == '\0') {
        printf("Service unknown, or of many\n");
    } else {
        printf("Service %s\n", item->owner);
    }
}

static void print_sum(const struct orphans *o)
{
    const struct sums n = sums_of(o);

    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    str_appendf(&b, "Orphans: %zu, of which %zu billed", o->n, n.billed);
    if (n.unsure > 0) {
        str_appendf(&b, ", %zu perhaps another cluster's", n.unsure);
    }
    if (n.by_hand > 0) {
        str_appendf(&b, ", %zu to be deleted by hand", n.by_hand);
    }
    if (o->tried) {
        str_appendf(&b, ". %zu of %zu deleted.", o->n_deleted, o->n_chosen);
    } else if (o->s.args.delete) {
        str_appendf(&b, ". %zu will be deleted.", o->n_chosen);
    } else {
        str_append(&b, ". Nothing has been changed.");
    }
    puts("");
    put_text(0, str_buf_text(&b));
    if (!o->tried && !o->s.args.delete &&o->n_chosen > 0) {
        printf("With --delete %zu of them are deleted.\n", o->n_chosen);
    }
}

/* Ends a sentence: could a part of the cloud not be read?  A warning has told which. */
static const char *among(const struct orphans *o)
{
    for (size_t i = o->first_finding; i < o->s.n_findings; i++) {
        if (o->s.findings[i].severity == TT_LOG_WARNING) {
            return " among what could be read; the warnings say what could not.";
        }
    }
    return "";
}

/* There is none. */
static void print_none(const struct orphans *o)
{
    const char *unknown = o->ns == NULL ? NULL : orphans_unknown_ns(o);
    const char *end = str_is_empty(among(o)) ? "." : among(o);

    if (o->tried) {
        printf("No orphans are left%s %zu deleted.\n", str_is_empty(among(o)) ? ":" : among(o),
               o->n_deleted);
    } else if (o->n_services > 0) { /* an orphan that is named is listed: n is not 0 then */
        printf("No orphans of %s%s\n",
               str_clean(o->s.a,
                         str_join(o->s.a, (const char *const *)o->services, o->n_services, ", ")),
               end);
    } else if (unknown != NULL) {
        printf("There is no Service of the namespace %s in the cluster, and nothing of one in "
               "the cloud%s\n",
               str_clean(o->s.a, o->ns), *unknown == '\0' ? end : str_clean(o->s.a, unknown));
    } else if (o->ns != NULL) {
        printf("No orphans of Services of the namespace %s%s\n", str_clean(o->s.a, o->ns), end);
    } else if (str_is_empty(among(o))) {
        printf("No orphans: all that is ours in the cloud has its Service.\n");
    } else {
        printf("No orphans%s\n", among(o));
    }
}

void orphans_print_text(const struct orphans *unclean, int64_t now_us)
{
    struct orphans copy = *unclean;
    const struct orphans *o = &copy;

    copy.items = ARENA_ARRAY(o->s.a, struct orphan, o->n);
    for (size_t i = 0; i < o->n; i++) {
        copy.items[i] = clean_item(o->s.a, &unclean->items[i]);
    }
    const struct widths w = widths_of(o, now_us);
    if (o->n == 0) {
        print_none(o);
        return;
    }
    printf("%zu resource%s in the cloud %s no Service%s\n", o->n, o->n == 1 ? "" : "s",
           o->n == 1 ? "has" : "have", o->tried ? " still" : "");
    for (size_t i = 0; i < o->n; i++) {
        if (i == 0 || !str_eq(o->items[i].owner, o->items[i - 1].owner)) {
            printf("\n");
            print_head(&o->items[i]);
        }
        print_item(o, &o->items[i], &w, now_us);
    }
    print_sum(o);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_text(struct json_object *to, const char *name, const char *text)
{
    if (str_is_empty(text)) {
        json_add(to, name, NULL);
    } else {
        json_add_str(to, name, text);
    }
}

static struct json_object *item_json(const struct orphan *item, int64_t now_us)
{
    struct json_object *j = json_object_new_object();
    char when[32];

    json_add_str(j, "kind", item->kind);
    json_add_str(j, "name", item->name);
    add_text(j, "place", item->place);
    add_text(j, "service", item->owner);
    time_format_rfc3339(item->created_us, when);
    add_text(j, "created", item->created_us == 0 ? "" : when);
    if (item->created_us != 0) {
        json_add_int(j, "age_seconds", (now_us - item->created_us) / SECOND_US);
    }
    add_text(j, "cost", item->cost);
    json_add_bool(j, "billed", is_billed(item));
    json_add_bool(j, "unsure", item->unsure);
    json_add_bool(j, "deletable", item->remove_as != NULL);
    add_text(j, "command", item->command);
    return j;
}

void orphans_print_json(const struct orphans *o, int64_t now_us)
{
    const struct sums n = sums_of(o);
    struct json_object *out = json_object_new_object();
    struct json_object *items = json_object_new_array();
    struct json_object *summary = json_object_new_object();

    for (size_t i = 0; i < o->n; i++) {
        json_object_array_add(items, item_json(&o->items[i], now_us));
    }
    json_add_int(out, "format_version", JSON_FORMAT_VERSION);
    json_add(out, "orphans", items);
    json_add_int(summary, "orphans", (int64_t)o->n);
    json_add_int(summary, "billed", (int64_t)n.billed);
    json_add_int(summary, "unsure", (int64_t)n.unsure);
    json_add_int(summary, "by_hand", (int64_t)n.by_hand);
    json_add_int(summary, "deleted", (int64_t)o->n_deleted);
    json_add(out, "summary", summary);
    puts(json_text(o->s.a, out, JSON_PRETTY));
    json_object_put(out);
}
