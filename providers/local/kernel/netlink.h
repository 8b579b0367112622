/* SPDX-License-Identifier: Apache-2.0 */
/* netlink.h: one netlink socket, buffers of requests, and their answers.
 *
 * The kernel serves a request during the system call that sends it: when local_nl_talk() has sent a
 * buffer, all acknowledgements wait in the socket, so that nothing here ever waits for a message.
 * A dump is the exception: each read makes its next part.  Pieces of libmnl (LGPL) lay out messages
 * and attributes; the numbers are those of the kernel's own headers (linux-libc-dev).  One thread
 * at a time for each socket. */
#ifndef TRIMTAB_LOCAL_KERNEL_NETLINK_H
#define TRIMTAB_LOCAL_KERNEL_NETLINK_H

#include "common/base/attr.h"
#include "common/base/err.h"

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The room that local_nl_begin() leaves for a message, header and all; no caller may write more. */
#define LOCAL_NL_MESSAGE_MAX 65536
/* Requests in one buffer that are each acknowledged: their answers must fit into the socket. */
#define LOCAL_NL_IN_FLIGHT 64

struct local_tally;
struct local_nl {
    struct mnl_socket *socket;
    uint32_t seq;              /* of the newest request */
    struct local_tally *tally; /* counts what is sent, and its answers; borrowed */
    uint8_t *rx;               /* LOCAL_NL_MESSAGE_MAX bytes */
    uint8_t *spare;            /* of the last buffer of requests, for the next; or NULL */
};

/* Opens a socket of this bus (NETLINK_ROUTE, NETLINK_NETFILTER).  ERR_INVALID: the kernel has no
 * such bus; ERR_TRANSIENT: no descriptor or memory is left. */
int local_nl_open(struct local_nl *nl, int bus, struct local_tally *tally,
                  struct err *err) _warn_unused_;
void local_nl_close(struct local_nl *nl); /* also of a zeroed struct */

/* Requests that are sent together.  Zeroed at first; its socket outlives it. */
struct local_nl_buf {
    struct local_nl *of; /* gets its memory back; NULL: none does */
    uint8_t *data;       /* heap; zeroes behind `len` */
    size_t len;
    size_t cap;
    uint32_t first_seq; /* of the first message */
    uint32_t n;         /* messages */
};
void local_nl_buf_done(struct local_nl_buf *b);
void local_nl_buf_reset(struct local_nl_buf *b); /* empties; keeps the memory */
/* Begins a message with flags beside NLM_F_REQUEST, and a zeroed header of its family of `extra`
 * bytes at mnl_nlmsg_get_payload().  The message is good until local_nl_end(), which a caller calls
 * when the message is whole. */
struct nlmsghdr *local_nl_begin(struct local_nl *nl, struct local_nl_buf *b, uint16_t type,
                                uint16_t flags, size_t extra);
void local_nl_end(struct local_nl_buf *b);

/* The kernel's answer to one request. */
struct local_nl_ack {
    uint32_t seq;
    int error;        /* an errno; 0: done */
    size_t offset;    /* in the request, of the attribute that it dislikes; 0: not said */
    const char *text; /* the kernel's own words, or NULL */
};
struct local_nl_hear {
    /* A message that is no acknowledgement; may be NULL.  Its sequence number is that
     * of the request. */
    void (*message)(void *arg, const struct nlmsghdr *m);
    /* An acknowledgement or a refusal; may be NULL. */
    void (*ack)(void *arg, const struct local_nl_ack *a);
    void *arg;
};
/* Sends what is in `b` and hears all answers.  `sure` is the request that is certainly answered,
 * with a refusal at least.  A refusal is not an error of this function; refusals of a dump are
 * handed to `ack`, too.  ERR_TRANSIENT: answers are lost (ENOBUFS, or none came for `sure`), it is
 * unknown what was done; or a dump was cut by a change of what it lists.  ERR_BUG: the kernel does
 * not take the buffer.  Does not block. */
int local_nl_talk(struct local_nl *nl, const struct local_nl_buf *b, uint32_t sure,
                  const struct local_nl_hear *hear, struct err *err) _warn_unused_;
/* The same for one request without an answer but its acknowledgement; *ret_errno is what
 * that says, 0: done. */
int local_nl_ask(struct local_nl *nl, const struct local_nl_buf *b,
                 const struct local_nl_hear *hear, int *ret_errno, struct err *err) _warn_unused_;

/* The code of an errno (kernel.h) when nothing more is known about the request. */
int local_nl_code(int error);

/* Room for the attributes 0…LOCAL_NL_ATTRS-1 of a message or a nest; those that are
 * absent are NULL. */
#define LOCAL_NL_ATTRS 64
struct local_nl_attrs {
    const struct nlattr *at[LOCAL_NL_ATTRS];
};
void local_nl_parse(const struct nlmsghdr *m, size_t extra, struct local_nl_attrs *ret);
void local_nl_parse_nest(const struct nlattr *nest, struct local_nl_attrs *ret);
/* Walks attributes from `at` up to `tail`. */
#define LOCAL_NL_EACH(a, at, tail)                                                                 \
    for ((a) = (at); mnl_attr_ok((a), (int)((const char *)(tail) - (const char *)(a)));            \
         (a) = mnl_attr_next(a))
#define LOCAL_NL_EACH_IN(a, nest)                                                                  \
    LOCAL_NL_EACH(a, mnl_attr_get_payload(nest),                                                   \
                  (const char *)mnl_attr_get_payload(nest) + mnl_attr_get_payload_len(nest))
/* Value of an attribute if it is there and long enough; else 0. */
uint32_t local_nl_u32(const struct nlattr *a);
uint64_t local_nl_u64(const struct nlattr *a);
uint32_t local_nl_be32(const struct nlattr *a);
uint16_t local_nl_be16(const struct nlattr *a);
uint8_t local_nl_u8(const struct nlattr *a);
/* True if it is there and equals the text, with or without a NUL at its end. */
bool local_nl_text_is(const struct nlattr *a, const char *text);
void local_nl_put_be32(struct nlmsghdr *m, uint16_t type, uint32_t value);

#endif
