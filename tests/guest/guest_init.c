/* SPDX-License-Identifier: Apache-2.0 */
/* guest_init.c: the first process of the guest (tests/guest/README.md).
 *
 * Mounts what programs expect, inserts the kernel modules that /modules/order names, runs /t/run
 * with its output on the second serial line, writes its exit status behind it, and turns the
 * machine off.  One process and not a script, because each process that an emulated machine starts
 * costs a hundredth of a second or more.  With the word "shell" on the kernel's command line
 * /bin/sh runs on the first line instead. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static void mount_all(void)
{
    static const char *const rows[][2] = {
        {"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"},
        {"tmpfs", "/run"}, {"tmpfs", "/tmp"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)mkdir(rows[i][1], 0755); /* those that the archive has are there */
        if (mount(rows[i][0], rows[i][1], rows[i][0], 0, NULL) != 0) {
            perror(rows[i][1]);
        }
    }
}

static void insert_modules(void)
{
    FILE *order = fopen("/modules/order", "re");
    char name[256];
    while (order != NULL && fgets(name, sizeof(name), order) != NULL) {
        char path[300];
        name[strcspn(name, "\n")] = '\0';
        (void)snprintf(path, sizeof(path), "/modules/%s", name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || syscall(SYS_finit_module, fd, "", 0) != 0) {
            perror(path);
        }
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    if (order != NULL) {
        (void)fclose(order);
    }
}

static bool wants_shell(void)
{
    char line[4096] = "";
    FILE *f = fopen("/proc/cmdline", "re");
    bool found =
        f != NULL && fgets(line, sizeof(line), f) != NULL && strstr(line, " shell") != NULL;
    if (f != NULL) {
        (void)fclose(f);
    }
    return found;
}

/* Opens a serial line without translating what goes through it. */
static int open_line(const char *path)
{
    int fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios t;
    if (fd >= 0 && tcgetattr(fd, &t) == 0) {
        cfmakeraw(&t);
        (void)tcsetattr(fd, TCSANOW, &t);
    }
    return fd;
}

/* Runs a program with its output on `line` (-1: where ours goes); returns its exit status. */
static int run(const char *program, int line)
{
    pid_t child = fork();
    if (child == 0) {
        if (line >= 0) {
            (void)dup2(line, 1);
            (void)dup2(line, 2);
        } else {
            int console = open("/dev/ttyS0", O_RDWR | O_CLOEXEC);
            (void)setsid();
            for (int fd = 0; fd <= 2; fd++) {
                (void)dup2(console, fd);
            }
            (void)ioctl(0, TIOCSCTTY, 1);
        }
        (void)execl(program, program, (char *)NULL);
        perror(program);
        _exit(127);
    }
    int status = 0;
    pid_t ended;
    do {
        ended = waitpid(-1, &status, 0); /* orphans come here, too */
    } while (ended >= 0 && ended != child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(void)
{
    mount_all();
    insert_modules();
    (void)setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
    (void)setenv("HOME", "/t", 1);
    if (wants_shell()) {
        (void)run("/bin/sh", -1);
    } else {
        int line = open_line("/dev/ttyS1");
        int status = run("/t/run", line);
        (void)dprintf(line, "\nguest-exit %d\n", status);
        (void)tcdrain(line);
    }
    (void)reboot(RB_POWER_OFF);
    return 1;
}
