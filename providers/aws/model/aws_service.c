/* SPDX-License-Identifier: Apache-2.0 */
/* aws_service.c: see aws_service.h. */
#include "providers/aws/model/aws_service.h"

#include <string.h>

#include "common/base/str.h"
#include "common/lb/findings.h"
#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"
#include "providers/aws/model/aws_annotations.h"
#include "providers/aws/model/aws_rules.h"
#include "providers/aws/model/aws_service_rules.h"

#define FINDINGS_MAX 16
#define RULES_MAX    10000 /* of a Service; EC2 holds a thousand per security group at most */

const char *aws_kind_text(enum aws_kind kind)
{
    switch (kind) {
    case AWS_CLASSIC:
        return "classic load balancer";
    case AWS_NLB:
        return "NLB";
    case AWS_ELSEWHERE:
        break;
    }
    return "load balancer of another controller";
}

/* ---- values of annotations ------------------------------------------------------------------- */

static struct aws_texts pieces(struct arena *a, const struct tt_service *s, const char *name,
                               bool keep_blank, bool *ret_has)
{
    const char *value = aws_annotation(s, name);
    if (ret_has != NULL) {
        *ret_has = value != NULL;
    }
    return value == NULL ? (struct aws_texts){0} : aws_pieces(a, value, keep_blank);
}

static bool is_internal(const struct tt_service *s)
{
    const char *value = aws_annotation_filled(s, "internal");
    return value != NULL && !str_eq(value, "false"); /* any other text, "False" and "0", too: 4.1 */
}

struct aws_tags aws_node_labels_of(struct arena *a, const struct tt_service *s)
{
    return aws_pairs_read(a, aws_annotation(s, "target-node-labels"));
}

static void read_annotations(struct arena *a, struct aws_service *out)
{
    const struct tt_service *s = out->in;
    const char *attributes = aws_annotation(s, "target-group-attributes");
    out->internal = is_internal(s);
    out->extra_tags = aws_pairs_read(a, aws_annotation(s, "additional-resource-tags"));
    out->has_group_attributes = attributes != NULL;
    out->group_attributes = aws_pairs_read(a, attributes);
    out->n_named_attributes = out->group_attributes.n;
    out->node_labels = aws_node_labels_of(a, s);
    out->subnets = pieces(a, s, "subnets", false, &out->has_subnets);
    out->groups = pieces(a, s, "security-groups", false, NULL);
    out->extra_groups = pieces(a, s, "extra-security-groups", false, NULL);
    out->allocations = pieces(a, s, "eip-allocations", true, &out->has_allocations);
    out->addresses = pieces(a, s, "private-ipv4-addresses", true, &out->has_addresses);
    out->certificate = str_nonnull(aws_annotation(s, "ssl-cert"));
    out->ssl_policy = aws_annotation(s, "ssl-negotiation-policy");
    out->backend_protocol = str_nonnull(aws_annotation(s, "backend-protocol"));
    out->proxy_protocol =
        out->kind == AWS_CLASSIC && str_eq(aws_annotation(s, "proxy-protocol"), "*");
}

/* IPv4 and IPv6 apart; order stays. */
static void split_ranges(struct arena *a, const struct str_set *ranges, struct aws_service *out)
{
    const char **v4 = ARENA_ARRAY(a, const char *, ranges->n);
    const char **v6 = ARENA_ARRAY(a, const char *, ranges->n);
    const char *range;
    size_t n4 = 0;
    size_t n6 = 0;
    STR_SET_EACH (range, ranges) {
        if (strchr(range, ':') != NULL) {
            v6[n6++] = range;
        } else {
            v4[n4++] = range;
        }
    }
    out->ranges = (struct aws_texts){.items = v4, .n = n4};
    out->ranges6 = (struct aws_texts){.items = v6, .n = n6};
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static int check_spec(const struct tt_service *s, struct err *err)
{
    if (!str_eq(s->session_affinity, "None")) {
        return err_set(err, ERR_INVALID,
                       "spec.sessionAffinity: \"%s\": load balancers of AWS know no session "
                       "affinity here; want None",
                       str_nonnull(s->session_affinity));
    }
    if (s->n_ports == 0) {
        return err_set(err, ERR_INVALID,
                       "spec.ports: none: a load balancer needs at least one port");
    }
    return ERR_OK;
}

/* Ranges times ports is the number of rules in a security group: no Service may fill our
 * memory with them. */
static int check_rules(const struct aws_service *out, struct err *err)
{
    size_t ranges = out->ranges.n + out->ranges6.n;
    size_t ports = out->in->n_ports;
    if (ranges <= RULES_MAX / (ports + 1)) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "%zu source ranges and %zu ports make more rules than a security group can "
                   "hold; join ranges, or use fewer ports",
                   ranges, ports);
}

