/* SPDX-License-Identifier: Apache-2.0 */
/* config_findings.c: file, line and common checks of a cloud-config (config_findings.h). */
#include "common/cloud/config_findings.h"

#include "common/base/str.h"

const char *config_file(const struct tt_open_args *args)
{
    return str_or(args->config_path, "cloud config");
}

const char *config_line(struct arena *a, const char *file, int line)
{
    return line > 0 ? arena_printf(a, "%s:%d", file, line) : file;
}

const char *config_near(struct arena *a, const char *near)
{
    return near != NULL ? arena_printf(a, "; did you mean \"%s\"?", near) : "";
}

void config_finding(const struct tt_open_args *args, uint32_t severity, const char *where,
                    const char *text)
{
    args->host->report_finding(args->host->ctx, severity, where, text);
}

static void warn(const struct config_findings *f, const struct gcfg_entry *e, const char *text)
{
    config_finding(f->args, TT_LOG_WARNING, config_line(f->a, config_file(f->args), e->line), text);
}

void config_findings_lines(struct config_findings *f)
{
    struct gcfg_entry *entries = NULL;
    f->n_entries = 0;
    if (f->args->config_text != NULL && gcfg_parse(f->a, f->args->config_text, f->args->config_len,
                                                   &entries, &f->n_entries, NULL) != ERR_OK) {
        f->n_entries = 0; /* it was read a moment ago */
    }
    f->entries = entries;
}

static bool is_key_of(const struct gcfg_entry *e, const char *const *sections, size_t n,
                      const char *key)
{
    bool here = false;
    for (size_t i = 0; i < n && !here; i++) {
        here = gcfg_name_is(sections[i], e->section);
    }
    return here && e->key != NULL && gcfg_name_is(key, e->key);
}

const char *config_where(const struct config_findings *f, const char *const *sections, size_t n,
                         const char *key)
{
    const char *file = config_file(f->args);
    for (size_t i = f->n_entries; i > 0; i--) {
        if (is_key_of(&f->entries[i - 1], sections, n, key)) {
            return config_line(f->a, file, f->entries[i - 1].line);
        }
    }
    return file;
}

static bool is_same_key(const struct gcfg_entry *a, const struct gcfg_entry *b)
{
    return a->key != NULL && str_eq_nocase(a->section, b->section) &&
           str_eq(str_nonnull(a->subsection), str_nonnull(b->subsection)) &&
           str_eq_nocase(a->key, b->key);
}

void config_check_repeated(const struct config_findings *f,
                           bool (*is_list)(const struct gcfg_entry *e))
{
    for (size_t i = 1; i < f->n_entries; i++) {
        const struct gcfg_entry *e = &f->entries[i];
        bool single = e->key != NULL && !is_list(e);
        size_t k = single ? i : 0;
        while (k > 0 && !is_same_key(&f->entries[k - 1], e)) {
            k--;
        }
        if (k > 0) {
            warn(f, e,
                 arena_printf(f->a, "%.100s is set again: line %d no longer counts", e->key,
                              f->entries[k - 1].line));
        }
    }
}

void config_check_empty(const struct config_findings *f,
                        bool (*may_be_empty)(const struct gcfg_entry *e))
{
    for (size_t i = 0; i < f->n_entries; i++) {
        const struct gcfg_entry *e = &f->entries[i];
        if (e->key != NULL && e->value != NULL && *e->value == '\0' && !may_be_empty(e)) {
            warn(f, e, arena_printf(f->a, "%.100s is empty, which counts as not set", e->key));
        }
    }
}
