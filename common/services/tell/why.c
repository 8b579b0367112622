/* SPDX-License-Identifier: Apache-2.0 */
/* why.c: why nothing is behind a Service, and what to look at; see answer.h. */
#include <string.h>

#include "common/base/str.h"
#include "common/services/tell/answer.h"

#define HEADLESS_LABEL "service.kubernetes.io/headless"
#define PROXY_LABEL    "service.kubernetes.io/service-proxy-name"

static const char *family_name(enum ks_family family)
{
    return family == KS_IPV6 ? "IPv6" : "IPv4";
}

/* "app=web,tier=front", as kubectl -l takes it. */
static const char *selector_text(struct arena *a, const struct ks_service *s)
{
    const char **parts = ARENA_ARRAY(a, const char *, s->n_selector);
    for (size_t i = 0; i < s->n_selector; i++) {
        parts[i] = arena_printf(a, "%s=%s", s->selector[i].key, s->selector[i].value);
    }
    return str_join(a, parts, s->n_selector, ",");
}

/* Counts over the slices of a Service. */
struct census {
    size_t slices;
    size_t headless;   /* carry the label by which kube-proxy does not see them */
    size_t of_family;  /* of the others */
    size_t with_port;  /* of these: name the port */
    size_t endpoints;  /* of slices that name the port */
    size_t elsewhere;  /* endpoints of slices of the family without the port */
    size_t without_ip; /* endpoints without an address of the family, which kube-proxy leaves out */
    const char *other_port;
};

static bool names_port(const struct ks_slice *s, const char *name, const char *protocol)
{
    for (size_t i = 0; i < s->n_ports; i++) {
        const struct ks_slice_port *p = &s->ports[i];
        if (p->name != NULL && p->has_port && p->port != 0 &&
            (name == NULL || str_eq(p->name, name)) &&
            str_eq(str_or(p->protocol, "TCP"), protocol)) {
            return true;
        }
    }
    return false;
}

static const char *ports_text(struct arena *a, const struct ks_slice *s)
{
    const char **parts = ARENA_ARRAY(a, const char *, s->n_ports);
    for (size_t i = 0; i < s->n_ports; i++) {
        const struct ks_slice_port *p = &s->ports[i];
        parts[i] = arena_printf(a, "%s%s%s %s%s", p->name == NULL ? "" : "\"",
                                str_or(p->name, p->name == NULL ? "one without a name," : ""),
                                p->name == NULL ? "" : "\"", str_or(p->protocol, "TCP"),
                                p->has_port && p->port != 0 ? "" : " without a number");
    }
    return str_join(a, parts, s->n_ports, ", ");
}

/* kube-proxy takes the first address alone. */
static bool has_ip(const struct ks_slice_endpoint *e, enum ks_family family)
{
    struct ip_addr ip;
    return e->n_addresses > 0 && ip_parse_sloppy(e->addresses[0], &ip) &&
           ks_family_of(&ip) == family;
}

static struct census count(struct arena *a, const struct ks_slice *const *slices, size_t n,
                           const char *name, const char *protocol, enum ks_family family)
{
    struct census c = {.slices = n};
    for (size_t i = 0; i < n; i++) {
        const struct ks_slice *s = slices[i];
        if (ks_kv(s->meta.labels, s->meta.n_labels, HEADLESS_LABEL) != NULL) {
            c.headless++;
            continue;
        }
        if (!str_eq(s->address_type, family_name(family))) {
            continue;
        }
        c.of_family++;
        if (!names_port(s, name, protocol)) {
            c.elsewhere += s->n_endpoints;
            if (s->n_endpoints > 0 && c.other_port == NULL) {
                c.other_port = s->n_ports > 0 ? ports_text(a, s) : "no ports";
            }
            continue;
        }
        c.with_port++;
        c.endpoints += s->n_endpoints;
        for (size_t k = 0; k < s->n_endpoints; k++) {
            c.without_ip += !has_ip(&s->endpoints[k], family);
        }
    }
    return c;
}

static struct ks_why no_pods(struct arena *a, const struct ks_service *s, const char *found)
{
    struct ks_why why = {0};
    if (s->n_selector == 0) {
        why.because = arena_printf(a,
                                   "%s, and the Service has no selector: its EndpointSlices are "
                                   "to be made by hand",
                                   found);
        why.next = "make an EndpointSlice for it, or give the Service a selector";
        return why;
    }
    why.because = arena_printf(a, "%s: no pod matches its selector %s", found, selector_text(a, s));
    why.next = arena_printf(a, "kubectl -n %s get pods -l %s", s->meta.ns, selector_text(a, s));
    return why;
}

