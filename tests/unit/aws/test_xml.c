/* SPDX-License-Identifier: Apache-2.0 */
/* test_xml.c: the answers of AWS as trees, and what no answer may do to us
 * (docs/spec/aws.md 3.2, 11.16). */
#include "providers/aws/model/aws_xml.h"
#include "tests/support/unit.h"
#include "tests/unit/gce/pure.h"

static const struct aws_node *parse(struct arena *a, const char *text)
{
    const struct aws_node *root = NULL;
    struct err err = ERR_INIT;
    if (aws_xml_parse(a, text, strlen(text), &root, &err) != ERR_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return root;
}

static int refused(struct arena *a, const char *text, size_t n, struct err *err)
{
    const struct aws_node *root = NULL;
    err_clear(err);
    int rc = aws_xml_parse(a, text, n, &root, err);
    assert_null(root);
    assert_true(rc == ERR_OK || err->message[0] != '\0');
    return rc;
}

static void error__of_a_classic_load_balancer(void **state)
{
    const struct aws_node *root =
        parse(*state,
              "<ErrorResponse xmlns=\"http://elasticloadbalancing.amazonaws.com/doc/2012-06-01/\">"
              "<Error><Type>Sender</Type><Code>LoadBalancerNotFound</Code><Message>no &lt;x&gt;"
              "</Message></Error><RequestId>r-1</RequestId></ErrorResponse>");
    same_text("root", root->name, "ErrorResponse");
    same_text("code", aws_xml_text(root, "Error/Code"), "LoadBalancerNotFound");
    same_text("message", aws_xml_text(root, "Error/Message"), "no <x>");
    same_text("id", aws_xml_text(root, "RequestId"), "r-1");
}

static void names__have_no_namespace(void **state)
{
    const struct aws_node *root = parse(
        *state, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<e:A xmlns:e=\"urn:e\" e:x=\"1\">"
                "<e:B>b</e:B></e:A>\n");
    same_text("root", root->name, "A");
    same_text("child", aws_xml_text(root, "B"), "b");
}

static void missing__is_not_empty(void **state)
{
    const struct aws_node *root = parse(*state, "<r><Value/><Key>k</Key><E></E></r>");
    same_text("empty", aws_xml_text(root, "Value"), "");
    same_text("empty, too", aws_xml_text(root, "E"), "");
    same_text("missing", aws_xml_text(root, "SslPolicy"), NULL);
    same_text("below a leaf", aws_xml_text(root, "Key/More"), NULL);
    same_text("of nothing", aws_xml_text(NULL, "Key"), NULL);
    assert_ptr_equal(aws_xml_find(root, ""), root);
    assert_null(aws_xml_child(NULL, "Key"));
    assert_null(aws_xml_first(root, "None"));
    assert_int_equal(aws_xml_count(root, "Value"), 0);
}

static void text__is_kept_as_it_stands__but_not_between_elements(void **state)
{
    const struct aws_node *root = parse(
        *state, "<r>\n  <a>  two&#xA;lines &amp; more </a>\n  <b><![CDATA[<c/>]]></b>x<d/></r>");
    same_text("a", aws_xml_text(root, "a"), "  two\nlines & more ");
    same_text("b", aws_xml_text(root, "b"), "<c/>");
    same_text("r", root->text, "");
    assert_null(root->children->children);
}

static void lists__of_member_and_of_item(void **state)
{
    static const char text[] =
        "<r><ipPermissions><item><fromPort>80</fromPort></item><other/><item><toPort> 443 </toPort>"
        "</item></ipPermissions><Names><member>a</member><member>b</member></Names></r>";
    const struct aws_node *root = parse(*state, text);
    const char *names[2] = {0};
    size_t n = 0;
    AWS_XML_EACH(item, root, "Names")
    {
        names[n++] = item->text;
    }
    assert_int_equal(n, 2);
    same_text("first", names[0], "a");
    same_text("second", names[1], "b");
    assert_int_equal(aws_xml_count(root, "ipPermissions"), 2);
    const struct aws_node *second = aws_xml_after(aws_xml_first(root, "ipPermissions"));
    int64_t port = -1;
    assert_false(aws_xml_int(second, "fromPort", &port));
    assert_int_equal(port, -1);
    assert_true(aws_xml_int(second, "toPort", &port));
    assert_int_equal(port, 443);
}

static void numbers_and_switches(void **state)
{
    const struct aws_node *root =
        parse(*state, "<r><a>12x</a><b>1 2</b><c/><d>-1</d><e>99999999999999999999</e><f>TRUE</f>"
                      "<g>false</g><h>yes</h><i>1234567890123456789012345678901234567890</i></r>");
    static const char *const bad[] = {"a", "b", "c", "e", "i", "none"};
    int64_t n = 7;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(aws_xml_int(root, bad[i], &n));
        assert_int_equal(n, 7);
    }
    assert_true(aws_xml_int(root, "d", &n));
    assert_int_equal(n, -1);
    assert_true(aws_xml_bool(root, "f", false));
    assert_false(aws_xml_bool(root, "g", true));
    assert_true(aws_xml_bool(root, "h", true));
    assert_false(aws_xml_bool(root, "none", false));
}

