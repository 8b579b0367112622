/* SPDX-License-Identifier: Apache-2.0 */
/* words.h: texts of which a cluster has few, and every object some: keys of labels and annotations,
 * finalizers, values of enumerations.
 *
 * They are held once for all objects, until the process ends: of a Service's, node's or slice's
 * block they would be a third.  Room is bounded (1,024 words, 32 KiB), so that invented keys cannot
 * fill more; a word without room is stored in its object, as everything else. Thread-safe. */
#ifndef TRIMTAB_KUBE_WORDS_H
#define TRIMTAB_KUBE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shared copy of `s`, which is not NULL; the same one for equal texts, forever.  NULL when it
 * has none and cannot get one: too long (above 127 bytes), or no room; then that stays so.  Never
 * blocks for long. */
const char *kube_word(const char *s);
const char *kube_word_n(const char *s, size_t len); /* with its length, as strlen() has it */
/* Whether `s` is such a shared copy; then a number below 32,768 that stands for it. */
bool kube_word_place(const char *s, uint32_t *ret);
const char *kube_word_at(uint32_t place);

#endif
