/* SPDX-License-Identifier: Apache-2.0 */
/* nft_json.c: what `nft -j list table` printed, in the words in which the renderer writes rules;
 * see nft_table.h.
 *
 * An expression that kube-proxy does not use becomes its JSON: it then differs, and is shown.
 * Source: libnftables-json(5), nft 1.0.1 to 1.1.1. */
#include <stdlib.h>
#include <string.h>

#include "common/data/json.h"
#include "common/services/compare/nft_table.h"

#define JSON_BYTES_MAX  ((size_t)256 << 20)
#define JSON_VALUES_MAX ((size_t)16 << 20)

static void append_value(struct str_buf *b, struct json_object *v);

static void word(struct str_buf *b, const char *text)
{
    str_appendf(b, "%s%s", b->len > 0 ? " " : "", text);
}

/* The only member of an object: "match", "goto", …; NULL when there is another number of them. */
static const char *only_member(struct json_object *o, struct json_object **ret)
{
    if (!json_object_is_type(o, json_type_object) || json_object_object_length(o) != 1) {
        return NULL;
    }
    struct json_object_iterator at = json_object_iter_begin(o);
    *ret = json_object_iter_peek_value(&at);
    return json_object_iter_peek_name(&at);
}

static void append_json(struct str_buf *b, struct json_object *o)
{
    word(b, "");
    json_print(b, o, JSON_SORTED);
}

/* Items with a separator between them. */
static void append_list(struct str_buf *b, struct json_object *list, const char *separator)
{
    for (size_t i = 0; i < json_len(list); i++) {
        if (i > 0) {
            word(b, separator);
        }
        append_value(b, json_object_array_get_idx(list, i));
    }
}

/* A set in braces; of a map "key : value". */
static void append_set(struct str_buf *b, struct json_object *set)
{
    word(b, "{");
    for (size_t i = 0; i < json_len(set); i++) {
        struct json_object *item = json_object_array_get_idx(set, i);
        if (i > 0) {
            word(b, ",");
        }
        if (json_object_is_type(item, json_type_array)) {
            append_list(b, item, ":");
        } else {
            append_value(b, item);
        }
    }
    word(b, "}");
}

/* ---- selectors and values -------------------------------------------------------------------- */

static const char *bit_operator(const char *name)
{
    static const char *const rows[][2] = {{"&", "and"}, {"|", "or"}, {"^", "xor"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(name, rows[i][0])) {
            return rows[i][1];
        }
    }
    return NULL;
}

static void append_bits(struct str_buf *b, const char *operator, struct json_object * pair)
{
    struct json_object *right = json_object_array_get_idx(pair, 1);
    append_value(b, json_object_array_get_idx(pair, 0));
    word(b, operator);
    if (json_object_is_type(right, json_type_int)) {
        str_appendf(b, " 0x%08llx", (unsigned long long)json_object_get_int64(right));
    } else {
        append_value(b, right);
    }
}

/* "ip saddr", "th dport", "mark", "meta l4proto", "ct state", "fib daddr type". */
static bool append_selector(struct str_buf *b, const char *name, struct json_object *o)
{
    const char *key = str_nonnull(json_str(o, "key"));
    if (str_eq(name, "payload")) {
        word(b, str_nonnull(json_str(o, "protocol")));
        word(b, str_nonnull(json_str(o, "field")));
    } else if (str_eq(name, "meta")) {
        if (str_eq(key, "l4proto")) {
            word(b, "meta");
        }
        word(b, key);
    } else if (str_eq(name, "ct")) {
        word(b, "ct");
        word(b, key);
    } else if (str_eq(name, "fib")) {
        word(b, "fib");
        append_list(b, json_member(o, "flags"), ".");
        word(b, str_nonnull(json_str(o, "result")));
    } else {
        return false;
    }
    return true;
}

/* "10.0.0.0/8", "10.0.0.1-10.0.0.9", "numgen random mod 2", "A . tcp . 80", "{ … }". */
static bool append_compound(struct str_buf *b, const char *name, struct json_object *o)
{
    if (str_eq(name, "prefix")) {
        word(b, str_nonnull(json_str(o, "addr")));
        str_append_c(b, '/');
        str_appendf(b, "%d", (int)json_int(o, "len", 0));
    } else if (str_eq(name, "range") && json_len(o) == 2) {
        append_value(b, json_object_array_get_idx(o, 0));
        str_append_c(b, '-');
        str_append(b, str_nonnull(json_object_get_string(json_object_array_get_idx(o, 1))));
    } else if (str_eq(name, "numgen")) {
        word(b, "numgen");
        word(b, str_nonnull(json_str(o, "mode")));
        str_appendf(b, " mod %d", (int)json_int(o, "mod", 0));
    } else if (str_eq(name, "concat")) {
        append_list(b, o, ".");
    } else if (str_eq(name, "set")) {
        append_set(b, o);
    } else if (str_eq(name, "elem")) {
        append_value(b, json_member(o, "val"));
    } else if (str_eq(name, "map")) {
        append_value(b, json_member(o, "key"));
        word(b, "map");
        append_value(b, json_member(o, "data"));
    } else {
        return false;
    }
    return true;
}