#define LENIENT "LenientScheme in [Trimtab] of the cloud-config"

/* A Service that asks for a private load balancer by an ignored annotation gets no public one
 * (docs/adr/0028). */
static int check_scheme(struct arena *a, const struct aws_naming *naming,
                        const struct aws_service *out, struct err *err)
{
    const char *scheme = aws_annotation_filled(out->in, "scheme");
    bool says = aws_annotation_filled(out->in, "internal") != NULL;
    if (naming->options.lenient_scheme || says || lb_service_stands(out->in)) {
        return ERR_OK;
    }
    if (scheme != NULL && lb_text_means_private(a, scheme)) {
        return err_set(err, ERR_INVALID,
                       "annotation " AWS_ANNOTATION "scheme: \"%s\" is known to "
                       "aws-load-balancer-controller only and the Service would be public; "
                       "annotation " AWS_ANNOTATION
                       "internal: \"true\" was probably meant (" LENIENT " makes it public)",
                       lb_finding_value(a, scheme));
    }
    /* Read for many Services that are not synced now: without an annotation there is
     * nothing to look for. */
    const struct tt_kv *slip =
        out->in->n_annotations == 0
            ? NULL
            : lb_private_slip(a, aws_annotation_keys(a), out->in, AWS_ANNOTATION "internal");
    return slip == NULL ? ERR_OK
                        : lb_private_slip_refuse(slip, AWS_ANNOTATION "internal", LENIENT, err);
}

static int check_tail(const struct aws_service *out, struct err *err)
{
    const char *proxy = aws_annotation_filled(out->in, "proxy-protocol");
    if (!str_is_empty(out->in->lb_ip)) {
        return err_set(err, ERR_INVALID,
                       "spec.loadBalancerIP: \"%s\": AWS gives addresses itself; leave it empty",
                       out->in->lb_ip);
    }
    if (out->kind == AWS_CLASSIC && proxy != NULL && !out->proxy_protocol) {
        return aws_annotation_refuse(out->in, "proxy-protocol",
                                     "*, which means all ports, or no such annotation", err);
    }
    return ERR_OK;
}

static int check_ports(struct arena *a, const struct aws_naming *naming, struct aws_service *out,
                       struct err *err)
{
    if (out->kind == AWS_NLB && naming->options.mixed_protocols) {
        return aws_service_mix_ports(a, out->in, out->ports, out->n_ports, &out->ports,
                                     &out->n_ports, err);
    }
    return aws_service_check_protocols(out->in, out->kind, err);
}

/* The order of 4.1.  Facts come after all of it. */
static int check(struct arena *a, const struct aws_naming *naming, struct aws_service *out,
                 struct err *err)
{
    const struct aws_classic_listener *listeners;
    struct str_set ranges = {0};
    int rc;
    if (out->kind == AWS_ELSEWHERE) {
        return err_set(err, ERR_IMPLEMENTED_ELSEWHERE,
                       "annotation " AWS_ANNOTATION "type: \"%s\": this Service is "
                       "aws-load-balancer-controller's",
                       str_nonnull(aws_annotation(out->in, "type")));
    }
    rc = aws_service_check_annotations(a, out->in, err);
    rc = rc == ERR_OK ? check_scheme(a, naming, out, err) : rc;
    if (rc == ERR_OK) {
        rc = check_spec(out->in, err);
    }
    if (rc == ERR_OK) {
        rc = aws_service_ranges(a, out->in, &ranges, err);
        split_ranges(a, &ranges, out);
    }
    if (rc == ERR_OK) {
        rc = check_ports(a, naming, out, err);
    }
    if (rc == ERR_OK) {
        rc = check_rules(out, err);
    }
    if (rc == ERR_OK && out->kind == AWS_CLASSIC) {
        rc = aws_service_listeners(a, out->in, out->ports, out->n_ports, &listeners, err);
    }
    return rc == ERR_OK ? check_tail(out, err) : rc;
}

