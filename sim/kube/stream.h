/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h: long answers in pieces, so that a slow client never makes the simulator hold two
 * copies.
 *
 * A stream asks its source for the next piece while less than KUBE_STREAM_HIGH bytes wait to be
 * sent, and looks again a moment later.  The moment is real time, not the simulator's: it
 * paces a socket. */
#ifndef TRIMTAB_SIM_KUBE_STREAM_H
#define TRIMTAB_SIM_KUBE_STREAM_H

#include "sim/kube/kube.h"

#define KUBE_STREAM_HIGH    (1024 * 1024)
#define KUBE_STREAM_WAIT_US 2000

/* A copy of `text` as the whole answer. */
void kube_stream_text(struct kube_request *r, int code, const char *text, size_t n);

/* Objects between a head and a tail, separated by commas, each without kind and apiVersion.  Takes
 * the references and the array over; head and tail are copied. */
void kube_stream_objs(struct kube_request *r, const char *head, struct kube_obj **objs, size_t n,
                      const char *tail);

#endif