static bool append_verdict(struct str_buf *b, const char *name, struct json_object *o)
{
    bool jumps = str_eq(name, "goto") || str_eq(name, "jump");
    if (!jumps && !str_eq(name, "drop") && !str_eq(name, "accept") && !str_eq(name, "return")) {
        return false;
    }
    word(b, name);
    if (jumps) {
        word(b, str_nonnull(json_str(o, "target")));
    }
    return true;
}

static void append_value(struct str_buf *b, struct json_object *v)
{
    struct json_object *inner = NULL;
    const char *name = only_member(v, &inner);
    if (json_object_is_type(v, json_type_string) || json_object_is_type(v, json_type_int)) {
        word(b, json_object_get_string(v));
    } else if (name != NULL && bit_operator(name) != NULL && json_len(inner) == 2) {
        append_bits(b, bit_operator(name), inner);
    } else if (name == NULL ||
               !(append_selector(b, name, inner) || append_compound(b, name, inner) ||
                 append_verdict(b, name, inner))) {
        append_json(b, v);
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

static void append_match(struct str_buf *b, struct json_object *o)
{
    const char *op = str_nonnull(json_str(o, "op"));
    append_value(b, json_member(o, "left"));
    if (!str_eq(op, "==") && !str_eq(op, "in")) {
        word(b, op);
    }
    append_value(b, json_member(o, "right"));
}

static void append_flags(struct str_buf *b, struct json_object *flags)
{
    if (json_object_is_type(flags, json_type_string)) {
        word(b, json_object_get_string(flags));
    }
    append_list(b, flags, ",");
}

static void append_dnat(struct str_buf *b, struct json_object *o)
{
    struct json_object *to = json_member(o, "addr");
    int port = (int)json_int(o, "port", 0);
    const char *address = json_object_get_string(to);
    word(b, "dnat");
    if (!json_object_is_type(to, json_type_string)) {
        word(b, str_nonnull(json_str(o, "family")));
        word(b, "addr . port to");
        append_value(b, to);
        return;
    }
    word(b, "to");
    bool brackets = strchr(address, ':') != NULL;
    str_appendf(b, " %s%s%s:%d", brackets ? "[" : "", address, brackets ? "]" : "", port);
}

static void append_reject(struct str_buf *b, struct json_object *o)
{
    const char *with = json_str(o, "expr");
    word(b, "reject");
    if (with != NULL && !str_eq(with, "port-unreachable")) {
        word(b, "with");
        word(b, with);
    }
}

static void append_statement(struct str_buf *b, struct json_object *statement)
{
    struct json_object *o = NULL;
    const char *name = str_nonnull(only_member(statement, &o));
    if (str_eq(name, "match")) {
        append_match(b, o);
    } else if (str_eq(name, "vmap")) {
        append_value(b, json_member(o, "key"));
        word(b, "vmap");
        append_value(b, json_member(o, "data"));
    } else if (str_eq(name, "mangle")) {
        append_value(b, json_member(o, "key"));
        word(b, "set");
        append_value(b, json_member(o, "value"));
    } else if (str_eq(name, "masquerade")) {
        word(b, "masquerade");
        append_flags(b, json_member(o, "flags"));
    } else if (str_eq(name, "dnat")) {
        append_dnat(b, o);
    } else if (str_eq(name, "reject")) {
        append_reject(b, o);
    } else if (str_eq(name, "set")) {
        word(b, str_nonnull(json_str(o, "op")));
        word(b, str_nonnull(json_str(o, "set")));
        word(b, "{");
        append_value(b, json_member(o, "elem"));
        word(b, "}");
    } else if (!str_eq(name, "counter") && !append_verdict(b, name, o)) {
        append_json(b, statement);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

/* "mark set mark or …": the key is written once in words, and stands twice in JSON. */
static void read_rule(struct nft_table *t, struct json_object *o)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *statements = json_member(o, "expr");
    for (size_t i = 0; i < json_len(statements); i++) {
        append_statement(&b, json_object_array_get_idx(statements, i));
    }
    const char *comment = str_nonnull(json_str(o, "comment"));
    nft_table_add_rule(t, nft_table_object(t, true, str_nonnull(json_str(o, "chain"))),
                       str_buf_to_arena(&b, t->a), arena_strdup(t->a, comment));
}

static void read_element(struct nft_table *t, struct nft_object *o, struct json_object *item)
{
    _cleanup_(str_buf_done) struct str_buf key = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf value = STR_BUF_INIT;
    bool pair = json_object_is_type(item, json_type_array);
    struct json_object *of_key = pair ? json_object_array_get_idx(item, 0) : item;
    struct json_object *of_value = pair ? json_object_array_get_idx(item, 1) : NULL;
    const char *comment = json_str(json_member(of_key, "elem"), "comment");
    if (comment == NULL) { /* nft 1.0.8 and later may hang it on the value */
        comment = json_str(json_member(of_value, "elem"), "comment");
    }
    append_value(&key, of_key);
    if (of_value != NULL) {
        append_value(&value, of_value);
    }
    struct nft_entry e = {.key = str_buf_to_arena(&key, t->a),
                          .value = str_buf_to_arena(&value, t->a),
                          .comment = arena_strdup(t->a, str_nonnull(comment))};
    e.words = *e.value == '\0' ? e.key : arena_printf(t->a, "%s : %s", e.key, e.value);
    nft_table_add_element(t, o, e);
}

static void read_chain(struct nft_table *t, struct json_object *o)
{
    struct nft_object *chain = nft_table_object(t, true, str_nonnull(json_str(o, "name")));
    const char *hook = json_str(o, "hook");
    if (hook != NULL) {
        chain->about =
            arena_printf(t->a, "type %s hook %s priority %d", str_nonnull(json_str(o, "type")),
                         hook, (int)json_int(o, "prio", 0));
    }
}

static void read_set(struct nft_table *t, struct json_object *o, bool is_map)
{
    struct nft_object *set = nft_table_object(t, false, str_nonnull(json_str(o, "name")));
    struct json_object *elements = json_member(o, "elem");
    int64_t timeout = json_int(o, "timeout", 0);
    set->is_map = is_map;
    if (timeout > 0) {
        set->about = arena_printf(t->a, "timeout %llds", (long long)timeout);
    }
    if (str_has_prefix(set->name, "affinity-")) {
        return; /* clients: they come and go with connections */
    }
    for (size_t i = 0; i < json_len(elements); i++) {
        read_element(t, set, json_object_array_get_idx(elements, i));
    }
}

static void read_item(struct nft_table *t, struct json_object *item)
{
    struct json_object *o = NULL;
    const char *kind = str_nonnull(only_member(item, &o));
    bool table = str_eq(kind, "table");
    const char *of = table ? json_str(o, "name") : json_str(o, "table");
    bool ours = str_eq(of, "kube-proxy") && str_eq(json_str(o, "family"), t->family);
    if (table && ours) {
        t->found = true;
    } else if (!ours) {
        t->n_others += str_eq(kind, "rule");
    } else if (str_eq(kind, "chain")) {
        read_chain(t, o);
    } else if (str_eq(kind, "rule")) {
        read_rule(t, o);
    } else if (str_eq(kind, "set") || str_eq(kind, "map")) {
        read_set(t, o, str_eq(kind, "map"));
    }
}

int nft_table_read_json(struct nft_table *t, const char *text, size_t n, struct err *err)
{
    const struct json_limits limits = {
        .max_bytes = JSON_BYTES_MAX, .max_values = JSON_VALUES_MAX, .share_strings = true};
    struct json_object *tree = NULL;
    if (n > 6 && strncmp(text, "table ", 6) == 0) {
        return err_set(err, ERR_INVALID,
                       "this is what nft prints for people; want JSON: nft -j list table %s "
                       "kube-proxy",
                       t->family);
    }
    int code = json_parse_arena(t->a, text, n, &limits, &tree, err);
    if (code != ERR_OK) {
        (void)err_prefix(err, "want the output of nft -j list table %s kube-proxy", t->family);
        return code;
    }
    struct json_object *items = json_member(tree, "nftables");
    for (size_t i = 0; i < json_len(items); i++) {
        read_item(t, json_object_array_get_idx(items, i));
    }
    if (!t->found) {
        return err_set(err, ERR_INVALID,
                       "there is no table %s kube-proxy in it: kube-proxy does not run in mode "
                       "nftables there, or this is another family's; want the output of nft -j "
                       "list table %s kube-proxy",
                       t->family, t->family);
    }
    return ERR_OK;
}
