/* SPDX-License-Identifier: Apache-2.0 */
/* host_explain.c: what a provider says in explain(): rows of facts, or whole lines of text.
 *
 * Texts are charged to the result, so that one Service's explanation has a bound.  The first thing
 * that may not be makes the result broken (host_result.c). */
#include <string.h>

#include "common/base/str.h"
#include "controller/host/host_internal.h"

#define HOST_PHRASE_MAX 65536
#define HOST_EXPLAIN_MAX                                                                           \
    ((size_t)4 * 1024 * 1024) /* texts and names of all rows; 10,000 nodes fit */

/* Counts bytes that the result is about to keep; false (and a broken result) when they
 * are too many. */
static bool charge(struct tt_result *r, size_t n) _requires_(r->call->lock)
{
    if (n > HOST_EXPLAIN_MAX - r->rows_bytes) {
        host_break_result(r, "an explanation of more than 4 MiB");
        return false;
    }
    r->rows_bytes += n;
    return true;
}

/* NULL stays NULL. */
static const char *take_phrase(struct tt_result *r, const char *text) _requires_(r->call->lock)
{
    return text == NULL || !charge(r, strnlen(text, HOST_PHRASE_MAX) + 1)
               ? NULL
               : host_take_text(r, text, HOST_PHRASE_MAX, "a text of an explanation");
}

static const char *const *take_names(struct tt_result *r, const struct tt_explain_row *row)
    _requires_(r->call->lock)
{
    if (row->n_names > TT_LIST_MAX || (row->n_names > 0 && row->names == NULL)) {
        host_break_result(r, "too many names in an explanation");
        return NULL;
    }
    if (!charge(r, row->n_names * sizeof(*row->names))) {
        return NULL;
    }
    const char **names = ARENA_ARRAY(r->call->arena, const char *, row->n_names);
    for (uint32_t i = 0; i < row->n_names && !r->broken; i++) {
        const char *name = str_nonnull(row->names[i]);
        if (charge(r, strnlen(name, TT_TEXT_MAX) + 1)) {
            names[i] = host_take_text(r, row->names[i], TT_TEXT_MAX, "a name in an explanation");
        }
    }
    return names;
}

/* The texts that a row of a section must have (provider.h). */
struct row_rule {
    const char *const
        *subjects; /* the words of which the subject is one, NULL behind the last; NULL: any text */
    bool subject, value, outcome; /* required */
};

static const struct row_rule *rule_of(uint32_t section)
{
    static const char *const verdicts[] = {"served", "loses", "elsewhere", "refused", "none", NULL};
    static const char *const steps[] = {"client", "load balancer", "backend", "node", "pod", NULL};
    static const char *const protocols[] = {"HTTP", "HTTPS", "TCP", NULL};
    static const struct row_rule rules[] = {
        [TT_EXPLAIN_ANSWER] = {.subjects = verdicts, .subject = true, .outcome = true},
        [TT_EXPLAIN_DECISION] = {.subject = true},
        [TT_EXPLAIN_NODES] = {.value = true},
        [TT_EXPLAIN_ZONE] = {.subject = true},
        [TT_EXPLAIN_NODES_RULE] = {.value = true},
        [TT_EXPLAIN_LEFT_OUT] = {.subject = true, .outcome = true},
        [TT_EXPLAIN_HOP] = {.subjects = steps, .subject = true},
        [TT_EXPLAIN_HEALTH] = {.subjects = protocols, .subject = true},
        [TT_EXPLAIN_ADDRESS] = {.value = true},
        [TT_EXPLAIN_NOTE] = {.subject = true, .value = true},
        [TT_EXPLAIN_WARNING] = {.value = true},
    };

    return section >= TT_EXPLAIN_ANSWER && section < ARRAY_LEN(rules) ? &rules[section] : NULL;
}

static bool is_one_of(const char *const *words, const char *text)
{
    while (*words != NULL && !str_eq(*words, text)) {
        words++;
    }
    return *words != NULL;
}

/* Breaks the result when the row lacks a text of its section, or has a word that its
 * section does not know. */
static void check_row(struct tt_result *r, const struct tt_explain_row *row,
                      const struct row_rule *rule) _requires_(r->call->lock)
{
    const char *lacks = rule->subject && row->subject == NULL   ? "subject"
                        : rule->value && row->value == NULL     ? "value"
                        : rule->outcome && row->outcome == NULL ? "outcome"
                                                                : NULL;

    if (lacks != NULL) {
        host_break_result(r, arena_printf(r->call->arena,
                                          "a row of section %u of an explanation without %s",
                                          row->section, lacks));
    } else if (rule->subjects != NULL && !is_one_of(rule->subjects, row->subject)) {
        host_break_result(
            r, arena_printf(r->call->arena,
                            "a row of section %u of an explanation with an unknown subject",
                            row->section));
    }
}

/* Whether it has all members of 1.4; a later row may have more. */
static bool is_whole_row(const struct tt_explain_row *row)
{
    return row != NULL && TT_HAS(row, every_ms);
}

static void push_row(struct tt_result *r, const struct tt_explain_row *row)
    _requires_(r->call->lock)
{
    if (r->n_rows == r->cap_rows) {
        size_t cap = r->cap_rows == 0 ? 32 : r->cap_rows * 2;
        struct tt_explain_row *rows = arena_calloc(r->call->arena, cap, sizeof(*rows));
        if (r->n_rows > 0) {
            memcpy(rows, r->rows, r->n_rows * sizeof(*rows));
        }
        r->rows = rows;
        r->cap_rows = cap;
    }
    r->rows[r->n_rows++] = *row;
}

static void take_row(struct tt_result *r, const struct tt_explain_row *row,
                     const struct row_rule *rule) _requires_(r->call->lock)
{
    check_row(r, row, rule);
    if (r->broken) {
        return;
    }
    const struct tt_explain_row copy = {.size = sizeof(copy),
                                        .section = row->section,
                                        .n_names = row->n_names,
                                        .subject = take_phrase(r, row->subject),
                                        .value = take_phrase(r, row->value),
                                        .outcome = take_phrase(r, row->outcome),
                                        .names = take_names(r, row),
                                        .count = row->count,
                                        .of = row->of,
                                        .port = row->port,
                                        .every_ms = row->every_ms};
    if (!r->broken) {
        push_row(r, &copy);
    }
}

/* Rows of sections that this version does not know are skipped; a broken result takes no more. */
static void result_row(struct tt_result *r, const struct tt_explain_row *row)
{
    if (!host_has_result(r, "result_row")) {
        return;
    }
    mutex_lock(&r->call->lock);
    if (!is_whole_row(row)) {
        host_break_result(r, "a row of an explanation that is too small");
    } else if (r->n_rows == TT_LIST_MAX) {
        host_break_result(r, "too many rows of an explanation");
    } else if (!r->broken && rule_of(row->section) != NULL) {
        take_row(r, row, rule_of(row->section));
    }
    mutex_unlock(&r->call->lock);
}

/* Lines of several calls stand below each other. */
static void result_text(struct tt_result *r, const char *text)
{
    if (!host_has_result(r, "result_text")) {
        return;
    }
    mutex_lock(&r->call->lock);
    const char *more = host_take_text(r, text, HOST_PHRASE_MAX, "a text");
    if (more != NULL && charge(r, strlen(more) + 1)) {
        r->text = r->text == NULL ? more : arena_printf(r->call->arena, "%s%s", r->text, more);
    }
    mutex_unlock(&r->call->lock);
}

void host_table_explain(struct tt_host *t)
{
    t->result_text = result_text;
    t->result_row = result_row;
}
