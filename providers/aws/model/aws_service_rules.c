/* SPDX-License-Identifier: Apache-2.0 */
/* aws_service_rules.c: see aws_service_rules.h. */
#include "providers/aws/model/aws_service_rules.h"

#include <string.h>

#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/aws/model/aws_annotations.h"
#include "providers/aws/model/aws_rules.h"

/* ---- kind and annotations -------------------------------------------------------------------- */

enum aws_kind aws_service_kind(const struct tt_service *s)
{
    const char *type = aws_annotation(s, "type");
    if (str_eq(type, "nlb")) {
        return AWS_NLB;
    }
    return str_eq(type, "nlb-ip") || str_eq(type, "external") ? AWS_ELSEWHERE : AWS_CLASSIC;
}

static bool has_udp(const struct tt_service *s)
{
    for (uint32_t i = 0; i < s->n_ports; i++) {
        if (str_eq(s->ports[i].protocol, "UDP") || str_eq(s->ports[i].protocol, "TCP_UDP")) {
            return true;
        }
    }
    return false;
}

/* 5.10 */
static int check_group_attribute(const struct tt_service *s, const struct aws_tag *pair,
                                 struct err *err)
{
    static const char name[] = "target-group-attributes";
    bool keeps_client = str_eq(pair->key, "preserve_client_ip.enabled");
    if (!keeps_client && !str_eq(pair->key, "proxy_protocol_v2.enabled")) {
        return aws_annotation_refuse(
            s, name, "only preserve_client_ip.enabled and proxy_protocol_v2.enabled", err);
    }
    if (!str_eq(pair->value, "true") && !str_eq(pair->value, "false")) {
        return aws_annotation_refuse(s, name, "true or false behind each =", err);
    }
    if (keeps_client && str_eq(pair->value, "false") && has_udp(s)) {
        return aws_annotation_refuse(
            s, name, "no preserve_client_ip.enabled=false: the Service has UDP ports", err);
    }
    return ERR_OK;
}

int aws_service_check_annotations(struct arena *a, const struct tt_service *s, struct err *err)
{
    bool nlb = aws_service_kind(s) == AWS_NLB;
    const char *attributes = aws_annotation(s, "target-group-attributes");
    if (nlb && aws_annotation(s, "extra-security-groups") != NULL) {
        return aws_annotation_refuse(s, "extra-security-groups",
                                     "no such annotation on an NLB; name all groups in "
                                     "aws-load-balancer-security-groups",
                                     err);
    }
    if (attributes == NULL) {
        return ERR_OK;
    }
    if (!nlb) {
        return aws_annotation_refuse(s, "target-group-attributes",
                                     "no such annotation on a classic load balancer, which has no "
                                     "target groups",
                                     err);
    }
    struct aws_tags pairs = aws_pairs_read(a, attributes);
    int rc = ERR_OK;
    for (size_t i = 0; i < pairs.n && rc == ERR_OK; i++) {
        rc = check_group_attribute(s, &pairs.items[i], err);
    }
    return rc;
}

/* ---- source ranges --------------------------------------------------------------------------- */

static bool read_range(struct arena *a, const char *text, const char **ret)
{
    struct ip_net net;
    char out[IP_TEXT_MAX];
    const char *slash = strchr(text, '/');
    bool odd_prefix = slash != NULL && slash[1] == '0' && slash[2] != '\0';
    if (odd_prefix || !ip_net_parse(text, &net) || net.was_mapped) {
        return false;
    }
    ip_net_format(&net, out);
    *ret = arena_strdup(a, out);
    return true;
}

int aws_service_ranges(struct arena *a, const struct tt_service *s, struct str_set *ret,
                       struct err *err)
{
    const char *where = "spec.loadBalancerSourceRanges";
    const char *const *items = s->source_ranges;
    size_t n = s->n_source_ranges;
    if (n == 0) {
        const char *value = svc_annotation(s, LB_SOURCE_RANGES_ANNOTATION);
        const char *text = str_or(str_trim_unicode(a, str_nonnull(value)), "0.0.0.0/0");
        items = (const char *const *)str_split(a, text, ',', &n);
        where = "annotation " LB_SOURCE_RANGES_ANNOTATION;
    }
    const char **ranges = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        if (!read_range(a, str_trim_unicode(a, items[i]), &ranges[i])) {
            return err_set(err, ERR_INVALID, "%s: \"%s\": want a CIDR like 10.0.0.0/24", where,
                           items[i]);
        }
    }
    *ret = str_set_make(a, ranges, n);
    return ERR_OK;
}

/* ---- ports ----------------------------------------------------------------------------------- */

int aws_service_check_protocols(const struct tt_service *s, enum aws_kind kind, struct err *err)
{
    for (uint32_t i = 0; i < s->n_ports; i++) {
        const char *protocol = s->ports[i].protocol;
        bool good = str_eq(protocol, "TCP") || (kind == AWS_NLB && str_eq(protocol, "UDP"));
        if (!str_eq(protocol, s->ports[0].protocol)) {
            return err_set(
                err, ERR_INVALID,
                "spec.ports: %s and %s: all ports of a load balancer must have the same "
                "protocol; make one Service for each%s",
                str_nonnull(s->ports[0].protocol), str_nonnull(protocol),
                kind == AWS_NLB ? ", or set MixedProtocols in [Trimtab] of the cloud-config" : "");
        }
        if (!good) {
            return err_set(err, ERR_INVALID, "spec.ports: port %d: %s: %s", (int)s->ports[i].port,
                           str_nonnull(protocol),
                           kind == AWS_NLB ? "an NLB of this controller serves TCP and UDP"
                                           : "a classic load balancer serves TCP only; UDP needs "
                                             "annotation " AWS_ANNOTATION "type: nlb");
        }
    }
    return ERR_OK;
}

