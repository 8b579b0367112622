/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_aws_xml.c: aws_xml_parse() and the questions to its tree.
 *
 * What holds for every input: names and texts are never NULL, names have no colon, an element with
 * children has no text, the tree is no deeper than the cap, each child is found by its name; a
 * refusal is TRANSIENT or INVALID, says something, and gives no tree. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "providers/aws/model/aws_xml.h"

static void check_node(const struct aws_node *n, int depth)
{
    FUZZ_CHECK(depth <= AWS_XML_DEPTH_MAX);
    FUZZ_CHECK(n->name != NULL && n->text != NULL && strchr(n->name, ':') == NULL);
    FUZZ_CHECK(n->children == NULL || n->text[0] == '\0');
    for (const struct aws_node *c = n->children; c != NULL; c = c->next) {
        const struct aws_node *first = aws_xml_child(n, c->name);
        FUZZ_CHECK(first != NULL && strcmp(first->name, c->name) == 0);
        check_node(c, depth + 1);
    }
}

static size_t few(const struct aws_node *n)
{
    size_t count = 0;
    for (const struct aws_node *c = n->children; c != NULL && count < 100; c = c->next) {
        count++;
    }
    return count;
}

FUZZ_TARGET(aws_xml, const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct err err = ERR_INIT;
    const struct aws_node *root = NULL;
    int64_t number = 0;
    int rc = aws_xml_parse(a, (const char *)data, size, &root, &err);
    if (rc == ERR_OK) {
        FUZZ_CHECK(root != NULL && root->next == NULL);
        if (few(root) < 100) { /* looking for each child is quadratic */
            check_node(root, 1);
        }
        FUZZ_CHECK(aws_xml_count(root, "Names") == 0 || aws_xml_find(root, "Names") != NULL);
        FUZZ_CHECK(!aws_xml_int(root, "a/b", &number) || aws_xml_text(root, "a/b") != NULL);
        (void)aws_xml_bool(root, "a", false);
    } else {
        FUZZ_CHECK((rc == ERR_TRANSIENT || rc == ERR_INVALID) && err.message[0] != '\0');
        FUZZ_CHECK(root == NULL);
    }
    arena_free(a);
    return 0;
}
