/* SPDX-License-Identifier: Apache-2.0 */
/* aws_xml.c: see aws_xml.h: a tree from expat's events.
 *
 * What is held whole goes to expat in one piece, because its cost grows with the square when one
 * long token comes in many; in a stream no token may be long.  Nothing is resolved or loaded:
 * without a document type expat knows no external thing.  Names repeat by the ten thousand, so a
 * small table of recent ones is asked before one is copied. */
#include "providers/aws/model/aws_xml.h"

#include "common/base/hash.h"
#include "common/base/str.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 256
#define LIST_SEGMENTS                                                                              \
    2 /* of a path are open inside the list: what else is there is no token of a next page */
#define TOKEN_MAX ((int64_t)256 * 1024) /* of a stream: a tag, a comment */

struct builder {
    XML_Parser parser;
    struct arena *a; /* of the tree */
    struct err *err;
    bool refused; /* *err says why */
    struct aws_node *open[AWS_XML_DEPTH_MAX];
    struct aws_node *last[AWS_XML_DEPTH_MAX]; /* the child that was added last */
    size_t depth;
    size_t nodes;
    struct aws_node *root;
    struct str_buf text; /* of the innermost open element, while it has no child */
    const char *names[NAMES];
    /* items that are handed over; path NULL: none are */
    const char *path;
    size_t path_depth;   /* elements in it */
    size_t matched;      /* so many of them are open, from the front */
    struct arena *items; /* of the item that is open */
    bool in_item;
    size_t nodes_before; /* the item that is open */
    size_t skipped;      /* elements beside items that are open; nothing is kept of them */
    int (*fn)(void *arg, const struct aws_node *item, struct err *err);
    void *arg;
    int rc; /* fn()'s */
};

static void refuse(struct builder *b, const char *what)
{
    if (!b->refused) {
        b->refused = true;
        (void)err_set(b->err, ERR_INVALID, "XML, line %lu: %s",
                      (unsigned long)XML_GetCurrentLineNumber(b->parser), what);
        (void)XML_StopParser(b->parser, XML_FALSE);
    }
}

static const char *local_name(const char *raw)
{
    const char *colon = strrchr(raw, ':');
    return colon != NULL ? colon + 1 : raw;
}

static const char *name_of(struct builder *b, const char *raw)
{
    const char *local = local_name(raw);
    const char **slot = &b->names[hash_quick(0, local, strlen(local)) % NAMES];
    if (!str_eq(*slot, local)) {
        *slot = arena_strdup(b->a, local);
    }
    return *slot;
}

/* The segment of the path that stands at this depth: 1 is the first. */
static bool is_segment(const struct builder *b, size_t depth, const char *name)
{
    const char *p = b->path;
    for (size_t i = 1; i < depth; i++) {
        p = strchr(p, '/') + 1;
    }
    size_t len = strcspn(p, "/");
    return strncmp(p, name, len) == 0 && name[len] == '\0';
}

/* Goes down the path; true: an item begins. */
static bool begins_item(struct builder *b, const char *raw)
{
    if (b->path == NULL || b->in_item || b->depth == 0 || b->matched + 1 != b->depth ||
        b->depth > b->path_depth || !is_segment(b, b->depth, local_name(raw))) {
        return false;
    }
    b->matched++;
    b->in_item = b->matched == b->path_depth;
    return b->in_item;
}

static void on_start(void *arg, const XML_Char *raw, const XML_Char **attributes)
{
    struct builder *b = arg;
    (void)attributes;
    if (b->refused) {
        return;
    }
    if (b->depth == AWS_XML_DEPTH_MAX) {
        refuse(b, "too many elements inside each other");
        return;
    }
    if (b->nodes++ == AWS_XML_NODES_MAX) {
        refuse(b, "too many elements");
        return;
    }
    size_t matched = b->matched;
    bool item = begins_item(b, raw);
    if (item) {
        b->nodes_before = b->nodes - 1;
    }
    if (b->skipped > 0 || (!b->in_item && matched >= LIST_SEGMENTS && matched == b->matched)) {
        b->skipped++;
        b->depth++;
        return;
    }
    struct aws_node *n = ARENA_NEW(b->in_item ? b->items : b->a, struct aws_node);
    *n = (struct aws_node){.name = name_of(b, raw), .text = ""};
    if (item) {
        b->open[b->depth] = n;
        b->last[b->depth] = NULL;
        b->depth++;
        str_buf_reset(&b->text);
        return;
    }
    if (b->depth == 0) {
        b->root = n;
    } else if (b->last[b->depth - 1] != NULL) {
        b->last[b->depth - 1]->next = n;
    } else {
        b->open[b->depth - 1]->children = n;
    }
    if (b->depth > 0) {
        b->last[b->depth - 1] = n;
    }
    b->open[b->depth] = n;
    b->last[b->depth] = NULL;
    b->depth++;
    str_buf_reset(&b->text);
}