/* ---- what has no effect ---------------------------------------------------------------------- */

struct finder {
    struct arena *a;
    struct aws_finding *items;
    size_t n;
};

static void add_finding(struct finder *f, const char *reason, const char *field,
                        const char *message)
{
    if (f->n < FINDINGS_MAX) {
        f->items[f->n++] =
            (struct aws_finding){.reason = reason, .field = field, .message = message};
    }
}

/* Any text means classic; one that is hardly intended becomes a finding. */
static bool is_odd_type(const struct tt_service *s)
{
    static const char *const meant[] = {"", "classic", "clb", "elb"};
    const char *type = str_nonnull(aws_annotation(s, "type"));
    for (size_t i = 0; i < ARRAY_LEN(meant); i++) {
        if (str_eq(type, meant[i])) {
            return false;
        }
    }
    return aws_service_kind(s) == AWS_CLASSIC;
}

/* Any text but false means internal; one that says neither becomes a finding. */
static bool is_odd_internal(const struct tt_service *s)
{
    const char *text = aws_annotation_filled(s, "internal");
    return text != NULL && !str_eq(text, "true") && !str_eq(text, "false") &&
           !str_eq(text, "0.0.0.0/0"); /* the value of upstream's first documents */
}

static bool has_port_without_node_port(const struct tt_service *s)
{
    for (uint32_t i = 0; i < s->n_ports; i++) {
        if (s->ports[i].node_port == 0) {
            return true;
        }
    }
    return false;
}

/* An NLB compares the text with ssl as it is, as upstream does; a classic load balancer refuses
 * others by itself. */
static bool is_odd_backend_protocol(const struct aws_service *s)
{
    static const char *const words[] = {"", "tcp", "ssl", "http", "https"};
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        known = known || str_eq(s->backend_protocol, words[i]);
    }
    return !known;
}

static void find_of_kind(struct finder *f, const struct aws_naming *naming,
                         const struct aws_service *s)
{
    if (is_odd_type(s->in)) {
        add_finding(f, "UnknownType", AWS_ANNOTATION "type",
                    arena_printf(f->a,
                                 "annotation " AWS_ANNOTATION
                                 "type: \"%s\" means a classic load balancer, as anything but nlb",
                                 aws_annotation(s->in, "type")));
    }
    if (is_odd_internal(s->in)) {
        add_finding(f, "AnnotationIgnored", AWS_ANNOTATION "internal",
                    arena_printf(f->a,
                                 "annotation " AWS_ANNOTATION
                                 "internal: \"%s\" is not understood and counts as true",
                                 lb_finding_value(f->a, aws_annotation(s->in, "internal"))));
    }
    if ((s->kind == AWS_NLB || str_is_empty(s->certificate)) && is_odd_backend_protocol(s)) {
        add_finding(f, "AnnotationIgnored", AWS_ANNOTATION "backend-protocol",
                    arena_printf(f->a,
                                 "annotation " AWS_ANNOTATION
                                 "backend-protocol: \"%s\" is not understood and counts as tcp; "
                                 "want tcp, ssl, http or https",
                                 lb_finding_value(f->a, s->backend_protocol)));
    }
    if (s->kind == AWS_CLASSIC && s->ranges6.n > 0) {
        add_finding(f, "SourceRangeIgnored", "spec.loadBalancerSourceRanges",
                    arena_printf(f->a,
                                 "source range %s: a classic load balancer has IPv4 only; IPv6 "
                                 "ranges are left out",
                                 s->ranges6.items[0]));
    }
    if (lb_family_missed(s->in, true, false) != NULL) {
        add_finding(f, LB_FINDING_FAMILY, "spec.ipFamilies",
                    "spec.ipFamilies: IPv6 has no effect: the load balancer has IPv4 addresses "
                    "alone");
    }
    if (s->kind == AWS_NLB && s->groups.n > 0 && !str_eq(naming->nlb_group_mode, "Managed")) {
        add_finding(f, "AnnotationIgnored", AWS_ANNOTATION "security-groups",
                    "annotation " AWS_ANNOTATION "security-groups has no effect on an NLB unless "
                    "NLBSecurityGroupMode of the cloud-config is Managed");
    }
    if (has_port_without_node_port(s->in)) {
        add_finding(f, "PortIgnored", "spec.ports",
                    "ports without node port cannot be reached through a load balancer; set "
                    "spec.allocateLoadBalancerNodePorts");
    }
}

