/* SPDX-License-Identifier: Apache-2.0 */
/* saved.c: reads the text of iptables-save; see saved.h. */
#include "common/services/compare/saved.h"

#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 65536

struct reading {
    struct ks_saved *s;
    const char *table; /* "filter", "nat"; "": another one, or none yet */
    bool inside;       /* a table has begun, and no COMMIT came */
    size_t line;
};

static struct ks_saved_chain *chain_of(struct ks_saved *s, const char *table, const char *name)
{
    const char *key = arena_printf(s->a, "%s/%s", table, name);
    size_t at = (size_t)(uintptr_t)map_get(s->at, key);
    if (at != 0) {
        return &s->chains[at - 1];
    }
    if (s->n_chains == s->cap_chains) {
        s->cap_chains = s->cap_chains == 0 ? 64 : 2 * s->cap_chains;
        struct ks_saved_chain *more = ARENA_ARRAY(s->a, struct ks_saved_chain, s->cap_chains);
        if (s->n_chains > 0) {
            memcpy(more, s->chains, s->n_chains * sizeof(*more));
        }
        s->chains = more;
    }
    struct ks_saved_chain *c = &s->chains[s->n_chains++];
    *c = (struct ks_saved_chain){.table = table, .name = arena_strdup(s->a, name)};
    map_set(s->at, key, (void *)(uintptr_t)s->n_chains);
    return c;
}

const struct ks_saved_chain *ks_saved_find(const struct ks_saved *s, const char *table,
                                           const char *name)
{
    const char *key = arena_printf(s->a, "%s/%s", table, name);
    size_t at = (size_t)(uintptr_t)map_get(s->at, key);
    return at == 0 ? NULL : &s->chains[at - 1];
}

static struct ks_saved_rule *new_rule(struct ks_saved *s, struct ks_saved_chain *c)
{
    if (c->n_rules == c->cap_rules) {
        c->cap_rules = c->cap_rules == 0 ? 4 : 2 * c->cap_rules;
        struct ks_saved_rule *more = ARENA_ARRAY(s->a, struct ks_saved_rule, c->cap_rules);
        if (c->n_rules > 0) {
            memcpy(more, c->rules, c->n_rules * sizeof(*more));
        }
        c->rules = more;
    }
    return &c->rules[c->n_rules++];
}

/* ---- words ----------------------------------------------------------------------------------- */

/* The next word of *at, quotes taken off; NULL at the end. */
static char *next_word(struct arena *a, const char **at)
{
    const char *s = *at + strspn(*at, " ");
    if (*s == '\0') {
        return NULL;
    }
    if (*s != '"') {
        size_t n = strcspn(s, " ");
        *at = s + n;
        return arena_strndup(a, s, n);
    }
    char *word = arena_alloc(a, strlen(s) + 1);
    size_t n = 0;
    for (s++; *s != '\0' && *s != '"'; s++) {
        s += *s == '\\' && s[1] != '\0';
        word[n++] = *s;
    }
    *at = *s == '"' ? s + 1 : s;
    return word;
}

/* "default/web:http" in "default/web:http cluster IP": the first word with a '/'.  A
 * trailing ':' goes. */
