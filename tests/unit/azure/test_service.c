/* SPDX-License-Identifier: Apache-2.0 */
/* test_service.c: what a Service asks for; rows U-01 to U-08 and M-10 to M-23 of the Azure
 * specification, its table of annotations, and what is found wrong. */
#include "tests/unit/azure/azure_test.h"

#include "providers/azure/azure_findings.h"
#include "providers/azure/lb/azure_lb_desired.h"
#include "providers/azure/model/azure_access_rules.h"
#include "tests/support/doc_page.h"
#include "tests/support/unit.h"

#include <string.h>

#define DUAL "\"ipFamilies\":[\"IPv4\",\"IPv6\"]"
#define V4   "\"ipFamilies\":[\"IPv4\"]"
#define V6   "\"ipFamilies\":[\"IPv6\"]"

static const struct azure_naming *naming(struct arena *a)
{
    struct azure_config *c = ARENA_NEW(a, struct azure_config);
    struct azure_naming *n = ARENA_NEW(a, struct azure_naming);
    *c = azure_test_config();
    *n = (struct azure_naming){.config = c, .cluster = "kubernetes"};
    return n;
}

static const struct azure_service *read_service(struct arena *a, const char *annotations,
                                                const char *spec)
{
    return azure_service_read(a, naming(a), azure_test_service(a, "s", annotations, spec));
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void addresses__U_01_to_U_03(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *spec, *v4, *v6, *all;
    } rows[] = {
        {"U-01",
         "{\"azure-load-balancer-ipv4\":\"10.0.0.1\",\"azure-load-balancer-ipv6\":\"2001::1\"}",
         "\"loadBalancerIP\":\"10.0.0.2\"", "10.0.0.1", "2001::1", "10.0.0.1 2001::1"},
        {"U-02", "{}", "\"loadBalancerIP\":\"10.0.0.2\"", "10.0.0.2", NULL, "10.0.0.2"},
        {"U-03", "{\"azure-load-balancer-ipv6\":\"2001::1\"}", "\"loadBalancerIP\":\"10.0.0.2\"",
         "10.0.0.2", "2001::1", "2001::1"},
        {"10.1", "{\"azure-load-balancer-ipv4\":\"\"}", "\"loadBalancerIP\":\"2001::2\"", NULL,
         "2001::2", "2001::2"},
        {"10.1", "{}", V4, NULL, NULL, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_service *s = read_service(a, rows[i].annotations, rows[i].spec);
        same_text(rows[i].row, s->lb_ip[AZURE_IPV4], rows[i].v4);
        same_text(rows[i].row, s->lb_ip[AZURE_IPV6], rows[i].v6);
        same_text(rows[i].row, str_join(a, s->lb_ips, s->n_lb_ips, " "), rows[i].all);
    }
}

static void pin__U_04__what_is_no_address_changes_nothing(void **state)
{
    struct arena *a = *state;
    static const char *const bad[] = {"invalid-ip", ""};
    static const char *const good[] = {"1.2.3.4", "2001::1"};
    const struct azure_service *s = read_service(a, "{\"azure-pip-name\":\"p\"}", DUAL);
    const struct azure_service *same = azure_service_pin(a, naming(a), s, bad, 2);
    assert_int_equal(same->in->n_annotations, 1);
    assert_int_equal(same->n_lb_ips, 0);
    const struct azure_service *pinned = azure_service_pin(a, naming(a), s, good, 2);
    same_text("U-04", pinned->lb_ip[AZURE_IPV4], "1.2.3.4");
    same_text("U-04", pinned->lb_ip[AZURE_IPV6], "2001::1");
    same_text("others stay", pinned->pip_name[AZURE_IPV4], "p");
    assert_int_equal(s->n_lb_ips, 0);
}

static void public_ips__U_05_to_U_08(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *spec, *plain, *ipv6, *want_v4, *want_v6;
    } rows[] = {
        {"U-05", V4, "pip-name", "", "pip-name", NULL},
        {"U-06", V6, "pip-name-ipv6", "", "pip-name-ipv6", "pip-name-ipv6"},
        {"U-06", V6, "pip-name", "other", "pip-name", "other"},
        {"U-07", DUAL, "pip-name", "pip-name-ipv6", "pip-name", "pip-name-ipv6"},
        {"U-07", DUAL, "pip-name", "", "pip-name", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_service *s = read_service(
            a,
            arena_printf(a,
                         "{\"azure-pip-name\":\"%s\",\"azure-pip-name-ipv6\":\"%s\","
                         "\"azure-pip-prefix-id\":\"%s\",\"azure-pip-prefix-id-ipv6\":\"%s\"}",
                         rows[i].plain, rows[i].ipv6, rows[i].plain, rows[i].ipv6),
            rows[i].spec);
        same_text(rows[i].row, s->pip_name[AZURE_IPV4], rows[i].want_v4);
        same_text(rows[i].row, s->pip_name[AZURE_IPV6], rows[i].want_v6);
        same_text("U-08", s->pip_prefix_id[AZURE_IPV4], rows[i].want_v4);
        same_text("U-08", s->pip_prefix_id[AZURE_IPV6], rows[i].want_v6);
    }
}

/* ---- private link service -------------------------------------------------------------------- */

static void pls_name__M_10_to_M_12(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotation, *existing;
        int code;
        const char *want;
    } rows[] = {
        {"M-10", "testpls", NULL, ERR_OK, "testpls"},
        {"M-11", " ", NULL, ERR_OK, "pls-fipname"},
        {"M-12", "testpls1", "testpls", ERR_INVALID, NULL},
        {"10.6", "TestPls", "testpls", ERR_OK, "TestPls"},
        {"10.6", "", "testpls", ERR_OK, "testpls"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *name = NULL;
        const struct azure_service *s = read_service(
            a, arena_printf(a, "{\"azure-pls-name\":\"%s\"}", rows[i].annotation), NULL);
        int code = azure_pls_name(a, s, rows[i].existing, "fipname", &name, NULL);
        if (code != rows[i].code) {
            fail_msg("%s: got %s", rows[i].row, err_code_name(code));
        }
        same_text(rows[i].row, name, rows[i].want);
    }
}

static void pls_addresses__M_20_to_M_23(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *count, *ips;
        int32_t want;
        bool bad;
        size_t n;
        const char *primary;
    } rows[] = {
        {"M-20", NULL, "", 1, false, 0, NULL},
        {"M-20", "6", "", 6, false, 0, NULL},
        {"M-20", "   4   ", "", 4, false, 0, NULL},
        {"M-21", "0", "", 0, false, 0, NULL},
        {"M-21", "9", "", 0, false, 0, NULL},
        {"M-21", "test2", "", 0, false, 0, NULL},
        {"M-22", "3", "   10.2.0.6    10.2.0.5     10.2.0.4 ", 3, false, 3, "10.2.0.6"},
        {"M-22", "3", "10.2.0.4 10.2.0.4", 3, false, 1, "10.2.0.4"},
        {"M-23", "3", "10.2.0.4 300.1.2.9 10.2.0.6", 3, true, 0, NULL},
        {"M-23", "3", "fc00:f853:ccd:e793::1", 3, true, 0, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *count =
            rows[i].count == NULL
                ? ""
                : arena_printf(a, "\"azure-pls-ip-configuration-ip-address-count\":\"%s\",",
                               rows[i].count);
        const char *annotations = arena_printf(
            a,
            "{%s\"azure-pls-ip-configuration-ip-address\":\"%s\",\"azure-pls-create\":\" True \","
            "\"azure-load-balancer-internal\":\"true\"}",
            count, rows[i].ips);
        const struct azure_service *s = read_service(a, annotations, NULL);
        bool wrong = rows[i].want == 0 || rows[i].bad;
        assert_true(s->pls_create);
        assert_int_equal(s->pls_ip_count, rows[i].want);
        assert_int_equal(s->n_pls_static_ips, rows[i].n);
        same_text(rows[i].row, s->pls_primary_ip, rows[i].primary);
        if (s->pls_static_ips_bad != rows[i].bad ||
            azure_service_check(s, NULL) != (wrong ? ERR_INVALID : ERR_OK)) {
            fail_msg("%s: %s %s", rows[i].row, str_nonnull(rows[i].count), rows[i].ips);
        }
    }
}

/* ---- findings -------------------------------------------------------------------------------- */

#define KEY AZURE_ANNOTATION_PREFIX

static void findings__name_annotation_value_and_what_is_allowed(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *annotations, *spec;
        bool fatal;
        const char *want;
    } rows[] = {
        {"{\"azure-load-balancer-tcp-idle-timeout\":\"3\"}", V4, true,
         "annotation " KEY "azure-load-balancer-tcp-idle-timeout: \"3\": want a whole number from "
         "4 to 100"},
        {"{\"azure-load-balancer-tcp-idle-timeout\":\"\"}", V4, true,
         "annotation " KEY "azure-load-balancer-tcp-idle-timeout: \"\": want a whole number from "
         "4 to 100"},
        {"{\"azure-load-balancer-internal\":\"yes\"}", V4, false,
         "annotation " KEY "azure-load-balancer-internal: \"yes\": want \"true\" or \"false\"; it "
         "counts as false"},
        {"{}", "\"loadBalancerIP\":\"garbage\"", true,
         "spec.loadBalancerIP: \"garbage\": want an IP address"},
        {"{\"azure-load-balancer-ipv6\":\"x\"}", V6, true,
         "annotation " KEY "azure-load-balancer-ipv6: \"x\": want an IPv6 address"},
        {"{\"azure-pls-create\":\"true\"}", V4, true,
         "annotation " KEY "azure-pls-create: \"true\": want an internal Service, or one without "
         "floating IP"},
        {"{\"azure-pls-create\":\"true\",\"azure-disable-load-balancer-floating-ip\":\"true\"}", V6,
         true,
         "annotation " KEY "azure-pls-create: \"true\": want a Service with IPv4: private link "
         "knows no IPv6"},
        {"{\"port_81_no_lb_rule\":\"true\"}", V4, false,
         "annotation " KEY "port_81_no_lb_rule has no effect: the Service has no port 81"},
        {"{\"azure-pls-ip-configuration-ip-address-count\":\"9\"}", V4, false,
         "annotation " KEY "azure-pls-ip-configuration-ip-address-count: \"9\": want a whole "
         "number from 1 to 8"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_service *s = read_service(a, rows[i].annotations, rows[i].spec);
        struct err err = ERR_INIT;
        assert_int_equal(s->n_findings, 1);
        same_text(rows[i].annotations, s->findings[0].message, rows[i].want);
        assert_int_equal(azure_service_check(s, &err), rows[i].fatal ? ERR_INVALID : ERR_OK);
        same_text(rows[i].annotations, err.message, rows[i].fatal ? rows[i].want : "");
    }
    assert_int_equal(
        read_service(a, "{\"azure-load-balancer-internal\":\"False\"}", V4)->n_findings, 0);
}

/* The page's table is printed from these rows (test_docs.c). */
static void known_keys__are_no_slips(void **state)
{
    struct arena *a = *state;
    const struct lb_annotation_keys *keys = azure_annotation_keys(a);
    for (const struct azure_annotation *row = azure_annotation_table; row->name != NULL; row++) {
        const char *key = str_replace(a, row->name, "<port>", "8443");
        assert_null(lb_annotation_meant(a, keys, arena_printf(a, KEY "%s", key)));
    }
    same_text("of a port", lb_annotation_meant(a, keys, KEY "port_8443_no_lb_rul"),
              KEY "port_8443_no_lb_rule");
    assert_null(lb_annotation_meant(a, keys, KEY "ibm-load-balancer-internal"));
}

/* docs/adr/0028. */
static void private__asked_for_in_vain__a_new_service_is_refused(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *annotations;
        const char *want; /* NULL: fine */
    } rows[] = {
        {"{\"azure-load-balancer-internal\":\"ture\"}", "\"true\" was probably meant"},
        {"{\"azure-load-balancer-internal\":\" true\"}", "\"true\" was probably meant"},
        {"{\"azure-load-balancer-internal\":\"yes\"}", "\"true\" was probably meant"},
        {"{\"azure-load-balancer-internal\":\"internal\"}", "\"true\" was probably meant"},
        {"{\"azure-load-balancer-internal\":\"true\"}", NULL},
        {"{\"azure-load-balancer-internal\":\"false\"}", NULL},
        {"{\"azure-load-balancer-internal\":\"flase\"}", NULL},
        {"{\"azure-load-balancer-internal\":\"no\"}", NULL},
        {"{\"azure-load-balancer-internal\":\"\"}", NULL},
        {"{\"azure-load-balancer-internl\":\"true\"}", "azure-load-balancer-internal was probably"},
        {"{\"azure-loadbalancer-internal\":\"true\"}", "azure-load-balancer-internal was probably"},
        {"{\"azure-load-balancer-internl\":\"false\"}", NULL},
        {"{\"aws-load-balancer-internal\":\"true\"}", NULL}, /* another cloud's */
    };
    static const struct tt_ingress ip = {.ip = "192.0.2.1"};
    static const struct tt_ingress private[] = {{.ip = "10.240.0.9"}, {.ip = "fd00::9"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct tt_service svc = *azure_test_service(a, "s", rows[i].annotations, V4);
        int rc = azure_internal_check(a, &svc, false, &err);
        assert_int_equal(rc, rows[i].want == NULL ? ERR_OK : ERR_INVALID);
        if (rows[i].want != NULL && strstr(err.message, rows[i].want) == NULL) {
            fail_msg("%s: \"%s\"", rows[i].annotations, err.message);
        }
        assert_int_equal(azure_internal_check(a, &svc, true, NULL), ERR_OK);
        svc.ingress = &ip;
        svc.n_ingress = 1;
        assert_int_equal(azure_internal_check(a, &svc, false, NULL), ERR_OK);
        for (size_t k = 0; k < ARRAY_LEN(private); k++) { /* an internal load balancer stands */
            svc.ingress = &private[k];
            assert_int_equal(azure_internal_check(a, &svc, false, &err), rc);
        }
    }
}

static void read__switches_lists_and_groups(void **state)
{
    struct arena *a = *state;
    const struct azure_service *s = read_service(
        a,
        "{\"azure-load-balancer-internal\":\"TRUE\",\"azure-load-balancer-internal-subnet\":"
        "\" sub \",\"azure-load-balancer-resource-group\":\" pips \",\"azure-dns-label-name\":"
        "\"\",\"azure-load-balancer-tcp-idle-timeout\":\" +30 \","
        "\"Azure-Load-Balancer-Configurations\":\"LB1, lb2,\",\"azure-pls-visibility\":\"a * b\","
        "\"azure-pls-resource-group\":\"\",\"azure-disable-load-balancer-floating-ip\":\"true \"}",
        "\"externalTrafficPolicy\":\"Local\"");
    assert_true(s->internal && s->local && !s->dual_stack && !s->disable_floating_ip);
    same_text("trimmed", s->subnet, "sub");
    same_text("10.6", s->pls_subnet, "sub");
    same_text("8.1", s->pip_group, "pips");
    same_text("taken away", s->dns_label, "");
    same_text("configured one", s->pls_group, "rg");
    assert_int_equal(s->idle_timeout_min, 30);
    same_text("5.5", str_join(a, s->configurations, s->n_configurations, "|"), "lb1|lb2|");
    same_text("10.6", str_join(a, s->pls_visibility, s->n_pls_visibility, "|"), "*");
    assert_true(s->pls_visible_to_all && s->pls_configured);
    const struct azure_service *plain = read_service(a, "{\"azure-pls-create\":\"true\"}", NULL);
    assert_true(plain->has_family[AZURE_IPV4] && !plain->has_family[AZURE_IPV6]);
    assert_false(plain->pls_configured);
    same_text("absent", plain->mode, NULL);
    same_text("absent", plain->dns_label, NULL);
    same_text("none", plain->pls_subnet, NULL);
    assert_false(plain->has_configurations);
    const struct tt_service *ports =
        azure_test_service(a, "s", "{\"port_80_no_lb_rule\":\"true\"}", NULL);
    same_text("of a port", azure_port_annotation(ports, 80, "no_lb_rule"), "true");
    same_text("of another", azure_port_annotation(ports, 8, "no_lb_rule"), NULL);
    same_text("key", plain->key, "default/s");
    same_text("base", plain->base, "as");
}

static void flip__there_and_back(void **state)
{
    struct arena *a = *state;
    const struct azure_service *s = read_service(
        a,
        "{\"azure-load-balancer-internal\":\"True\",\"azure-load-balancer-internal-subnet\":"
        "\"sub\"}",
        NULL);
    const struct azure_service *external = azure_service_flip(a, naming(a), s);
    const struct azure_service *internal = azure_service_flip(a, naming(a), external);
    assert_true(s->internal && !external->internal && internal->internal);
    same_text("external", azure_frontend_name(a, external->in, AZURE_IPV4), "as");
    same_text("internal", azure_frontend_name(a, internal->in, AZURE_IPV4), "as-sub");
    const struct azure_service *odd =
        read_service(a, "{\"azure-load-balancer-internal\":\"no\"}", NULL);
    assert_true(azure_service_flip(a, naming(a), odd)->internal);
    assert_int_equal(azure_service_flip(a, naming(a), odd)->in->n_annotations, 1);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct azure_annotation *row_of(const char *name)
{
    for (const struct azure_annotation *r = azure_annotation_table; r->name != NULL; r++) {
        if (str_eq(r->name, name)) {
            return r;
        }
    }
    return NULL;
}

/* Names in backquotes of a table's first cell; later ones may leave out what they share
 * with the first. */
static size_t check_cell(struct arena *a, const char *cell)
{
    size_t n = 0;
    size_t found = 0;
    char **parts = str_split(a, cell, '`', &n);
    for (size_t i = 1; i < n; i += 2) {
        const char *name = parts[i];
        if (name[0] == '-') {
            name = arena_printf(a, "azure%s", name);
        } else if (name[0] == '_') {
            name = arena_printf(a, "port_<port>_health-probe%s", name);
        }
        if (row_of(name) == NULL) {
            fail_msg("the specification knows %s, the table does not", name);
        }
        found++;
    }
    return found;
}

static void table__has_every_row_of_the_specification(void **state)
{
    struct arena *a = *state;
    char *text = doc_page_read(a, "spec/azure.md");
    char *from = strstr(text, "\n## 11. ");
    char *to = strstr(text, "\n## 12. ");
    assert_true(from != NULL && to != NULL && strstr(from + 1, "\n## 11. ") == NULL);
    *to = '\0';
    size_t n_lines;
    size_t n_names = 0;
    size_t n_rows = 0;
    char **lines = str_split(a, from, '\n', &n_lines);
    for (size_t i = 0; i < n_lines; i++) {
        if (str_has_prefix(lines[i], "| `")) {
            size_t n_cells;
            n_names += check_cell(a, str_split(a, lines[i], '|', &n_cells)[1]);
        }
    }
    for (const struct azure_annotation *r = azure_annotation_table; r->name != NULL; r++) {
        n_rows++;
        assert_true(r->values[0] != '\0' && r->initial[0] != '\0' && r->effect[0] != '\0' &&
                    r->invalid[0] != '\0');
    }
    assert_int_equal(n_names, n_rows);
}

/* ---- wrong values ---------------------------------------------------------------------------- */

/* A wrong value of each annotation that is judged without asking Azure, and what the owner
 * reads is allowed. */
static const struct {
    const char *name, *value, *allowed;
    bool blank_is_wrong; /* "" is no number */
} wrong_values[] = {
    {"azure-load-balancer-internal", "yes", "\"true\" or \"false\"", false},
    {"azure-pip-ip-tags", "a=b,c", "key=value with commas", false},
    {"azure-pip-tags", "a=b=c", "key=value with commas", false},
    {"azure-load-balancer-ipv4", "1.2.3", "an IPv4 address", false},
    {"azure-load-balancer-ipv6", "x", "an IPv6 address", false},
    {"azure-additional-public-ips", "1.2.3.4,x", "an IP address", false},
    {"azure-allowed-service-tags", "foo,", "an empty item between its commas", false},
    {"azure-allowed-ip-ranges", "10.0.0.1/8", "DenyAll", false},
    {"load-balancer-source-ranges", "10.0.0.1/8", "DenyAll", false},
    {"azure-deny-all-except-load-balancer-source-ranges", "1", "\"true\" or \"false\"", false},
    {"azure-disable-load-balancer-nsg-rule", "true ", "\"true\" or \"false\"", false},
    {"azure-load-balancer-tcp-idle-timeout", "101", "a whole number from 4 to 100", true},
    {"azure-load-balancer-disable-tcp-reset", "on", "\"true\" or \"false\"", false},
    {"azure-disable-load-balancer-floating-ip", "on", "\"true\" or \"false\"", false},
    {"azure-load-balancer-enable-high-availability-ports", "t", "\"true\" or \"false\"", false},
    {"azure-load-balancer-health-probe-protocol", "grpc", "tcp, http or https", false},
    {"azure-load-balancer-health-probe-interval", "4", "a whole number of at least 5", true},
    {"azure-load-balancer-health-probe-num-of-probe", "1", "a whole number of at least 2", true},
    {"port_<port>_no_lb_rule", "yes", "\"true\" or \"false\"", false},
    {"port_<port>_no_probe_rule", "yes", "\"true\" or \"false\"", false},
    {"port_<port>_health-probe_protocol", "udp", "tcp, http or https", false},
    {"port_<port>_health-probe_port", "65536", "the name of a port of the Service or a number from",
     true},
    {"port_<port>_health-probe_interval", "5s", "a whole number of at least 5", true},
    {"port_<port>_health-probe_num-of-probe", "1", "a whole number of at least 2", true},
    {"azure-pls-create", "1", "\"true\" or \"false\"", false},
    {"azure-pls-ip-configuration-ip-address-count", "9", "a whole number from 1 to 8", true},
    {"azure-pls-ip-configuration-ip-address", "::1", "IPv4 addresses with blanks", false},
    {"azure-pls-proxy-protocol", "yes", "\"true\" or \"false\"", false},
};

struct told {
    const char *texts; /* of all findings, and of the refusal */
    bool refused;
};

/* The event for one annotation of an internal Service. */
static struct told tell(struct arena *a, const char *name, const char *value)
{
    const char *annotations = arena_printf(a, "\"%s\":\"%s\"", name, value);
    if (!str_eq(name, "azure-load-balancer-internal")) {
        annotations = arena_printf(a, "%s,\"azure-load-balancer-internal\":\"true\"", annotations);
    }
    if (str_has_prefix(name, "azure-pls-ip-")) {
        annotations = arena_printf(a, "%s,\"azure-pls-create\":\"true\"", annotations);
    }
    const struct azure_service *s =
        read_service(a, arena_printf(a, "{%s}", annotations),
                     "\"ports\":[{\"port\":80,\"protocol\":\"TCP\",\"nodePort\":30080}]");
    const struct azure_access *x = azure_access_read(a, s);
    struct told told = {.texts = ""};
    for (size_t i = 0; i < s->n_findings + x->n_findings; i++) {
        const struct azure_finding *f =
            i < s->n_findings ? &s->findings[i] : &x->findings[i - s->n_findings];
        told.texts = arena_printf(a, "%s%s\n", told.texts, f->message);
    }
    struct err err = ERR_INIT;
    told.refused = azure_service_check(s, &err) != ERR_OK ||
                   azure_access_check(x, &err) != ERR_OK ||
                   azure_lb_check(naming(a), s, &err) != ERR_OK;
    told.texts = arena_printf(a, "%s%s", told.texts, err.message);
    return told;
}

static size_t wrong_value_of(const char *name)
{
    size_t i = 0;
    while (i < ARRAY_LEN(wrong_values) && !str_eq(wrong_values[i].name, name)) {
        i++;
    }
    return i;
}

/* Ranges of both annotations are reported under the name of the first, as upstream does. */
static const char *told_name(const char *name)
{
    return str_eq(name, "load-balancer-source-ranges") ? "azure-allowed-ip-ranges" : name;
}

static void table__wrong_values__are_told_with_name_and_what_is_allowed(void **state)
{
    struct arena *a = *state;
    size_t n = 0;
    for (const struct azure_annotation *r = azure_annotation_table; r->name != NULL; r++) {
        size_t i = wrong_value_of(r->name);
        if (i == ARRAY_LEN(wrong_values)) {
            bool asks_azure = strstr(r->invalid, "Azure refuses") != NULL ||
                              str_has_prefix(r->name, "azure-pip-name") ||
                              str_has_prefix(r->invalid, "the Service is refused when ") ||
                              strstr(r->invalid, "service alone is refused when ") != NULL;
            assert_true(asks_azure || str_eq(r->invalid, "ignored"));
            continue;
        }
        n++;
        const char *name = str_replace(a, r->name, "<port>", "80");
        struct told told = tell(a, name, wrong_values[i].value);
        const char *key = arena_printf(a, KEY "%s", told_name(name));
        if (strstr(told.texts, key) == NULL ||
            strstr(told.texts, wrong_values[i].allowed) == NULL) {
            fail_msg("%s: told is \"%s\"", name, told.texts);
        }
        bool must_refuse = str_eq(r->invalid, "the Service is refused") ||
                           str_eq(r->name, "azure-allowed-service-tags");
        if (told.refused != must_refuse) {
            fail_msg("%s: refused %d, but the page says: %s", name, told.refused, r->invalid);
        }
        struct told blank = tell(a, name, "");
        if (blank.refused != wrong_values[i].blank_is_wrong ||
            (!blank.refused && *blank.texts != '\0')) {
            fail_msg("%s, blank: %s", name, blank.texts);
        }
    }
    assert_int_equal(n, ARRAY_LEN(wrong_values));
}

/* An effective annotation causes no finding. */
static void hints__right_values__say_nothing(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *name, *value;
    } rows[] = {
        {"azure-disable-load-balancer-nsg-rule", "FALSE"},
        {"azure-disable-load-balancer-nsg-rule", "True"},
        {"azure-pls-create", " true "},
        {"azure-load-balancer-health-probe-protocol", " HTTPS "},
        {"port_80_health-probe_protocol", ""},
        {"port_80_no_lb_rule", "true"},
        {"azure-pip-tags", "a=b, c = d,"},
        {"azure-pip-ip-tags", "=,a="},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_text(rows[i].name, tell(a, rows[i].name, rows[i].value).texts, "");
    }
}

/* Many ports with wrong values: there is an end. */
static void hints__too_many__are_cut(void **state)
{
    struct arena *a = *state;
    const char *annotations = "\"x\":\"y\"";
    const char *ports = "";
    for (int i = 1; i <= 40; i++) {
        annotations = arena_printf(a, "%s,\"port_%d_no_lb_rule\":\"yes\"", annotations, i);
        ports =
            arena_printf(a, "%s%s{\"port\":%d,\"protocol\":\"TCP\"}", ports, i > 1 ? "," : "", i);
    }
    const struct azure_service *s = read_service(a, arena_printf(a, "{%s}", annotations),
                                                 arena_printf(a, "\"ports\":[%s]", ports));
    assert_in_range(s->n_findings, 10, 39);
    assert_int_equal(azure_service_check(s, NULL), ERR_OK);
}

UNIT_MAIN(service)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(addresses__U_01_to_U_03),
        PURE_TEST(pin__U_04__what_is_no_address_changes_nothing),
        PURE_TEST(public_ips__U_05_to_U_08),
        PURE_TEST(pls_name__M_10_to_M_12),
        PURE_TEST(pls_addresses__M_20_to_M_23),
        PURE_TEST(findings__name_annotation_value_and_what_is_allowed),
        PURE_TEST(known_keys__are_no_slips),
        PURE_TEST(private__asked_for_in_vain__a_new_service_is_refused),
        PURE_TEST(read__switches_lists_and_groups),
        PURE_TEST(flip__there_and_back),
        PURE_TEST(table__has_every_row_of_the_specification),
        PURE_TEST(table__wrong_values__are_told_with_name_and_what_is_allowed),
        PURE_TEST(hints__right_values__say_nothing),
        PURE_TEST(hints__too_many__are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