/* Every shorter form of a good answer is one that was cut: it may come whole the next time. */
static void cut_answers__are_transient(void **state)
{
    static const char text[] = "<?xml version=\"1.0\"?><r xmlns=\"u\"><a>x&amp;y</a><b/></r>";
    struct err err = ERR_INIT;
    for (size_t n = 0; n < strlen(text); n++) {
        assert_int_equal(refused(*state, text, n, &err), ERR_TRANSIENT);
    }
}

static void what_is_no_xml__is_transient(void **state)
{
    static const char *const rows[] = {
        "",
        "{}",
        "<html><body>Service unavailable<br></body></html>",
        "<a></b>",
        "<a/><b/>",
        "<a>&nbsp;</a>",
        "<a>\xff\xfe</a>",
        "<a x=1/>",
    };
    struct err err = ERR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (refused(*state, rows[i], strlen(rows[i]), &err) != ERR_TRANSIENT) {
            fail_msg("%s: %s", rows[i], err.message);
        }
    }
    assert_int_equal(refused(*state, "<a>\0</a>", 8, &err), ERR_TRANSIENT);
}

static void document_types__are_refused(void **state)
{
    static const char *const rows[] = {
        "<!DOCTYPE r [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]><r>&b;</r>",
        "<!DOCTYPE r SYSTEM \"file:///etc/passwd\"><r/>",
        "<!DOCTYPE r PUBLIC \"x\" \"http://127.0.0.1/\"><r/>",
        "<!DOCTYPE html><html/>",
    };
    struct err err = ERR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(refused(*state, rows[i], strlen(rows[i]), &err), ERR_INVALID);
        assert_non_null(strstr(err.message, "document type"));
    }
}

static char *repeated(struct arena *a, const char *head, const char *what, size_t n,
                      const char *tail)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, head);
    for (size_t i = 0; i < n; i++) {
        str_append(&b, what);
    }
    str_append(&b, tail);
    return str_buf_to_arena(&b, a);
}

static void caps__depth_elements_and_bytes(void **state)
{
    struct arena *a = *state;
    struct err err = ERR_INIT;
    const char *deep = repeated(a, "", "<a>", AWS_XML_DEPTH_MAX + 1, "");
    assert_int_equal(refused(a, deep, strlen(deep), &err), ERR_INVALID);
    const char *wide = repeated(a, "<r>", "<a/>", AWS_XML_NODES_MAX, "</r>");
    assert_int_equal(refused(a, wide, strlen(wide), &err), ERR_INVALID);
    assert_int_equal(refused(a, "<a/>", AWS_XML_BYTES_MAX + 1, &err), ERR_INVALID);
    const char *fits =
        repeated(a, repeated(a, "", "<a>", AWS_XML_DEPTH_MAX, ""), "</a>", AWS_XML_DEPTH_MAX, "");
    same_text("root", parse(a, fits)->name, "a");
}

UNIT_MAIN(xml)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(error__of_a_classic_load_balancer),
        PURE_TEST(names__have_no_namespace),
        PURE_TEST(missing__is_not_empty),
        PURE_TEST(text__is_kept_as_it_stands__but_not_between_elements),
        PURE_TEST(lists__of_member_and_of_item),
        PURE_TEST(numbers_and_switches),
        PURE_TEST(cut_answers__are_transient),
        PURE_TEST(what_is_no_xml__is_transient),
        PURE_TEST(document_types__are_refused),
        PURE_TEST(caps__depth_elements_and_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
