/* SPDX-License-Identifier: Apache-2.0 */
/* rtnl_near.c: the lists of links and addresses that are kept (rtnl_near.h).
 *
 * The kernel puts the message about a change into the socket when it makes the change.  So an empty
 * socket says that the lists are as they were: it became a member before they were made. */
#include "providers/local/kernel/rtnl_near.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#define NEWS_BYTES    65536 /* what is more is lost, and both are listed again */
#define DATAGRAMS_MAX 4096  /* of one question; more: nothing is kept */
#define ADDRS_MAX     1024  /* with more of them each question lists */

void local_near_done(struct local_near *near)
{
    local_nl_close(&near->news);
    arena_free(near->a);
    *near = (struct local_near){0};
}

static void open_news(struct local_near *near)
{
    static const int groups[] = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR};
    const int bytes = NEWS_BYTES;
    struct err ignored = ERR_INIT;

    if (near->news.socket != NULL || near->is_deaf) {
        return;
    }
    near->a = arena_new();
    near->is_deaf = local_nl_open(&near->news, NETLINK_ROUTE, &near->tally, &ignored) != ERR_OK;
    for (size_t i = 0; i < ARRAY_LEN(groups) && !near->is_deaf; i++) {
        near->is_deaf = mnl_socket_setsockopt(near->news.socket, NETLINK_ADD_MEMBERSHIP,
                                              (void *)&groups[i], sizeof groups[i]) != 0;
    }
    if (!near->is_deaf) { /* the kernel's memory for unread messages has a bound */
        (void)setsockopt(mnl_socket_get_fd(near->news.socket), SOL_SOCKET, SO_RCVBUF, &bytes,
                         sizeof bytes);
    }
}

/* Reads what the kernel told.  After a message, or a loss of some, the lists are forgotten. */
static void hear(struct local_near *near)
{
    bool told = false;
    int error = 0;

    open_news(near);
    for (unsigned i = 0; !near->is_deaf && error != EAGAIN && i < DATAGRAMS_MAX; i++) {
        ssize_t n = recv(mnl_socket_get_fd(near->news.socket), near->news.rx, LOCAL_NL_MESSAGE_MAX,
                         MSG_DONTWAIT);
        error = n < 0 ? errno : 0;
        told = told || error != EAGAIN;
        near->is_deaf = error != 0 && error != EAGAIN && error != ENOBUFS && error != EINTR;
    }
    if (told || near->is_deaf) {
        near->has_links = near->has_addrs = false;
        arena_reset(near->a);
    }
}

int local_near_links(struct local_near *near, struct local_nl *nl, struct arena *a,
                     struct local_link **ret, size_t *ret_n, struct err *err)
{
    int rc = ERR_OK;

    hear(near);
    if (near->is_deaf) {
        return local_rtnl_links(nl, a, ret, ret_n, err);
    }
    if (!near->has_links) {
        rc = local_rtnl_links(nl, near->a, &near->links, &near->n_links, err);
        near->has_links = rc == ERR_OK;
    }
    if (rc != ERR_OK) {
        return rc;
    }
    *ret = ARENA_ARRAY(a, struct local_link, near->n_links + 1);
    *ret_n = near->n_links;
    for (size_t i = 0; i < near->n_links; i++) {
        (*ret)[i] = near->links[i];
        (*ret)[i].name = arena_strdup(a, near->links[i].name);
    }
    return ERR_OK;
}

/* A lifetime goes down without a message. */
static bool may_be_kept(const struct local_link_addr *addrs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (addrs[i].valid_ms >= 0) {
            return false;
        }
    }
    return n <= ADDRS_MAX;
}

int local_near_addrs(struct local_near *near, struct local_nl *nl, uint8_t protocol,
                     struct arena *a, struct local_link_addr **ret, size_t *ret_n, struct err *err)
{
    hear(near);
    if (near->has_addrs && !near->is_deaf) {
        *ret = arena_memdup(a, near->addrs, near->n_addrs * sizeof *near->addrs);
        *ret_n = near->n_addrs;
        return ERR_OK;
    }
    int rc = local_rtnl_addrs(nl, protocol, a, ret, ret_n, err);
    if (rc == ERR_OK && !near->is_deaf && *ret_n > 0 && may_be_kept(*ret, *ret_n)) {
        near->addrs = arena_memdup(near->a, *ret, *ret_n * sizeof *near->addrs);
        near->n_addrs = *ret_n;
        near->has_addrs = true;
    }
    return rc;
}
