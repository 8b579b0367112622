/* SPDX-License-Identifier: Apache-2.0 */
/* iptables_saved.c: a rule as iptables-save prints it after it was loaded.
 *
 * iptables keeps a rule in parts: addresses, interfaces and the protocol, then the matches, then
 * the target; each part prints itself in its own way.  So a rule is read word by word into these
 * parts and written again.
 * Source: iptables 1.8.9. */
#include "common/services/node/names.h"
#include "common/services/render/rules.h"

#include <stdlib.h>
#include <string.h>

/* Buffers to read a rule with, used for one rule after another. */
struct words {
    struct arena *a;    /* for probabilities, which are few */
    char *text;         /* the rule, cut into words */
    const char **items; /* quotes are taken off */
    size_t cap;         /* of both, in bytes of a rule */
    size_t n;
    size_t at;
};
/* The parts in the order in which they are printed; each begins with a blank when it
 * is not empty. */
enum part_kind {
    PART_SOURCE = 0,
    PART_DEST,
    PART_IN,
    PART_PROTOCOL,
    PART_MATCHES,
    PART_TARGET,
    PART_MAX,
};
struct parts {
    struct str_buf of[PART_MAX];
};

/* --- words ------------------------------------------------------------------------------------ */

/* Takes the quotes off the word at *at, in place; returns it, and moves *at behind it. */
static char *unquoted(char **at)
{
    char *word = *at + 1;
    char *s = word;
    char *end = word;
    for (; *s != '\0' && *s != '"'; s++) {
        if (*s == '\\' && s[1] != '\0') {
            s++;
        }
        *end++ = *s;
    }
    *at = *s == '"' ? s + 1 : s;
    *end = '\0';
    return word;
}

static void make_room(struct words *w, size_t len)
{
    if (len >= w->cap) {
        w->cap = 2 * len + 256;
        free(w->text);
        free((void *)w->items);
        w->text = xcalloc(w->cap, 1);
        w->items = xcalloc(w->cap, sizeof(*w->items));
    }
}

static void split(struct words *w, const char *rule)
{
    size_t len = strlen(rule);
    make_room(w, len);
    memcpy(w->text, rule, len + 1);
    w->n = 0;
    w->at = 0;
    for (char *s = w->text; *(s += strspn(s, " ")) != '\0';) {
        if (*s == '"') {
            w->items[w->n++] = unquoted(&s);
            continue;
        }
        w->items[w->n++] = s;
        s += strcspn(s, " ");
        if (*s != '\0') {
            *s++ = '\0';
        }
    }
}

/* The next word, "" at the end. */
static const char *next(struct words *w)
{
    return w->at < w->n ? w->items[w->at++] : "";
}

static const char *peek(const struct words *w)
{
    return w->at < w->n ? w->items[w->at] : "";
}

/* --- single parts ----------------------------------------------------------------------------- */

/* " FLAG", or " ! FLAG". */
static void flag_word(struct str_buf *b, bool negated, const char *flag)
{
    str_append(b, negated ? " ! " : " ");
    str_append(b, flag);
}

static void part(struct str_buf *b, bool negated, const char *flag, const char *value)
{
    flag_word(b, negated, flag);
    str_append_c(b, ' ');
    str_append(b, value);
}

/* An address always has its mask; one that matches everything is not printed. */
static void address(struct str_buf *b, bool negated, const char *flag, const char *value)
{
    struct ip_addr ip;
    struct ip_net net;
    char text[IP_TEXT_MAX];
    if (ip_parse_sloppy(value, &ip)) {
        ip_format(&ip, text);
        part(b, negated, flag, text);
        str_append(b, ip.len == 16 ? "/128" : "/32");
    } else if (!ip_net_parse_sloppy(value, &net)) {
        part(b, negated, flag, value);
    } else if (negated || net.prefix > 0) {
        ip_net_format(&net, text);
        part(b, negated, flag, text);
    }
}

