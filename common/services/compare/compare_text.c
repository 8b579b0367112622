/* SPDX-License-Identifier: Apache-2.0 */
/* compare_text.c: differences in words; see compare.h. */
#include "common/services/compare/compare.h"

#define SHOWN_MAX 200

static const char *words(enum ks_difference_kind kind)
{
    switch (kind) {
    case KS_DIFF_MISSING:
        return "- missing on the node";
    case KS_DIFF_EXTRA:
        return "+ only on the node";
    case KS_DIFF_CHANGED:
        break;
    }
    return "~ changed on the node";
}

static void print_one(struct str_buf *b, const struct ks_difference *d)
{
    str_appendf(b, "  %s: %s\n", words(d->kind), d->what);
    if (d->want != NULL) {
        str_appendf(b, "      want  %s\n", d->want);
    }
    if (d->have != NULL) {
        str_appendf(b, "      have  %s\n", d->have);
    }
}

static size_t count_subjects(const struct ks_compared *found)
{
    size_t n = 0;
    for (size_t i = 0; i < found->n_differences; i++) { /* sorted by subject */
        bool again =
            i > 0 && str_eq(found->differences[i].subject, found->differences[i - 1].subject);
        n += !again && *found->differences[i].subject != '\0';
    }
    return n;
}

void ks_compared_text(struct str_buf *b, const char *node, const struct ks_compared *found)
{
    size_t subjects = count_subjects(found);
    const char *subject = "";
    if (found->n_differences == 0) {
        str_appendf(
            b,
            "%s has what kube-proxy would install: %zu rules compared, %zu other rules ignored.\n",
            node, found->n_rules, found->n_others);
    } else {
        str_appendf(b,
                    "%s differs: %zu difference%s, in %zu service port%s; %zu rules compared, %zu "
                    "other rules ignored.\n",
                    node, found->n_differences, found->n_differences == 1 ? "" : "s", subjects,
                    subjects == 1 ? "" : "s", found->n_rules, found->n_others);
    }
    for (size_t i = 0; i < found->n_notes; i++) {
        str_append(b, "Note: ");
        str_append_wrapped(b, found->notes[i], 6, 2);
        str_append_c(b, '\n');
    }
    for (size_t i = 0; i < found->n_differences && i < SHOWN_MAX; i++) {
        const struct ks_difference *d = &found->differences[i];
        if (i == 0 || !str_eq(d->subject, subject)) {
            str_appendf(b, "\n%s\n", str_or(d->subject, "All Services"));
        }
        subject = d->subject;
        print_one(b, d);
    }
    if (found->n_differences > SHOWN_MAX) {
        str_appendf(b, "… and %zu more\n", found->n_differences - SHOWN_MAX);
    }
    if (found->n_differences > 0) {
        str_append(b, "\nNext: ");
        str_append_wrapped(b,
                           "kube-proxy writes at most once a second: take both sides at the same "
                           "moment. What stays: the log of kube-proxy on the node (kubectl -n "
                           "kube-system logs), and whether it reaches the API server",
                           6, 2);
        str_append_c(b, '\n');
    }
}