/* Value of ssl-ports: all ports, or numbers and names.  Sets, because both lists may be long. */
struct selection {
    bool all;
    struct str_set numbers; /* "443" */
    struct str_set names;
};

/* "+443" is a number, too; one with blanks beside it is a name. */
static struct selection make_selection(struct arena *a, const char *const *tokens, size_t n)
{
    const char **numbers = ARENA_ARRAY(a, const char *, n);
    const char **names = ARENA_ARRAY(a, const char *, n);
    size_t n_numbers = 0;
    size_t n_names = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t number;
        if (str_eq(tokens[i], str_trim_unicode(a, tokens[i])) && aws_number(tokens[i], &number)) {
            numbers[n_numbers++] = arena_printf(a, "%lld", (long long)number);
        } else {
            names[n_names++] = tokens[i];
        }
    }
    return (struct selection){.numbers = str_set_make(a, numbers, n_numbers),
                              .names = str_set_make(a, names, n_names)};
}

/* Blanks around tokens and blank tokens do not count. */
static struct selection read_selection(struct arena *a, const char *ssl_ports)
{
    const char *text = str_trim_unicode(a, str_nonnull(ssl_ports));
    if (text[0] == '\0' || str_eq(text, "*")) {
        return (struct selection){.all = true};
    }
    struct aws_texts tokens = aws_pieces(a, text, false);
    return make_selection(a, tokens.items, tokens.n);
}

/* Upstream's: nothing is trimmed, and an empty token is the name of every unnamed port. */
static struct selection read_selection_upstream(struct arena *a, const char *ssl_ports)
{
    size_t n;
    if (str_is_empty(ssl_ports) || str_eq(ssl_ports, "*")) {
        return (struct selection){.all = true};
    }
    char **tokens = str_split(a, ssl_ports, ',', &n);
    return make_selection(a, (const char *const *)tokens, n);
}

static bool is_selected(struct arena *a, const struct selection *s, int32_t port, const char *name)
{
    return s->all || str_set_has(&s->names, name) ||
           str_set_has(&s->numbers, arena_printf(a, "%d", (int)port));
}

const struct aws_service_port *aws_service_ports(struct arena *a, const struct tt_service *s,
                                                 enum aws_kind kind, size_t *ret_n)
{
    bool certificate = aws_annotation_filled(s, "ssl-cert") != NULL;
    struct selection selected = read_selection(a, aws_annotation(s, "ssl-ports"));
    struct selection upstream = read_selection_upstream(a, aws_annotation(s, "ssl-ports"));
    struct aws_service_port *ports = ARENA_ARRAY(a, struct aws_service_port, s->n_ports);
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_ports; i++) {
        const struct tt_port *p = &s->ports[i];
        if (p->node_port == 0) {
            continue;
        }
        /* A classic load balancer compares the port's name in lower case, an NLB as
         * it is: upstream's. */
        const char *name = str_nonnull(p->name);
        const char *compared = kind == AWS_NLB ? name : str_lower(a, name);
        bool tls = certificate && !str_eq(p->protocol, "UDP");
        ports[n++] = (struct aws_service_port){
            .name = name,
            .port = p->port,
            .node_port = p->node_port,
            .protocol = str_nonnull(p->protocol),
            .tls = tls && is_selected(a, &selected, p->port, compared),
            .tls_upstream = tls && is_selected(a, &upstream, p->port, compared),
        };
    }
    *ret_n = n;
    return ports;
}

/* ---- listeners of classic load balancers ----------------------------------------------------- */

struct protocols {
    const char *backend; /* annotation */
    const char *listener;
    const char *instance;
};

static const struct protocols *tls_protocols(const char *backend)
{
    static const struct protocols known[] = {
        {"", "ssl", "tcp"},        {"tcp", "ssl", "tcp"},       {"ssl", "ssl", "ssl"},
        {"http", "https", "http"}, {"https", "https", "https"},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (str_eq(known[i].backend, backend)) {
            return &known[i];
        }
    }
    return NULL;
}

int aws_service_listeners(struct arena *a, const struct tt_service *s,
                          const struct aws_service_port *ports, size_t n,
                          const struct aws_classic_listener **ret, struct err *err)
{
    const char *backend = str_nonnull(aws_annotation(s, "backend-protocol"));
    const struct protocols *tls = tls_protocols(backend);
    struct aws_classic_listener *items = ARENA_ARRAY(a, struct aws_classic_listener, n);
    for (size_t i = 0; i < n; i++) {
        const char *plain = str_eq(backend, "http") ? "http" : str_lower(a, ports[i].protocol);
        if (ports[i].tls && tls == NULL) {
            return aws_annotation_refuse(s, "backend-protocol",
                                         "tcp, ssl, http or https, because the Service has a "
                                         "certificate",
                                         err);
        }
        items[i] = (struct aws_classic_listener){
            .protocol = ports[i].tls ? tls->listener : plain,
            .instance_protocol = ports[i].tls ? tls->instance : plain,
            .port = ports[i].port,
            .instance_port = ports[i].node_port,
            .certificate = ports[i].tls ? aws_annotation(s, "ssl-cert") : NULL,
        };
    }
    *ret = items;
    return ERR_OK;
}
