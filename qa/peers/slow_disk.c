/* A disk that takes its time, for LD_PRELOAD: each fsync takes SLOW_DISK milliseconds more.
 *
 *   cc -shared -fPIC -o slow_disk.so qa/peers/slow_disk.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_for_it(void)
{
    const char *ms = getenv("SLOW_DISK");
    usleep((useconds_t)(ms ? atoi(ms) : 0) * 1000);
}

int fsync(int fd)
{
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_for_it();
    return next(fd);
}

int fdatasync(int fd)
{
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_for_it();
    return next(fd);
}
