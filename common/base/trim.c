/* SPDX-License-Identifier: Apache-2.0 */
/* trim.c: gives back memory after the start (trim.h).
 *
 * Code is mapped privately from files and never written, so a page that is dropped is read again
 * when it runs.  A library whose code was relocated in place (DT_TEXTREL) is left alone: its pages
 * are not those of the file. */
#include "common/base/trim.h"

#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is_relocated_in_place(const struct dl_phdr_info *info)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_DYNAMIC) {
            continue;
        }
        const ElfW(Dyn) *d = (const ElfW(Dyn) *)(uintptr_t)(info->dlpi_addr + p->p_vaddr);
        for (; d->d_tag != DT_NULL; d++) {
            if (d->d_tag == DT_TEXTREL ||
                (d->d_tag == DT_FLAGS && (d->d_un.d_val & DF_TEXTREL) != 0)) {
                return true;
            }
        }
    }
    return false;
}

static int drop_code(struct dl_phdr_info *info, size_t size, void *arg)
{
    uintptr_t page = *(const uintptr_t *)arg;
    (void)size;
    if (strstr(info->dlpi_name, "linux-vdso") != NULL || is_relocated_in_place(info)) {
        return 0;
    }
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || (p->p_flags & (PF_X | PF_W)) != PF_X) {
            continue;
        }
        uintptr_t from = (info->dlpi_addr + p->p_vaddr + page - 1) & ~(page - 1);
        uintptr_t to = (info->dlpi_addr + p->p_vaddr + p->p_filesz) & ~(page - 1);
        if (from < to) { /* a refusal leaves things as they are */
            (void)madvise((void *)from, to - from, MADV_DONTNEED);
        }
    }
    return 0;
}

void trim_after_start(void)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)malloc_trim(0);
    (void)dl_iterate_phdr(drop_code, &page);
}
