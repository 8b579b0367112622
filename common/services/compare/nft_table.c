/* SPDX-License-Identifier: Apache-2.0 */
/* nft_table.c: the renderer's lines as a table, and the keys of rules; see nft_table.h. */
#include "common/services/compare/nft_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/ip.h"

void nft_table_begin(struct nft_table *t, struct arena *a, const char *family)
{
    *t = (struct nft_table){.a = a, .scratch = arena_new(), .family = family, .at = map_new(NULL)};
}

void nft_table_done(struct nft_table *t)
{
    map_free(t->at);
    arena_free(t->scratch);
    t->at = NULL;
    t->scratch = NULL;
}

static const char *key_of_object(struct arena *a, bool is_chain, const char *name)
{
    return arena_printf(a, "%s %s", is_chain ? "chain" : "set", name);
}

const struct nft_object *nft_table_find(const struct nft_table *t, bool is_chain, const char *name)
{
    size_t at = (size_t)(uintptr_t)map_get(t->at, key_of_object(t->a, is_chain, name));
    return at == 0 ? NULL : &t->objects[at - 1];
}

struct nft_object *nft_table_object(struct nft_table *t, bool is_chain, const char *name)
{
    const char *key = key_of_object(t->a, is_chain, name);
    size_t at = (size_t)(uintptr_t)map_get(t->at, key);
    if (at != 0) {
        return &t->objects[at - 1];
    }
    if (t->n == t->cap) {
        t->cap = t->cap == 0 ? 64 : 2 * t->cap;
        struct nft_object *more = ARENA_ARRAY(t->a, struct nft_object, t->cap);
        if (t->n > 0) {
            memcpy(more, t->objects, t->n * sizeof(*more));
        }
        t->objects = more;
    }
    struct nft_object *o = &t->objects[t->n++];
    *o = (struct nft_object){.name = arena_strdup(t->a, name), .about = "", .is_chain = is_chain};
    map_set(t->at, key, (void *)(uintptr_t)t->n);
    return o;
}

void nft_table_add_element(struct nft_table *t, struct nft_object *o, struct nft_entry element)
{
    if (o->n == o->cap) {
        o->cap = o->cap == 0 ? 4 : 2 * o->cap;
        struct nft_entry *more = ARENA_ARRAY(t->a, struct nft_entry, o->cap);
        if (o->n > 0) {
            memcpy(more, o->entries, o->n * sizeof(*more));
        }
        o->entries = more;
    }
    o->entries[o->n++] = element;
}

/* ---- keys of rules --------------------------------------------------------------------------- */

/* Addresses from first to last. */
struct range {
    struct ip_addr first;
    struct ip_addr last;
};

static int cmp_ip(const struct ip_addr *x, const struct ip_addr *y)
{
    return x->len != y->len ? (int)x->len - (int)y->len : memcmp(x->bytes, y->bytes, x->len);
}

static int cmp_range(const void *x, const void *y)
{
    return cmp_ip(&((const struct range *)x)->first, &((const struct range *)y)->first);
}

/* "10.0.0.1", "10.0.0.0/8", "10.0.0.0-10.0.0.9". */
static bool parse_range(struct arena *a, const char *word, struct range *ret)
{
    const char *dash = strchr(word, '-');
    struct ip_net net;
    if (dash != NULL) {
        return ip_parse(arena_strndup(a, word, (size_t)(dash - word)), &ret->first) &&
               ip_parse(dash + 1, &ret->last);
    }
    if (ip_net_parse_sloppy(word, &net)) {
        *ret = (struct range){net.addr, ip_net_last(&net)};
        return true;
    }
    if (!ip_parse_sloppy(word, &ret->first)) {
        return false;
    }
    ret->last = ret->first;
    return true;
}

/* The second follows the first without a gap, or overlaps it. */
static bool touches(const struct range *x, const struct range *y)
{
    struct ip_addr next = x->last;
    size_t i = next.len;
    while (i > 0 && ++next.bytes[i - 1] == 0) {
        i--;
    }
    return x->last.len == y->first.len && (i == 0 || cmp_ip(&y->first, &next) <= 0);
}

/* The fewest ranges that hold the same addresses, sorted. */
static void append_ranges(struct str_buf *b, struct range *ranges, size_t n)
{
    if (n > 1) {
        qsort(ranges, n, sizeof(*ranges), cmp_range);
    }
    for (size_t i = 0; i < n;) {
        struct range whole = ranges[i++];
        char first[IP_TEXT_MAX];
        char last[IP_TEXT_MAX];
        for (; i < n && touches(&whole, &ranges[i]); i++) {
            whole.last = cmp_ip(&ranges[i].last, &whole.last) > 0 ? ranges[i].last : whole.last;
        }
        ip_format(&whole.first, first);
        ip_format(&whole.last, last);
        str_appendf(b, " %s-%s", first, last);
    }
}

/* Reads "{ a , b }", "{ a,b }" or "a" at words[*at]; false if these are not addresses. */
static bool take_addresses(struct arena *a, struct str_buf *b, char *const *words, size_t n,
                           size_t *at)
{
    bool braces = *at < n && str_eq(words[*at], "{");
    size_t end = *at + 1;
    while (braces && end < n && !str_eq(words[end], "}")) {
        end++;
    }
    const char *all =
        braces ? str_join(a, (const char *const *)&words[*at + 1], end - *at - 1, ",") : words[*at];
    size_t n_items = 0;
    size_t n_ranges = 0;
    char **items = str_split(a, all, ',', &n_items);
    struct range *ranges = ARENA_ARRAY(a, struct range, n_items);
    for (size_t i = 0; i < n_items; i++) {
        if (*items[i] == '\0') {
            continue;
        }
        if (!parse_range(a, items[i], &ranges[n_ranges++])) {
            return false;
        }
    }
    append_ranges(b, ranges, n_ranges);
    *at = braces ? end + 1 : end;
    return n_ranges > 0;
}