/* iptables quotes a comment unless it is a plain word. */
static void comment(struct str_buf *b, const char *text)
{
    static const char plain[] = "_-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (*text != '\0' && text[strspn(text, plain)] == '\0') {
        str_append(b, text);
        return;
    }
    str_append_c(b, '"');
    for (; *text != '\0'; text++) {
        if (strchr("\"\\'", *text) != NULL) {
            str_append_c(b, '\\');
        }
        str_append_c(b, *text);
    }
    str_append_c(b, '"');
}

/* "0x00004000/0x00004000" as "0x4000/0x4000". */
static void hex_pair(struct str_buf *b, const char *text)
{
    char *end = NULL;
    unsigned long value = strtoul(text, &end, 16);
    str_appendf(b, "0x%lx", value & 0xffffffffUL);
    if (*end == '/') {
        str_appendf(b, "/0x%lx", strtoul(end + 1, NULL, 16) & 0xffffffffUL);
    }
}

/* The options of -m recent come in an order of their own, with the mask that is in force. */
static void recent(struct str_buf *b, struct words *w, enum ks_family family)
{
    const char *name = "";
    while (str_has_prefix(peek(w), "--")) {
        const char *option = next(w);
        if (str_eq(option, "--name")) {
            name = next(w);
        } else if (str_eq(option, "--seconds")) {
            part(b, false, option, next(w));
        } else {
            flag_word(b, false, option);
        }
    }
    str_appendf(b, " --name %s --mask %s --rsource", name,
                family == KS_IPV6 ? "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" : "255.255.255.255");
}

/* IPVS's match prints the protocol as a number. */
static const char *protocol_number(const char *protocol)
{
    static const char *const rows[][2] = {{"tcp", "6"}, {"udp", "17"}, {"sctp", "132"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(protocol, rows[i][0])) {
            return rows[i][1];
        }
    }
    return protocol;
}

/* -m ipvs prints the protocol before the address. */
static void ipvs(struct str_buf *b, struct words *w)
{
    const char *vaddr = NULL;
    const char *protocol = NULL;
    const char *vport = NULL;
    while (str_has_prefix(peek(w), "--v")) {
        const char *word = next(w);
        const char **value = str_eq(word, "--vaddr")    ? &vaddr
                             : str_eq(word, "--vproto") ? &protocol
                                                        : &vport;
        *value = next(w);
    }
    if (protocol != NULL) {
        part(b, false, "--vproto", protocol_number(protocol));
    }
    if (vaddr != NULL) {
        part(b, false, "--vaddr", vaddr);
    }
    if (vport != NULL) {
        part(b, false, "--vport", vport);
    }
}

/* One option of a match. */
static void option(struct str_buf *b, bool negated, const char *word, struct words *w)
{
    flag_word(b, negated, word);
    if (str_eq(word, "--comment")) {
        str_append_c(b, ' ');
        comment(b, next(w));
    } else if (str_eq(word, "--mark")) {
        str_append_c(b, ' ');
        hex_pair(b, next(w));
    } else if (str_eq(word, "--probability")) {
        const char *written = next(w);
        str_append_c(b, ' ');
        str_append(b, str_or(ks_probability_saved(w->a, written), written));
    }
}

static void target(struct str_buf *b, struct words *w, enum ks_family family)
{
    const char *name = next(w);
    part(b, false, "-j", name);
    if (str_eq(name, "REJECT") && w->at == w->n) {
        str_appendf(b, " --reject-with icmp%s-port-unreachable", family == KS_IPV6 ? "6" : "");
    }
    while (w->at < w->n) {
        const char *word = next(w);
        bool either = str_eq(word, "--or-mark");
        if (either || str_eq(word, "--xor-mark")) {
            const char *mark = next(w);
            str_append(b, " --set-xmark ");
            hex_pair(b, mark);
            str_append_c(b, '/');
            hex_pair(b, either ? mark : "0");
        } else {
            flag_word(b, false, word);
        }
    }
}

