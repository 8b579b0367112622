/* SPDX-License-Identifier: Apache-2.0 */
/* test_listeners.c: listeners of classic load balancers, and which come and go; rows 31 to 63. */
#include "providers/aws/aws_sides.h"
#include "providers/aws/model/aws_service_rules.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"

static const char *pair(struct arena *a, const char *key, const char *value)
{
    return value == NULL ? "" : arena_printf(a, ",\"%s\":\"%s\"", key, value);
}

static const struct tt_service *service(struct arena *a, int port, const char *name,
                                        const char *backend, const char *cert, const char *ports,
                                        const char *type)
{
    const char *annotations =
        arena_printf(a, "{\"x\":\"\"%s%s%s%s}", pair(a, "backend-protocol", backend),
                     pair(a, "ssl-cert", cert), pair(a, "ssl-ports", ports), pair(a, "type", type));
    const char *spec =
        arena_printf(a, "\"ports\":[{\"port\":%d,\"nodePort\":30000,\"protocol\":\"TCP\"%s}]", port,
                     pair(a, "name", name));
    return aws_test_object(a, annotations, spec);
}

static const char *listener_text(struct arena *a, const struct tt_service *s)
{
    size_t n;
    const struct aws_classic_listener *l;
    struct err err = ERR_INIT;
    const struct aws_service_port *ports = aws_service_ports(a, s, AWS_CLASSIC, &n);
    if (aws_service_listeners(a, s, ports, n, &l, &err) != ERR_OK) {
        assert_int_equal(err.code, ERR_INVALID);
        assert_non_null(strstr(err.message, AWS_ANNOTATION "backend-protocol"));
        return "error";
    }
    assert_int_equal(l[0].instance_port, 30000);
    return arena_printf(a, "%s/%s/%s", l[0].protocol, l[0].instance_protocol,
                        str_or(l[0].certificate, "none"));
}

static void of_a_port__31_to_49(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row;
        int port;
        const char *name, *backend, *cert, *ports, *want;
    } rows[] = {
        {"31", 80, NULL, NULL, NULL, NULL, "tcp/tcp/none"},
        {"32", 80, NULL, NULL, "cert", NULL, "ssl/tcp/cert"},
        {"33", 443, NULL, "https", NULL, NULL, "tcp/tcp/none"},
        {"34", 443, NULL, "bacon", "foo", NULL, "error"},
        {"35", 443, NULL, "http=", "=", NULL, "error"},
        {"36", 443, NULL, "https", "cert", NULL, "https/https/cert"},
        {"37", 443, NULL, "http", "cert", NULL, "https/http/cert"},
        {"38", 443, NULL, "ssl", "cert", NULL, "ssl/ssl/cert"},
        {"39", 443, NULL, "tcp", "cert", NULL, "ssl/tcp/cert"},
        {"40", 1234, NULL, "tcp", "cert", "1234,5678", "ssl/tcp/cert"},
        {"41", 443, NULL, "tcp", "cert", "1234,5678", "tcp/tcp/none"},
        {"42", 1234, "bar", "tcp", "cert", "foo,bar", "ssl/tcp/cert"},
        {"43", 443, NULL, "tcp", "cert", "foo,bar", "tcp/tcp/none"},
        {"44", 80, NULL, "http", NULL, NULL, "http/http/none"},
        {"45", 443, "Https", NULL, "cert", "https", "ssl/tcp/cert"},
        {"46", 443, "HTTPS", NULL, "cert", "HTTPS", "tcp/tcp/none"},
        {"47", 8443, NULL, NULL, "cert", "443, 8443", "ssl/tcp/cert"},
        {"48", 443, NULL, "HTTP", NULL, NULL, "tcp/tcp/none"},
        {"49", 443, NULL, NULL, "cert", "*", "ssl/tcp/cert"},
        {"15.3", 80, NULL, NULL, "cert", "443,", "tcp/tcp/none"},
        {"4.4", 443, NULL, NULL, "cert", "+443", "ssl/tcp/cert"},
        {"4.4", 443, NULL, NULL, "cert", "", "ssl/tcp/cert"},
        {"4.4", 443, NULL, NULL, "", NULL, "tcp/tcp/none"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_service *s = service(a, rows[i].port, rows[i].name, rows[i].backend,
                                             rows[i].cert, rows[i].ports, NULL);
        same_text(rows[i].row, listener_text(a, s), rows[i].want);
    }
}