static int cmp_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* "{ 0 : A , 1 : B }" of a random choice: the numbers say nothing, for each has the same share. */
static void take_choices(struct arena *a, struct str_buf *b, char *const *words, size_t n,
                         size_t *at)
{
    const char **choices = ARENA_ARRAY(a, const char *, n);
    size_t n_choices = 0;
    size_t i = *at + 1;
    while (i < n && !str_eq(words[i], "}")) {
        size_t begin = i;
        while (i < n && !str_eq(words[i], ",") && !str_eq(words[i], "}")) {
            i++;
        }
        size_t skip = i - begin > 2 && str_eq(words[begin + 1], ":") ? 2 : 0;
        choices[n_choices++] =
            str_join(a, (const char *const *)&words[begin + skip], i - begin - skip, " ");
        i += i < n && str_eq(words[i], ",");
    }
    if (n_choices > 1) {
        qsort(choices, n_choices, sizeof(*choices), cmp_text);
    }
    str_appendf(b, " { %s }", str_join(a, choices, n_choices, " , "));
    *at = i + 1;
}

static const char *rule_key(struct nft_table *t, const char *text)
{
    struct arena *a = t->scratch;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    size_t n = 0;
    char **words = str_split(a, text, ' ', &n);
    for (size_t i = 0; i < n;) {
        bool address = str_eq(words[i], "saddr") || str_eq(words[i], "daddr");
        bool choice = str_eq(words[i], "map") || str_eq(words[i], "vmap");
        str_appendf(&b, "%s%s", b.len > 0 ? " " : "", words[i++]);
        if (address && i < n && str_eq(words[i], "!=")) {
            str_append(&b, " !=");
            i++;
        }
        if (address && i < n) {
            (void)take_addresses(a, &b, words, n, &i);
        } else if (choice && i < n && str_eq(words[i], "{")) {
            take_choices(a, &b, words, n, &i);
        }
    }
    arena_reset(a);
    return str_buf_to_arena(&b, t->a);
}

void nft_table_add_rule(struct nft_table *t, struct nft_object *o, const char *words,
                        const char *comment)
{
    nft_table_add_element(
        t, o,
        (struct nft_entry){
            .words = words, .key = rule_key(t, words), .value = "", .comment = comment});
}

/* ---- the renderer's lines -------------------------------------------------------------------- */

/* Takes ` comment "…"` out of the text; what stood in it in *ret_comment. */
static const char *without_comment(struct arena *a, const char *text, const char **ret_comment)
{
    const char *at = strstr(text, "comment \"");
    const char *end = at == NULL ? NULL : strchr(at + strlen("comment \""), '"');
    *ret_comment = "";
    if (end == NULL) {
        return text;
    }
    const char *begin = at + strlen("comment \"");
    *ret_comment = arena_strndup(a, begin, (size_t)(end - begin));
    const char *left =
        arena_printf(a, "%.*s%s", (int)(at - text), text, end[1] == ' ' ? end + 2 : end + 1);
    return str_trim(a, left);
}

/* "10.0.0.1 . tcp . 80 : goto …", without braces. */
static void read_element(struct nft_table *t, struct nft_object *o, const char *text)
{
    const char *comment;
    const char *words = without_comment(t->a, text, &comment);
    const char *colon = strstr(words, " : ");
    nft_table_add_element(
        t, o,
        (struct nft_entry){
            .words = words,
            .key = colon == NULL ? words : arena_strndup(t->a, words, (size_t)(colon - words)),
            .value = colon == NULL ? "" : colon + 3,
            .comment = comment});
}

/* "{ type filter hook input priority 0 ; }" and "{ … timeout 10s ; }": the part that must agree. */
static const char *about_of(struct arena *a, const char *tail)
{
    const char *hook = strstr(tail, " hook ");
    const char *timeout = strstr(tail, "timeout ;"); /* the flag */
    const char *from = hook != NULL ? strstr(tail, "type ") : NULL;
    if (timeout != NULL) {
        from = strstr(timeout + 1, "timeout ");
    }
    return from == NULL ? "" : arena_strndup(a, from, strcspn(from, ";") - 1);
}

/* Text without the braces around it. */
static const char *inside_braces(struct arena *a, const char *text)
{
    size_t n = strlen(text);
    return n >= 4 ? arena_strndup(a, text + 2, n - 4) : "";
}

void nft_table_read_lines(struct nft_table *t, const struct ks_lines *lines)
{
    for (size_t i = 0; i < lines->n; i++) { /* "add KIND FAMILY kube-proxy NAME …" */
        const char *word[5];
        const char *at = lines->items[i];
        for (size_t k = 0; k < ARRAY_LEN(word); k++) {
            size_t n = strcspn(at, " ");
            word[k] = arena_strndup(t->a, at, n);
            at += n + (at[n] == ' ');
        }
        if (str_eq(word[1], "table")) {
            t->found = true;
            continue;
        }
        bool chain = str_eq(word[1], "chain") || str_eq(word[1], "rule");
        struct nft_object *o = nft_table_object(t, chain, word[4]);
        if (str_eq(word[1], "rule")) {
            const char *comment;
            const char *words = without_comment(t->a, at, &comment);
            nft_table_add_rule(t, o, words, comment);
        } else if (str_eq(word[1], "element")) {
            read_element(t, o, inside_braces(t->a, at));
        } else {
            o->is_map = str_eq(word[1], "map");
            o->about = about_of(t->a, at);
        }
    }
}