static const char *subject_of(struct ks_saved *s, const char *comment)
{
    for (const char *at = comment; *at != '\0';) {
        size_t n = strcspn(at, " ");
        if (memchr(at, '/', n) != NULL) {
            bool old = at[n - 1] == ':';
            s->old_names |= old;
            return arena_strndup(s->a, at, n - old);
        }
        at += n + strspn(at + n, " ");
    }
    return "";
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* Takes what the word says into the rule; true: it does not stand in the normalised text. */
static bool take_word(struct ks_saved *s, struct ks_saved_rule *r, const char *word,
                      const char **at, struct str_buf *b)
{
    const char *rest = *at;
    if (str_eq(word, "-m")) {
        const char *match = str_nonnull(next_word(s->a, &rest));
        s->nfacct |= str_eq(match, "nfacct");
        if (str_eq(match, "comment") || str_eq(match, "nfacct")) {
            *at = rest;
            return true;
        }
        return false;
    }
    if (str_eq(word, "--comment")) {
        const char *subject = subject_of(s, str_nonnull(next_word(s->a, at)));
        r->subject = *r->subject == '\0' ? subject : r->subject;
        return true;
    }
    if (str_eq(word, "--nfacct-name")) {
        (void)next_word(s->a, at);
        return true;
    }
    if (str_eq(word, "--random-fully")) {
        s->random_fully = true;
        return true;
    }
    if (str_eq(word, "--probability")) {
        str_appendf(b, " --probability %.4f", strtod(str_nonnull(next_word(s->a, at)), NULL));
        return true;
    }
    return false;
}

static void take_target(struct ks_saved *s, struct ks_saved_rule *r, const char *word,
                        const char *at)
{
    const char *rest = at;
    if (str_eq(word, "-j") || str_eq(word, "-g")) {
        r->jump = str_nonnull(next_word(s->a, &rest));
    } else if (str_eq(word, "--to-destination")) {
        r->to = str_nonnull(next_word(s->a, &rest));
    }
}

static void note_facts(struct ks_saved *s, const struct ks_saved_chain *c,
                       const struct ks_saved_rule *r)
{
    const char *mark = strstr(r->text, "--set-xmark ");
    if (str_eq(c->name, "KUBE-MARK-MASQ") && mark != NULL) {
        s->has_mark = true;
        s->mark = strtoul(mark + strlen("--set-xmark "), NULL, 16);
    }
    if (str_eq(c->name, "KUBE-FORWARD") && strstr(r->text, "--ctstate INVALID") != NULL) {
        s->drops_invalid = true;
    }
}

static void read_rule(struct reading *r, const char *name, const char *rule)
{
    struct ks_saved *s = r->s;
    struct ks_saved_chain *c = chain_of(s, r->table, name);
    struct ks_saved_rule *out = new_rule(s, c);
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const char *at = rule;
    char *word;
    *out = (struct ks_saved_rule){.full = rule, .subject = "", .jump = "", .to = ""};
    while ((word = next_word(s->a, &at)) != NULL) {
        if (!take_word(s, out, word, &at, &b)) {
            take_target(s, out, word, at);
            str_appendf(&b, "%s%s", b.len > 0 ? " " : "", word);
        }
    }
    out->text = str_buf_to_arena(&b, s->a);
    note_facts(s, c, out);
}

static int bad_line(const struct reading *r, const char *line, struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "line %zu is not one of iptables-save: \"%.60s\"; want the output of "
                   "iptables-save (or ip6tables-save)",
                   r->line, line);
}

static int read_line(struct reading *r, const char *line, struct err *err)
{
    const char *text = line;
    if (*text == '[') { /* counters */
        const char *end = strchr(text, ']');
        text = end == NULL ? text : end + 1 + strspn(end + 1, " ");
    }
    if (*text == '\0' || *text == '#') {
        return ERR_OK;
    }
    if (str_eq(text, "COMMIT")) {
        r->inside = false;
        return ERR_OK;
    }
    if (*text == '*') {
        r->inside = true;
        bool ours = str_eq(text, "*filter") || str_eq(text, "*nat");
        r->table = ours ? text + 1 : "";
        r->s->has_tables |= ours;
        return ERR_OK;
    }
    if (*text == ':') {
        size_t n = strcspn(text + 1, " ");
        if (*r->table != '\0') {
            (void)chain_of(r->s, r->table, arena_strndup(r->s->a, text + 1, n));
        }
        return ERR_OK;
    }
    if (!str_has_prefix(text, "-A ")) {
        return bad_line(r, line, err);
    }
    if (*r->table != '\0') {
        size_t n = strcspn(text + 3, " ");
        const char *rule = text + 3 + n + strspn(text + 3 + n, " ");
        read_rule(r, arena_strndup(r->s->a, text + 3, n), rule);
    }
    return ERR_OK;
}

int ks_saved_read(struct ks_saved *s, struct arena *a, const char *text, size_t n, struct err *err)
{
    struct reading r = {.s = s, .table = ""};
    *s = (struct ks_saved){.a = a, .at = map_new(NULL)};
    int code = ERR_OK;
    for (size_t at = 0; at < n && code == ERR_OK;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end == NULL ? n - at : (size_t)(end - (text + at));
        r.line++;
        if (len > LINE_MAX_BYTES || memchr(text + at, '\0', len) != NULL) {
            return err_set(err, ERR_INVALID, "line %zu is longer than %d bytes, or no text", r.line,
                           LINE_MAX_BYTES);
        }
        size_t shown = len > 0 && text[at + len - 1] == '\r' ? len - 1 : len;
        code = read_line(&r, arena_strndup(a, text + at, shown), err);
        at += len + 1;
    }
    if (code == ERR_OK && r.inside) {
        code =
            err_set(err, ERR_INVALID, "it ends within a table, without COMMIT: the text was cut");
    }
    if (code == ERR_OK && !s->has_tables) {
        code = err_set(err, ERR_INVALID,
                       "it has no table filter or nat; want the output of iptables-save (or "
                       "ip6tables-save)");
    }
    return code;
}

void ks_saved_done(struct ks_saved *s)
{
    map_free(s->at);
}