static void nlb__compares_port_names_as_they_are__45(void **state)
{
    size_t n;
    const struct tt_service *s = service(*state, 443, "Https", NULL, "cert", "https", "nlb");
    assert_false(aws_service_ports(*state, s, AWS_NLB, &n)[0].tls);
    assert_true(aws_service_ports(*state, s, AWS_CLASSIC, &n)[0].tls);
}

static void udp__never_takes_tls__5_1(void **state)
{
    size_t n;
    const struct tt_service *s =
        aws_test_object(*state, "{\"type\":\"nlb\",\"ssl-cert\":\"arn\"}",
                        "\"ports\":[{\"port\":53,\"nodePort\":30053,\"protocol\":\"UDP\"}]");
    assert_false(aws_service_ports(*state, s, AWS_NLB, &n)[0].tls);
    assert_int_equal(n, 1);
}

/* Upstream reads blanks and empty items of ssl-ports otherwise: its listener stays until the
 * annotation is edited. */
static void stands_as_upstream_reads_it__15_3_and_13_29(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *ports, *name, *listener, *before, *want;
    } rows[] = {
        {"an empty item, unnamed port", "443,", NULL, "TLS", NULL, "tls"},
        {"an empty item, not edited", "443,", NULL, "TLS", "443,", "tls"},
        {"an empty item, edited", "443,", NULL, "TLS", "443", "plain"},
        {"an empty item, named port", "443,", "web", "TCP", NULL, "plain"},
        {"an empty item, made by us", "443,", NULL, "TCP", NULL, "plain"},
        {"an empty item, no listener", "443,", NULL, NULL, NULL, "plain"},
        {"a blank before the number", "443, 80", NULL, "TCP", NULL, "plain"},
        {"a blank before the number, made by us", "443, 80", NULL, "TLS", NULL, "tls"},
        {"a blank before the number, edited", "443, 80", NULL, "TCP", "443", "tls"},
        {"a blank before the number, no listener", "443, 80", NULL, NULL, NULL, "tls"},
        {"a blank before the name", "x, web", "web", "TCP", NULL, "plain"},
        {"blanks around the star", " * ", NULL, "TCP", NULL, "plain"},
        {"nothing doubtful", "443", NULL, "TLS", NULL, "plain"},
    };
    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        const size_t k = i / 2;
        enum aws_kind kind = i % 2 == 0 ? AWS_NLB : AWS_CLASSIC;
        size_t n;
        const struct tt_service *s =
            service(a, 80, rows[k].name, NULL, "cert", rows[k].ports, "nlb");
        const struct tt_service *before =
            service(a, 80, rows[k].name, NULL, "cert", rows[k].before, "nlb");
        const struct aws_service read = {
            .in = s, .kind = kind, .ports = aws_service_ports(a, s, kind, &n), .n_ports = 1};
        const char *protocol = str_nonnull(rows[k].listener);
        const struct aws_listener listener = {.port = 80, .protocol = protocol};
        const struct aws_classic_listener old = {
            .port = 80, .protocol = str_eq(protocol, "TLS") ? "SSL" : "tcp"};
        const struct aws_classic classic = {.listeners = &old, .n_listeners = protocol[0] != '\0'};
        const struct aws_observed seen = {.listeners = &listener,
                                          .n_listeners = protocol[0] != '\0',
                                          .classic = kind == AWS_CLASSIC ? &classic : NULL};
        const struct aws_service *out =
            aws_sides_settle(a, &read, &seen, rows[k].before != NULL ? before : NULL);
        same_text(rows[k].row, out->ports[0].tls ? "tls" : "plain", rows[k].want);
    }
}

/* "443 HTTP 443 HTTP abc": port, protocol, instance port, protocol, certificate; "-"
 * absent, "''" empty. */
