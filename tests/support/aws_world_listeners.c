/* SPDX-License-Identifier: Apache-2.0 */
/* aws_world_listeners.c: listeners of NLBs of aws_world.h. */
#include "tests/support/aws_world_internal.h"

#include <string.h>

static struct aws_listener *listener_of(struct aws_world_call *c, const char *arn)
{
    for (size_t i = 0; i < c->w->n_listeners; i++) {
        if (str_eq(c->w->listeners[i].arn, arn)) {
            return &c->w->listeners[i];
        }
    }
    (void)aws_world_refuse(c, ERR_NOT_FOUND, "ListenerNotFound", "%s", arn);
    return NULL;
}

static bool speaks(const char *listener, const char *group)
{
    return str_eq(listener, group) || (str_eq(listener, "TLS") && str_eq(group, "TCP"));
}

static bool is_datagram(const char *protocol)
{
    return str_eq(protocol, "UDP") || str_eq(protocol, "TCP_UDP");
}

/* Validation of a listener, independent of its former state. */
static void check(struct aws_world_call *c, const struct aws_listener *l)
{
    bool tls = str_eq(l->protocol, "TLS");
    struct aws_world_target_group *g = aws_world_target_group_of(c, l->target_group);
    if (!tls && !str_eq(l->protocol, "TCP") && !is_datagram(l->protocol)) {
        (void)aws_world_refuse(c, ERR_INVALID, "UnsupportedProtocol", "%s", l->protocol);
    }
    if (g != NULL && !speaks(l->protocol, g->group.protocol)) {
        (void)aws_world_refuse(c, ERR_INVALID, "InvalidConfigurationRequest", "%s to %s",
                               l->protocol, g->group.protocol);
    }
    if (tls ? str_is_empty(l->certificate) || str_is_empty(l->ssl_policy)
            : !str_is_empty(l->certificate) || !str_is_empty(l->ssl_policy)) {
        (void)aws_world_refuse(c, ERR_INVALID, "ValidationError", "%s with certificate %s and %s",
                               l->protocol, l->certificate, l->ssl_policy);
    }
    for (size_t i = 0; i < c->w->n_listeners; i++) {
        const struct aws_listener *other = &c->w->listeners[i];
        bool is_same = str_eq(other->arn, l->arn);
        if (!is_same && str_eq(other->balancer, l->balancer) && other->port == l->port) {
            (void)aws_world_refuse(c, ERR_EXISTS, "DuplicateListener", "%d", (int)l->port);
        }
        if (str_eq(other->target_group, l->target_group) && !str_eq(other->balancer, l->balancer)) {
            (void)aws_world_refuse(c, ERR_INVALID, "TargetGroupAssociationLimit", "%s",
                                   l->target_group);
        }
    }
}

/* The group of DefaultActions, or NULL. */
static const char *action_group(struct aws_world_call *c)
{
    const char *type = aws_world_param(c, "DefaultActions.member.1.Type");
    const char *group = aws_world_param(c, "DefaultActions.member.1.TargetGroupArn");
    if ((type != NULL || group != NULL) && (!str_eq(type, "forward") || group == NULL)) {
        (void)aws_world_refuse(c, ERR_INVALID, "ValidationError", "%s", str_nonnull(type));
    }
    return group;
}

void aws_world_create_listener(struct aws_world_call *c)
{
    struct aws_world *w = c->w;
    const struct aws_world_nlb *lb = aws_world_nlb_of(c, aws_world_needed(c, "LoadBalancerArn"));
    int32_t port = 0;
    (void)aws_world_int(c, "Port", &port);
    const char *protocol = aws_world_needed(c, "Protocol");
    const char *fallback = str_eq(protocol, "TLS") ? "ELBSecurityPolicy-2016-08" : "";
    const char *certificate = aws_world_param(c, "Certificates.member.1.CertificateArn");
    const char *policy = aws_world_param(c, "SslPolicy");
    struct aws_tags tags = aws_world_pairs(c, "Tags.member");
    struct aws_listener l = {.arn = arena_printf(w->a, "arn:listener/%d", w->next),
                             .balancer = lb != NULL ? lb->nlb.arn : "",
                             .port = port,
                             .protocol = protocol,
                             .ssl_policy = str_or(policy, fallback),
                             .certificate = str_nonnull(certificate),
                             .target_group = str_nonnull(action_group(c))};
    if (port < 1 || port > 65535) {
        (void)aws_world_refuse(c, ERR_INVALID, "ValidationError", "port %d", (int)port);
    }
    if (!aws_world_failed(c)) {
        check(c, &l);
    }
    if (aws_world_failed(c) || w->n_listeners == AWS_WORLD_MAX) {
        (void)aws_world_refuse(c, ERR_QUOTA, "TooManyListeners", "%zu", w->n_listeners);
        return;
    }
    w->next++;
    w->listener_tags[w->n_listeners] = tags;
    w->listeners[w->n_listeners++] = l;
    aws_world_output(c, "Listeners/member/ListenerArn", l.arn);
    c->changed = true;
}

/* From and to UDP it cannot go; from TCP to TLS it must say all that TLS needs; to TCP, all
 * of that goes. */
static void change_protocol(struct aws_world_call *c, struct aws_listener *l, const char *protocol)
{
    if (str_eq(protocol, l->protocol)) {
        (void)aws_world_refuse(c, ERR_BUG, "NothingChanged", "Protocol %s", protocol);
    }
    if (is_datagram(protocol) || is_datagram(l->protocol)) {
        (void)aws_world_refuse(c, ERR_INVALID, "InvalidConfigurationRequest", "%s to %s",
                               l->protocol, protocol);
    }
    l->protocol = protocol;
    l->certificate = "";
    l->ssl_policy = "";
}

static void change_text(struct aws_world_call *c, const char *name, const char **was)
{
    const char *is = aws_world_param(c, name);
    if (is == NULL) {
        return;
    }
    if (str_eq(is, *was) && c->w->strict) {
        (void)aws_world_refuse(c, ERR_BUG, "NothingChanged", "%s %s", name, is);
    }
    *was = is;
    c->changed = true;
}

void aws_world_modify_listener(struct aws_world_call *c)
{
    struct aws_listener *found = listener_of(c, aws_world_needed(c, "ListenerArn"));
    if (found == NULL) {
        return;
    }
    struct aws_listener l = *found;
    const char *protocol = aws_world_param(c, "Protocol");
    if (protocol != NULL) {
        change_protocol(c, &l, protocol);
        c->changed = true;
    }
    change_text(c, "Certificates.member.1.CertificateArn", &l.certificate);
    change_text(c, "SslPolicy", &l.ssl_policy);
    const char *group = action_group(c);
    if (group != NULL) {
        c->changed |= !str_eq(group, l.target_group);
        l.target_group = group;
    }
    check(c, &l);
    *found = l;
}

void aws_world_delete_listener(struct aws_world_call *c)
{
    struct aws_listener *l = listener_of(c, aws_world_needed(c, "ListenerArn"));
    if (l == NULL) {
        return;
    }
    size_t at = (size_t)(l - c->w->listeners);
    struct aws_tags *tags = &c->w->listener_tags[at];
    memmove(l, l + 1, (c->w->n_listeners - at - 1) * sizeof *l);
    memmove(tags, tags + 1, (c->w->n_listeners - at - 1) * sizeof *tags);
    c->w->n_listeners--;
    c->changed = true;
}