static void find(struct arena *a, const struct aws_naming *naming, struct aws_service *out)
{
    struct finder f = {.a = a, .items = ARENA_ARRAY(a, struct aws_finding, FINDINGS_MAX)};
    if (out->kind != AWS_ELSEWHERE) {
        find_of_kind(&f, naming, out);
        f.n += aws_annotation_findings(a, out->in, out->kind, &f.items[f.n], FINDINGS_MAX - f.n);
        f.n += aws_idle_findings(a, naming, out, &f.items[f.n], FINDINGS_MAX - f.n);
    }
    out->findings = f.items;
    out->n_findings = f.n;
}

const struct aws_service *aws_service_read(struct arena *a, const struct aws_naming *naming,
                                           const struct tt_service *s)
{
    struct aws_service *out = ARENA_NEW(a, struct aws_service);
    out->in = s;
    out->key = svc_key(a, s);
    out->kind = aws_service_kind(s);
    out->lb_name = svc_default_lb_name(a, s->uid);
    out->classic_group = arena_printf(a, "k8s-elb-%s", out->lb_name);
    out->nlb_group = aws_nlb_group_name(a, naming->cluster_name, s);
    out->ports = aws_service_ports(a, s, out->kind, &out->n_ports);
    out->local = str_eq(s->external_traffic_policy, "Local");
    read_annotations(a, out);
    (void)check(a, naming, out, &out->err); /* kept in the Service: its caller reports it */
    find(a, naming, out);
    return out;
}

/* ---- hand-over ------------------------------------------------------------------------------- */

/* "NAME-…" and, of internal classic ones, "internal-NAME-…". */
static bool is_host_of(const char *host, const char *name)
{
    size_t n = strlen(name);
    const char *at = str_has_prefix(host, "internal-") ? host + strlen("internal-") : host;
    return strncmp(at, name, n) == 0 && at[n] == '-';
}

bool aws_status_names_ours(const struct aws_service *s)
{
    for (uint32_t i = 0; i < s->in->n_ingress; i++) {
        if (is_host_of(str_nonnull(s->in->ingress[i].hostname), s->lb_name)) {
            return true;
        }
    }
    return false;
}

bool aws_lets_everybody_in(const struct aws_service *s)
{
    return s->ranges6.n == 0 && s->ranges.n == 1 && str_eq(s->ranges.items[0], "0.0.0.0/0");
}

/* A load balancer that was never complete has a mark without addresses. */
static bool was_served(struct arena *a, const struct tt_service *in)
{
    return mark_has_addresses(in, AWS_PROVIDER) || mark_of(a, in, AWS_PROVIDER) == MARK_NONE;
}

enum aws_claim aws_service_claim(struct arena *a, const struct aws_service *s)
{
    const struct tt_service *in = s->in;
    bool named = aws_status_names_ours(s);
    if (s->kind != AWS_ELSEWHERE || (!named && !svc_has_finalizer(in, LB_CLEANUP_FINALIZER))) {
        return AWS_CLAIM_NONE;
    }
    if (str_eq(aws_annotation(in, "handed-over"), "true")) {
        return AWS_CLAIM_GOES;
    }
    if (named) {
        return AWS_CLAIM_STAYS;
    }
    return in->n_ingress == 0 && was_served(a, in) ? AWS_CLAIM_UNNAMED : AWS_CLAIM_GOES;
}