static const struct aws_classic_listener *listeners(struct arena *a, const char *text, size_t *n)
{
    char **lines = str_split(a, text, ';', n);
    struct aws_classic_listener *items = ARENA_ARRAY(a, struct aws_classic_listener, *n);
    size_t used = 0;
    for (size_t i = 0; i < *n; i++) {
        struct aws_texts w = aws_test_texts(a, lines[i]);
        const char *texts[3];
        if (w.n == 0) {
            continue;
        }
        for (size_t k = 0; k < 3; k++) {
            static const size_t at[] = {1, 3, 4};
            const char *word = w.items[at[k]];
            texts[k] = str_eq(word, "-") ? NULL : str_eq(word, "''") ? "" : word;
        }
        items[used++] =
            (struct aws_classic_listener){.port = (int32_t)strtol(w.items[0], NULL, 10),
                                          .protocol = texts[0],
                                          .instance_port = (int32_t)strtol(w.items[2], NULL, 10),
                                          .instance_protocol = texts[1],
                                          .certificate = texts[2]};
    }
    *n = used;
    return items;
}

static const char *diff_text(struct arena *a, const char *desired, const char *actual)
{
    size_t n_desired;
    size_t n_actual;
    const struct aws_classic_listener *want = listeners(a, desired, &n_desired);
    const struct aws_classic_listener *is = listeners(a, actual, &n_actual);
    struct aws_listener_diff d = aws_listeners_diff(a, want, n_desired, is, n_actual);
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < d.n_remove; i++) {
        str_appendf(&b, "-%d ", (int)d.remove[i]);
    }
    for (size_t i = 0; i < d.n_create; i++) {
        str_appendf(&b, "+%d ", (int)d.create[i].port);
    }
    return str_buf_to_arena(&b, a);
}

static void differences__50_to_53(void **state)
{
    static const struct {
        const char *row, *desired, *actual, *want;
    } rows[] = {
        {"50", "443 HTTP 443 HTTP abc-123; 80 TCP 80 TCP def-456; 8443 TCP 8443 TCP def-456",
         "80 TCP 80 TCP -; 8443 TCP 8443 TCP def-456", "-80 +443 +80 "},
        {"51", "443 HTTP 443 HTTP abc-123; 80 TCP 80 TCP def-456", "443 HTTP 443 HTTP abc-123",
         "+80 "},
        {"52", "443 HTTP 443 HTTP abc-123", "80 TCP 80 TCP -; 443 HTTP 443 HTTP abc-123", "-80 "},
        {"53", "443 HTTP 443 HTTP -", "443 HTTP 443 HTTP abc-123; ", "-443 +443 "},
        {"4.6", "", "80 TCP 80 TCP -; 81 TCP 81 TCP -", "-80 -81 "},
        {"4.6", "80 tcp 30080 tcp -", "80 TCP 30080 TCP -", ""},
        {"4.6", "80 tcp 30080 tcp -; 80 tcp 30080 tcp -", "80 TCP 30080 TCP -", "+80 "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_text(rows[i].row, diff_text(*state, rows[i].desired, rows[i].actual), rows[i].want);
    }
}

static void equality__54_to_63(void **state)
{
    static const struct {
        const char *row, *left, *right;
        bool equal;
    } rows[] = {
        {"54", "80 http 80 TCP -", "80 HTTP 80 TCP -", true},
        {"55", "80 HTTP 80 TCP -", "80 TCP 80 TCP -", false},
        {"56", "80 '' 80 TCP -", "80 - 80 TCP -", false},
        {"57", "80 - 80 - -", "80 - 80 - -", true},
        {"58", "80 TCP 80 TCP ARN:AWS:ACM:1", "80 TCP 80 TCP arn:aws:acm:1", true},
        {"59", "80 TCP 80 TCP arn", "80 TCP 80 TCP ''", false},
        {"60", "80 TCP 80 TCP -", "80 TCP 80 TCP ''", false},
        {"61", "80 TCP 80 TCP -", "80 TCP 443 TCP -", false},
        {"62", "80 TCP 80 HTTP -", "80 TCP 80 TCP -", false},
        {"63", "443 TCP 80 TCP -", "80 TCP 80 TCP -", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = diff_text(*state, rows[i].left, rows[i].right);
        same_text(rows[i].row, got[0] == '\0' ? "equal" : "other",
                  rows[i].equal ? "equal" : "other");
    }
}

UNIT_MAIN(listeners)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(stands_as_upstream_reads_it__15_3_and_13_29),
        PURE_TEST(of_a_port__31_to_49),
        PURE_TEST(nlb__compares_port_names_as_they_are__45),
        PURE_TEST(udp__never_takes_tls__5_1),
        PURE_TEST(differences__50_to_53),
        PURE_TEST(equality__54_to_63),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
