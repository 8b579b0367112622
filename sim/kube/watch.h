/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h: open watches.  Each is a cursor over the store's window of changes; see watch.c. */
#ifndef TRIMTAB_SIM_KUBE_WATCH_H
#define TRIMTAB_SIM_KUBE_WATCH_H

#include "sim/kube/kube.h"

struct kube_watches *kube_watches_new(struct kube_state *st);
/* Does not answer: the server has closed its connections before. */
void kube_watches_free(struct kube_watches *w);
/* A change of a store; NULL: its window was thrown away, and watches of it expire. */
void kube_watches_event(struct kube_watches *w, int store, const struct kube_event *ev);
void kube_handle_watch(struct kube_request *r);
/* sim_module.watch_fault. */
int kube_watch_fault(void *state, const char *kind, const char *path_glob);

#endif
