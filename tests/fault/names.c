/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: see names.h.  One map from words to labels; a word is a run of letters, digits and dots,
 * or two of them with a line between ("sg-0123"). */
#include "tests/fault/names.h"

#include <ctype.h>
#include <string.h>

#include "common/base/lock.h"
#include "common/base/map.h"

struct names {
    struct mutex lock;
    struct map *labels; /* word → label, owned */
    struct map *owners; /* name of a load balancer → key of its Service, owned */
};

struct names *names_new(void)
{
    struct names *n = xcalloc(1, sizeof(*n));
    mutex_init(&n->lock);
    n->labels = map_new(free);
    n->owners = map_new(free);
    return n;
}

void names_free(struct names *n)
{
    if (n != NULL) {
        map_free(n->labels);
        map_free(n->owners);
        mutex_done(&n->lock);
        free(n);
    }
}

const char *names_lb(struct arena *a, const char *uid)
{
    char *name = arena_printf(a, "a%s", str_replace(a, uid, "-", ""));
    if (strlen(name) > 32) {
        name[32] = '\0';
    }
    return name;
}

void names_learn(struct names *n, struct json_object *service)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct json_object *meta = json_member(service, "metadata");
    const char *lb = names_lb(a, str_nonnull(json_str(meta, "uid")));
    const char *key = arena_printf(a, "%s/%s", json_str(meta, "namespace"), json_str(meta, "name"));
    mutex_lock(&n->lock);
    map_set(n->labels, lb, xasprintf("{%s}", key));
    map_set(n->owners, lb, xstrdup(key));
    mutex_unlock(&n->lock);
}

const char *names_owner(struct names *n, struct arena *a, const char *lb_name)
{
    mutex_lock(&n->lock);
    const char *key = arena_strdup(a, map_get(n->owners, lb_name));
    mutex_unlock(&n->lock);
    return key;
}

void names_alias(struct names *n, const char *text, const char *label)
{
    mutex_lock(&n->lock);
    map_set(n->labels, text, xstrdup(label));
    mutex_unlock(&n->lock);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '.';
}

/* Also a colon inside of an IPv6 address. */
static bool goes_on(const char *word, size_t len)
{
    char next = word[len] == '\0' ? '\0' : word[len + 1];
    return is_word(word[len]) ||
           (len > 0 && word[len] == ':' && (isxdigit((unsigned char)next) || next == ':'));
}

/* "sg-0123": two words and the line between them; 0: no line follows. */
static size_t pair_of(const char *text, size_t len)
{
    size_t more = 0;
    while (text[len] == '-' && is_word(text[len + 1 + more])) {
        more++;
    }
    return more > 0 ? len + 1 + more : 0;
}

static const char *label_of(const struct names *n, struct str_buf *word, const char *text,
                            size_t len) _requires_(n->lock)
{
    str_buf_reset(word);
    str_append_n(word, text, len);
    return map_get(n->labels, str_buf_text(word));
}

char *names_replace(struct names *n, struct arena *a, const char *text)
{
    _cleanup_(str_buf_done) struct str_buf out = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf word = STR_BUF_INIT;
    mutex_lock(&n->lock);
    for (const char *p = text; *p != '\0';) {
        size_t len = 0;
        while (goes_on(p, len)) {
            len++;
        }
        if (len == 0) {
            str_append_c(&out, *p++);
            continue;
        }
        size_t pair = pair_of(p, len);
        const char *label = pair > 0 ? label_of(n, &word, p, pair) : NULL;
        len = label != NULL ? pair : len;
        label = label != NULL ? label : label_of(n, &word, p, len);
        if (label != NULL) {
            str_append(&out, label);
        } else {
            str_append_n(&out, p, len);
        }
        p += len;
    }
    mutex_unlock(&n->lock);
    return str_buf_to_arena(&out, a);
}
