/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs_check.c: what may be asked of IPVS, and what its answers mean.  Pure.
 *
 * The kernel takes some changes silently and then does something else, and prints each refusal into
 * its log: so all is checked before. */
#include "providers/local/kernel/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#define PERSISTENT_MAX_S 86400

static bool is_unusable(const struct ip_addr *a)
{
    static const struct ip_addr none6 = {.len = 16};
    static const struct ip_addr loopback6 = {
        .len = 16, .bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
    if (a->len == 16) {
        return a->bytes[0] == 0xff || ip_eq(a, &none6) || ip_eq(a, &loopback6);
    }
    return a->len != 4 || a->bytes[0] == 0 || a->bytes[0] == 127 || a->bytes[0] >= 224;
}

static const char *wrong_with_service(const struct local_ipvs_service *s)
{
    bool persistent = (s->flags & LOCAL_IPVS_PERSISTENT) != 0;
    if (s->scheduler[0] == '\0' || memchr(s->scheduler, '\0', sizeof(s->scheduler)) == NULL) {
        return "no scheduler";
    }
    if (persistent != (s->timeout_s != 0) || s->timeout_s > PERSISTENT_MAX_S) {
        return "a persistent service needs a time of 1 s to 86400 s, another one has none";
    }
    if ((s->flags & LOCAL_IPVS_ONE_PACKET) != 0 && s->id.protocol != IPPROTO_UDP) {
        return "one-packet scheduling is for UDP";
    }
    return NULL;
}

static const char *wrong_with_dest(const struct local_frontend_id *id,
                                   const struct local_ipvs_dest *d)
{
    bool tunnels = d->method == LOCAL_IPVS_TUNNEL;
    if (d->addr.len != id->vip.len) {
        return "the destination is of the other family";
    }
    if (is_unusable(&d->addr)) {
        return "the destination is no address of another machine";
    }
    if (d->port == 0) {
        return "the destination has no port";
    }
    if (d->method != LOCAL_IPVS_NAT && d->method != LOCAL_IPVS_DR && !tunnels) {
        return "no such way to forward";
    }
    if (tunnels && d->tunnel != LOCAL_TUNNEL_IPIP && d->tunnel != LOCAL_TUNNEL_GUE &&
        d->tunnel != LOCAL_TUNNEL_GRE) {
        return "no such tunnel";
    }
    if (tunnels && (d->tunnel == LOCAL_TUNNEL_GUE) != (d->tunnel_port != 0)) {
        return "a port goes with gue, and with no other tunnel";
    }
    return NULL;
}

int local_ipvs_check(const struct local_ipvs_change *c, struct err *err)
{
    const struct local_frontend_id *id = &c->service.id;
    char text[LOCAL_FRONTEND_TEXT_MAX];
    const char *wrong = NULL;
    if (is_unusable(&id->vip) || id->port == 0) {
        wrong = "no address and port of a service";
    } else if (id->protocol != IPPROTO_TCP && id->protocol != IPPROTO_UDP) {
        wrong = "no such protocol is served";
    } else if (c->what == LOCAL_IPVS_ADD_SERVICE || c->what == LOCAL_IPVS_SET_SERVICE) {
        wrong = wrong_with_service(&c->service);
    } else if (c->what == LOCAL_IPVS_ADD_DEST || c->what == LOCAL_IPVS_SET_DEST) {
        wrong = wrong_with_dest(id, &c->dest);
    }
    if (wrong == NULL) {
        return ERR_OK;
    }
    local_frontend_text(id, text);
    return err_set(err, ERR_BUG, "ipvs service %s: %s", text, wrong);
}

int local_ipvs_said(const struct local_ipvs_change *c, int error, struct err *err)
{
    char text[LOCAL_FRONTEND_TEXT_MAX];
    bool absent = error == ENOENT || error == ESRCH;
    bool of_service = c->what == LOCAL_IPVS_ADD_SERVICE || c->what == LOCAL_IPVS_SET_SERVICE;
    bool deletes = c->what == LOCAL_IPVS_DEL_SERVICE || c->what == LOCAL_IPVS_DEL_DEST;
    if (error == 0 || (deletes && absent)) {
        return ERR_OK;
    }
    local_frontend_text(&c->service.id, text);
    if (of_service && error == ENOENT) {
        char config[LOCAL_IPVS_SCHEDULER_MAX] = "";
        for (size_t i = 0; c->service.scheduler[i] != '\0' && i + 1 < sizeof(config); i++) {
            config[i] = (char)toupper((unsigned char)c->service.scheduler[i]);
        }
        return err_set(err, ERR_INVALID,
                       "scheduler %s is not available in this kernel (module ip_vs_%s): modprobe "
                       "ip_vs_%s (CONFIG_IP_VS_%s)",
                       c->service.scheduler, c->service.scheduler, c->service.scheduler, config);
    }
    switch (error) {
    case EEXIST:
    case ENOENT:
    case ESRCH:
        return err_set(err, ERR_CONFLICT, "somebody else changed %s", text);
    case EPERM:
    case EACCES:
        return err_set(err, ERR_AUTH,
                       "not allowed to change IPVS: CAP_NET_ADMIN in the initial user namespace "
                       "is needed");
    case EAFNOSUPPORT:
        return err_set(err, ERR_INVALID,
                       "ipvs service %s: IPVS of this kernel has no IPv6 (CONFIG_IP_VS_IPV6); mode "
                       "nft works without",
                       text);
    case EPROTONOSUPPORT:
        return err_set(err, ERR_INVALID,
                       "ipvs service %s: IPVS of this kernel lacks the protocol "
                       "(CONFIG_IP_VS_PROTO_TCP, CONFIG_IP_VS_PROTO_UDP)",
                       text);
    case ENOMEM:
    case ENOBUFS:
    case ENFILE:
    case EMFILE:
    case EINTR:
    case EAGAIN:
        return err_set(err, ERR_TRANSIENT, "ipvs service %s: %s", text, strerror(error));
    default:
        return err_set(err, ERR_BUG, "ipvs service %s: the kernel refuses it: %s", text,
                       strerror(error));
    }
}