/* --- rules ------------------------------------------------------------------------------------ */

static void read_parts(struct words *w, enum ks_family family, struct parts *p)
{
    static const struct {
        const char *flag;
        enum part_kind part;
    } plain[] = {{"-i", PART_IN}, {"-o", PART_IN}, {"-p", PART_PROTOCOL}};
    struct str_buf *matches = &p->of[PART_MATCHES];
    while (w->at < w->n) {
        bool negated = str_eq(peek(w), "!") && next(w) != NULL;
        const char *word = next(w);
        struct str_buf *own = NULL;
        for (size_t i = 0; i < ARRAY_LEN(plain) && own == NULL; i++) {
            own = str_eq(word, plain[i].flag) ? &p->of[plain[i].part] : NULL;
        }
        if (own != NULL) {
            part(own, negated, word, next(w));
        } else if (str_eq(word, "-s")) {
            address(&p->of[PART_SOURCE], negated, word, next(w));
        } else if (str_eq(word, "-d")) {
            address(&p->of[PART_DEST], negated, word, next(w));
        } else if (str_eq(word, "-j")) {
            target(&p->of[PART_TARGET], w, family);
        } else if (str_eq(word, "-m") && str_eq(peek(w), "recent")) {
            part(matches, false, word, next(w));
            recent(matches, w, family);
        } else if (str_eq(word, "-m") && str_eq(peek(w), "ipvs")) {
            part(matches, false, word, next(w));
            ipvs(matches, w);
        } else {
            option(matches, negated, word, w);
        }
    }
}

static const char *saved(struct words *w, struct parts *p, const char *rule, enum ks_family family)
{
    size_t len = 0;
    split(w, rule);
    for (size_t i = 0; i < PART_MAX; i++) {
        str_buf_reset(&p->of[i]);
    }
    read_parts(w, family, p);
    for (size_t i = 0; i < PART_MAX; i++) {
        len += p->of[i].len;
    }
    char *text = arena_alloc(w->a, len + 1);
    size_t at = 0;
    for (size_t i = 0; i < PART_MAX; i++) {
        if (p->of[i].len > 0) {
            memcpy(text + at, p->of[i].data, p->of[i].len);
            at += p->of[i].len;
        }
    }
    return len > 0 ? text + 1 : ""; /* without the first blank */
}

static int cmp_chains(const void *a, const void *b)
{
    return strcmp(((const struct ks_chain *)a)->name, ((const struct ks_chain *)b)->name);
}

struct ks_tables ks_iptables_saved(struct arena *a, const struct ks_tables *t,
                                   enum ks_family family)
{
    struct ks_tables out = *t;
    struct words words = {.a = a};
    struct parts parts = {0};
    for (size_t i = 0; i < t->n_tables; i++) {
        const struct ks_table *from = &t->tables[i];
        struct ks_chain *chains = ARENA_ARRAY(a, struct ks_chain, from->n_chains);
        for (size_t c = 0; c < from->n_chains; c++) {
            const char **rules = ARENA_ARRAY(a, const char *, from->chains[c].n_rules);
            for (size_t r = 0; r < from->chains[c].n_rules; r++) {
                rules[r] = saved(&words, &parts, from->chains[c].rules[r], family);
            }
            chains[c] = (struct ks_chain){from->chains[c].name, rules, from->chains[c].n_rules};
        }
        if (from->n_chains > 0) {
            qsort(chains, from->n_chains, sizeof(chains[0]), cmp_chains);
        }
        out.tables[i] =
            (struct ks_table){.name = from->name, .chains = chains, .n_chains = from->n_chains};
    }
    for (size_t i = 0; i < PART_MAX; i++) {
        str_buf_done(&parts.of[i]);
    }
    free(words.text);
    free((void *)words.items);
    return out;
}