static void hand_over(struct builder *b, const struct aws_node *item)
{
    b->rc = b->fn(b->arg, item, b->err);
    arena_reset(b->items);
    b->in_item = false;
    b->nodes = b->nodes_before; /* they are gone */
    if (b->rc != ERR_OK) {
        b->refused = true;
        (void)XML_StopParser(b->parser, XML_FALSE);
    }
}

static void on_end(void *arg, const XML_Char *raw)
{
    struct builder *b = arg;
    (void)raw;
    if (b->refused) {
        return;
    }
    if (b->skipped > 0) {
        b->skipped--;
        b->depth--;
        return;
    }
    struct aws_node *n = b->open[--b->depth];
    if (n->children == NULL && b->text.len > 0) {
        n->text = str_buf_to_arena(&b->text, b->in_item ? b->items : b->a);
    }
    str_buf_reset(&b->text);
    if (b->matched > 0 && b->depth == b->matched) {
        if (b->in_item) {
            hand_over(b, n);
        }
        b->matched--;
    }
}

static void on_text(void *arg, const XML_Char *bytes, int n)
{
    struct builder *b = arg;
    if (b->refused || b->skipped > 0 || b->depth == 0 || b->open[b->depth - 1]->children != NULL) {
        return;
    }
    if (b->text.len + (size_t)n > AWS_XML_TEXT_MAX) {
        refuse(b, "a text that does not end");
    } else {
        str_append_n(&b->text, bytes, (size_t)n);
    }
}

static void on_doctype(void *arg, const XML_Char *name, const XML_Char *system,
                       const XML_Char *public, int internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)internal;
    refuse(arg, "a document type is not allowed");
}

static void begin(struct builder *b)
{
    b->parser = XML_ParserCreate(NULL);
    if (b->parser == NULL) {
        out_of_memory(0);
    }
    XML_SetUserData(b->parser, b);
    XML_SetElementHandler(b->parser, on_start, on_end);
    XML_SetCharacterDataHandler(b->parser, on_text);
    XML_SetStartDoctypeDeclHandler(b->parser, on_doctype);
}

/* `well`: expat's word about the last bytes. */
static int end(struct builder *b, bool well, const struct aws_node **ret)
{
    if (b->refused) {
        return b->rc != ERR_OK ? b->rc : ERR_INVALID;
    }
    if (!well) {
        return err_set(b->err, ERR_TRANSIENT, "no whole XML: line %lu: %s",
                       (unsigned long)XML_GetCurrentLineNumber(b->parser),
                       XML_ErrorString(XML_GetErrorCode(b->parser)));
    }
    *ret = b->root;
    return ERR_OK;
}

static void done(struct builder *b)
{
    if (b->parser != NULL) {
        XML_ParserFree(b->parser);
        b->parser = NULL;
    }
    str_buf_done(&b->text);
}

static int run(struct builder *b, const char *bytes, size_t n, const struct aws_node **ret)
{
    if (n > AWS_XML_BYTES_MAX) {
        return err_set(b->err, ERR_INVALID, "XML: more than %zu bytes", AWS_XML_BYTES_MAX);
    }
    begin(b);
    bool well = XML_Parse(b->parser, bytes, (int)n, XML_TRUE) == XML_STATUS_OK;
    int rc = end(b, well, ret);
    done(b);
    return rc;
}

int aws_xml_parse(struct arena *a, const char *bytes, size_t n, const struct aws_node **ret,
                  struct err *err)
{
    struct builder b = {.a = a, .err = err};
    return run(&b, bytes, n, ret);
}

/* ---- as it arrives --------------------------------------------------------------------------- */

static size_t count_segments(const char *path)
{
    size_t n = 1;
    for (; *path != '\0'; path++) {
        n += *path == '/';
    }
    return n;
}

struct aws_xml_stream {
    struct builder b;
    struct arena *items;
    struct err err;
    size_t bytes;
    bool ill; /* what came is no XML */
};