struct ks_why ks_why_no_endpoints(struct arena *a, const struct ks_cluster *cluster,
                                  const struct ks_service *service, const char *port_name,
                                  const char *protocol, enum ks_family family)
{
    size_t n = 0;
    const struct ks_slice *const *slices =
        ks_cluster_slices(cluster, service->meta.ns, service->meta.name, &n);
    const struct census c = count(a, slices, n, port_name, protocol, family);
    struct ks_why why = {0};
    if (c.slices == 0) {
        return no_pods(a, service, "the Service has no EndpointSlice");
    }
    if (c.headless == c.slices) {
        why.because = "all its EndpointSlices have the label " HEADLESS_LABEL
                      ", with which kube-proxy does not see them";
        why.next = "take the label off the Service or the slices";
    } else if (c.of_family == 0) {
        why.because = arena_printf(a, "none of its %zu EndpointSlices is of address type %s",
                                   c.slices, family_name(family));
        why.next = arena_printf(a,
                                "look at spec.ipFamilies of the Service and at the pods' "
                                "addresses: is there an %s one?",
                                family_name(family));
    } else if (c.endpoints + c.elsewhere == 0) {
        return no_pods(a, service, "its EndpointSlices are empty");
    } else if (c.endpoints == 0) {
        why.because = arena_printf(a,
                                   "its EndpointSlices have no port named \"%s\" of protocol %s "
                                   "(they have %s)",
                                   str_nonnull(port_name), protocol, c.other_port);
        why.next = "look at the Service's targetPort: a name must be the name of a port of the "
                   "pods' containers";
    } else if (c.without_ip == c.endpoints) {
        why.because = arena_printf(a, "none of its %zu endpoints has an address of the family %s",
                                   c.endpoints, family_name(family));
        why.next = "the EndpointSlices are broken: look at which controller writes them";
    } else {
        why.because = arena_printf(a, "none of its %zu endpoints is ready or still serving",
                                   c.endpoints - c.without_ip);
        why.next =
            service->n_selector == 0
                ? "look at conditions.ready in its EndpointSlices"
                : arena_printf(a,
                               "kubectl -n %s get pods -l %s: look at READY and at the events "
                               "of the readiness probe",
                               service->meta.ns, selector_text(a, service));
    }
    return why;
}

struct ks_why ks_why_not_proxied(struct arena *a, const struct ks_service *s, enum ks_family family)
{
    struct ks_why why = {0};
    bool any = false;
    for (size_t i = 0; i < s->n_cluster_ips; i++) {
        struct ip_addr ip;
        any |= ip_parse_sloppy(s->cluster_ips[i], &ip) && ks_family_of(&ip) == family;
    }
    struct ip_addr only;
    any |= ip_parse_sloppy(s->cluster_ip, &only) && ks_family_of(&only) == family;
    if (str_eq(s->type, "ExternalName")) {
        why.because = "it is of type ExternalName: a name in DNS, without an address";
        why.next = "resolve its name, and trace what that leads to";
    } else if (str_eq(s->cluster_ip, "None")) {
        why.because = "it is headless (clusterIP None): clients go to the pods' own addresses, "
                      "kube-proxy has no part in it";
        why.next = "connect to a pod's address; give the Service a cluster IP to have one address";
    } else if (ks_kv(s->meta.labels, s->meta.n_labels, PROXY_LABEL) != NULL) {
        why.because = "it has the label " PROXY_LABEL ": kube-proxy leaves it to another proxy";
        why.next = "ask that proxy, or take the label off";
    } else if (s->n_ports == 0) {
        why.because = "it has no ports, so that none of its addresses leads to a pod";
        why.next = "add spec.ports to the Service";
    } else if (!any) {
        why.because = str_is_empty(s->cluster_ip)
                          ? "it has no cluster IP yet"
                          : arena_printf(a,
                                         "it has no %s cluster IP, so that it does not exist "
                                         "in that family",
                                         family_name(family));
        why.next = str_is_empty(s->cluster_ip)
                       ? "the API server gives it one: trace what the cluster stores (kubectl get "
                         "-o yaml), not the manifest"
                       : "add the family to spec.ipFamilies (ipFamilyPolicy PreferDualStack)";
    }
    return why;
}
