/* SPDX-License-Identifier: Apache-2.0 */
/* aws_xml.h: the XML in which EC2, the load balancers and STS answer, as a tree.
 *
 * Names are local names: namespaces and prefixes are dropped, attributes too.  An element has
 * either children or text: its text counts only when it has no children, as it stands (blanks and
 * line ends kept, entities decoded).  A missing element is NULL, an empty one is a node with the
 * text "".  A document type is refused, so there are no entities but XML's five.  Bytes, depth and
 * number of elements are capped.  Everything lives in the arena and is const once parsed.
 * Source: docs/spec/aws.md 3.2.  Pure. */
#ifndef TRIMTAB_AWS_XML_H
#define TRIMTAB_AWS_XML_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AWS_XML_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define AWS_XML_TEXT_MAX  ((size_t)256 * 1024) /* of an element */
#define AWS_XML_DEPTH_MAX 64
#define AWS_XML_NODES_MAX ((size_t)100000) /* at a time: of a tree, or of it and one item */

struct aws_node {
    const char *name;                /* local name */
    const char *text;                /* never NULL; "" when it has children */
    const struct aws_node *children; /* the first one, or NULL */
    const struct aws_node *next;     /* its next sibling, or NULL */
};

/* Parses all of bytes[0..n).  ERR_TRANSIENT: no XML, or it ends too early (a page of a proxy, a cut
 * answer): the same request may be answered well.  ERR_INVALID: a document type, or over a cap:
 * asking again would not help. */
int aws_xml_parse(struct arena *a, const char *bytes, size_t n, const struct aws_node **ret,
                  struct err *err) _warn_unused_;
/* The same from bytes as they arrive, for long lists: the elements at `path` (from the root's
 * children: "subnetSet/item") are handed to fn() one by one, in order, and are gone when it
 * returns; *ret is the tree without them, and without what stands beside them inside the list.
 * Items come before it is known that the document is whole, so their receiver must be able to
 * forget them again.  fn() may end it by a code other than ERR_OK.  _new(): nothing is read yet,
 * the tree is in `a`, which must outlive the stream; free it. */
struct aws_xml_stream;
struct aws_xml_stream *aws_xml_stream_new(struct arena *a, const char *path,
                                          int (*fn)(void *arg, const struct aws_node *item,
                                                    struct err *err),
                                          void *arg) _warn_unused_;
void aws_xml_stream_feed(struct aws_xml_stream *s, const char *bytes, size_t n);
/* No more comes; codes as above.  Call it once. */
int aws_xml_stream_end(struct aws_xml_stream *s, const struct aws_node **ret,
                       struct err *err) _warn_unused_;
void aws_xml_stream_free(struct aws_xml_stream *s); /* NULL is fine */

/* The first child of that name; NULL when there is none or `n` is NULL. */
const struct aws_node *aws_xml_child(const struct aws_node *n, const char *name);
/* Follows "A/B/C" from child to child; "" is `n` itself. */
const struct aws_node *aws_xml_find(const struct aws_node *n, const char *path);
/* The text of "A/B/C"; NULL when it is missing, "" when it is empty. */
const char *aws_xml_text(const struct aws_node *n, const char *path);
/* Decimal text, blanks around it ignored; false when it is missing or none.  *ret is
 * written only on success. */
bool aws_xml_int(const struct aws_node *n, const char *path, int64_t *ret);
/* "true" or "false", without case; `otherwise` when it is missing or neither. */
bool aws_xml_bool(const struct aws_node *n, const char *path, bool otherwise);

/* Lists: the children named "member" or "item" of "A/B/C".  First and next, NULL at the end. */
const struct aws_node *aws_xml_first(const struct aws_node *n, const char *path);
const struct aws_node *aws_xml_after(const struct aws_node *item);
size_t aws_xml_count(const struct aws_node *n, const char *path);
#define AWS_XML_EACH(item, node, path)                                                             \
    for (const struct aws_node *item = aws_xml_first((node), (path)); item != NULL;                \
         item = aws_xml_after(item))

#endif