struct aws_xml_stream *aws_xml_stream_new(struct arena *a, const char *path,
                                          int (*fn)(void *arg, const struct aws_node *item,
                                                    struct err *err),
                                          void *arg)
{
    struct aws_xml_stream *s = xcalloc(1, sizeof(*s));
    s->items = arena_new();
    s->b = (struct builder){.a = a,
                            .err = &s->err,
                            .path = path,
                            .path_depth = count_segments(path),
                            .items = s->items,
                            .fn = fn,
                            .arg = arg};
    begin(&s->b);
    return s;
}

/* Expat looks at a token that is not complete again with every piece. */
static bool token_is_long(const struct aws_xml_stream *s)
{
    int64_t at = (int64_t)XML_GetCurrentByteIndex(s->b.parser);
    return (int64_t)s->bytes - (at > 0 ? at : 0) > TOKEN_MAX;
}

void aws_xml_stream_feed(struct aws_xml_stream *s, const char *bytes, size_t n)
{
    if (s->b.refused || s->ill) {
        return;
    }
    s->bytes += n;
    if (s->bytes > AWS_XML_BYTES_MAX) {
        refuse(&s->b, "more bytes than any answer has");
        return;
    }
    s->ill = XML_Parse(s->b.parser, bytes, (int)n, XML_FALSE) != XML_STATUS_OK;
    if (!s->ill && token_is_long(s)) {
        refuse(&s->b, "a tag or comment that does not end");
    }
}

int aws_xml_stream_end(struct aws_xml_stream *s, const struct aws_node **ret, struct err *err)
{
    bool well =
        !s->ill && !s->b.refused && XML_Parse(s->b.parser, "", 0, XML_TRUE) == XML_STATUS_OK;
    int rc = end(&s->b, well, ret);
    if (rc != ERR_OK) {
        (void)err_copy(err, &s->err);
    }
    done(&s->b);
    return rc;
}

void aws_xml_stream_free(struct aws_xml_stream *s)
{
    if (s != NULL) {
        done(&s->b);
        arena_free(s->items);
        free(s);
    }
}

/* ---- looking into it ------------------------------------------------------------------------- */

static const struct aws_node *child_n(const struct aws_node *n, const char *name, size_t len)
{
    for (const struct aws_node *c = n != NULL ? n->children : NULL; c != NULL; c = c->next) {
        if (strncmp(c->name, name, len) == 0 && c->name[len] == '\0') {
            return c;
        }
    }
    return NULL;
}

const struct aws_node *aws_xml_child(const struct aws_node *n, const char *name)
{
    return child_n(n, name, strlen(name));
}

const struct aws_node *aws_xml_find(const struct aws_node *n, const char *path)
{
    while (n != NULL && *path != '\0') {
        size_t len = strcspn(path, "/");
        n = child_n(n, path, len);
        path += path[len] == '/' ? len + 1 : len;
    }
    return n;
}

const char *aws_xml_text(const struct aws_node *n, const char *path)
{
    const struct aws_node *found = aws_xml_find(n, path);
    return found != NULL ? found->text : NULL;
}

bool aws_xml_int(const struct aws_node *n, const char *path, int64_t *ret)
{
    const char *text = aws_xml_text(n, path);
    char digits[32];
    if (text == NULL) {
        return false;
    }
    text += strspn(text, " \t\r\n");
    size_t len = strcspn(text, " \t\r\n");
    if (len >= sizeof digits || text[len + strspn(text + len, " \t\r\n")] != '\0') {
        return false;
    }
    memcpy(digits, text, len);
    digits[len] = '\0';
    return str_to_i64(digits, ret);
}

bool aws_xml_bool(const struct aws_node *n, const char *path, bool otherwise)
{
    const char *text = aws_xml_text(n, path);
    if (str_eq_nocase(text, "true")) {
        return true;
    }
    return str_eq_nocase(text, "false") ? false : otherwise;
}

static const struct aws_node *item_from(const struct aws_node *n)
{
    while (n != NULL && !str_eq(n->name, "member") && !str_eq(n->name, "item")) {
        n = n->next;
    }
    return n;
}

const struct aws_node *aws_xml_first(const struct aws_node *n, const char *path)
{
    const struct aws_node *list = aws_xml_find(n, path);
    return list != NULL ? item_from(list->children) : NULL;
}

const struct aws_node *aws_xml_after(const struct aws_node *item)
{
    return item_from(item->next);
}

size_t aws_xml_count(const struct aws_node *n, const char *path)
{
    size_t count = 0;
    AWS_XML_EACH(item, n, path)
    {
        (void)item;
        count++;
    }
    return count;
}
