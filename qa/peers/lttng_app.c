/* A program with tracepoints of lttng-ust, for the numbered tests and the demo:
 *
 *   lttng_app COUNT [RATE [EVENTS]]
 *
 * COUNT: rounds; a round has one event of each kind, and two of kind work. RATE: rounds a second, 0: as fast as it goes.
 * EVENTS: kinds, separated by commas: tick, nothing, numbers, floats, texts, lists, levels, work; all of them by default. KIND:N is only
 * in the first N rounds.
 * Values depend on the number of the round only. SIGTERM ends it early. At the end it says what was sent, a line for each event.
 *
 *   cc -I qa/peers -o lttng_app qa/peers/lttng_app.c -llttng-ust -ldl
 */
#define _GNU_SOURCE
#define TRACEPOINT_DEFINE
#define TRACEPOINT_CREATE_PROBES
#include "lttng_app_tp.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile sig_atomic_t stop;

static void on_term(int number)
{
    (void)number;
    stop = 1;
}

static void tick(uint64_t n) { tracepoint(apm, tick, n); }

static void nothing(uint64_t n)
{
    (void)n;
    tracepoint(apm, nothing);
}

static void numbers(uint64_t n)
{
    static const int64_t values[] = { 0, 1, -1, 127, -128, 255, 32767, -32768, 65535, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN };
    tracepoint(apm, numbers, values[n % (sizeof values / sizeof *values)]);
}

static void floats(uint64_t n) { tracepoint(apm, floats, n % 8 * 0.25 - 1); }

static void texts(uint64_t n)
{
    static const char *const values[] = { "", "plain", "\"quoted\"", "caf\xc3\xa9", "a longer text with blanks" };
    tracepoint(apm, texts, values[n % 5], "eight ch", n % 9);
}

static void lists(uint64_t n)
{
    const int32_t a[] = { (int32_t)n, -1, 2, -3 };
    const uint16_t b[] = { 1, 256, 0xabcd, 4 };
    tracepoint(apm, lists, a, b, n % 5);
}

static void levels(uint64_t n)
{
    static const int values[] = { 0, 5, 10, 99, 100, -1, 1 };
    tracepoint(apm, levels, values[n % 7]);
}

static void work(uint64_t n)
{
    tracepoint(apm, work_begin, (uint32_t)n, n % 2 ? "odd" : "even");
    tracepoint(apm, work_end, (uint32_t)n, n % 10 ? 0 : -1);
}

static const struct {
    const char *name, *sends[2];
    void (*emit)(uint64_t);
} kinds[] = {
    { "tick", { "tick" }, tick },       { "nothing", { "nothing" }, nothing },
    { "numbers", { "numbers" }, numbers }, { "floats", { "floats" }, floats },
    { "texts", { "texts" }, texts },    { "lists", { "lists" }, lists },
    { "levels", { "levels" }, levels }, { "work", { "work_begin", "work_end" }, work },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Sleeps until `seconds` after `start`, or until a signal. */
static void sleep_until(const struct timespec *start, double seconds)
{
    struct timespec at = *start;
    at.tv_sec += (time_t)seconds;
    at.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (at.tv_nsec >= 1000000000L) {
        at.tv_nsec -= 1000000000L;
        at.tv_sec++;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: lttng_app COUNT [RATE [EVENTS]]\n");
        return 2;
    }
    uint64_t count = strtoull(argv[1], NULL, 10), sent = 0;
    double rate = argc > 2 ? atof(argv[2]) : 0;
    /* Rounds with an event of this kind. */
    uint64_t rounds[KINDS] = { 0 };
    for (int k = 0; k < KINDS; k++)
        rounds[k] = argc < 4 ? count : 0;
    for (char *word = argc < 4 ? NULL : strtok(argv[3], ","); word; word = strtok(NULL, ",")) {
        int known = 0;
        char *most = strchr(word, ':');
        if (most)
            *most++ = '\0';
        for (int k = 0; k < KINDS; k++)
            if (strcmp(word, kinds[k].name) == 0) {
                rounds[k] = most ? strtoull(most, NULL, 10) : count;
                known = 1;
            }
        if (!known) {
            fprintf(stderr, "lttng_app: no such event: %s\n", word);
            return 2;
        }
    }

    struct sigaction action = { .sa_handler = on_term };
    sigaction(SIGTERM, &action, NULL);
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (; sent < count && !stop; sent++) {
        if (rate > 0)
            sleep_until(&start, (double)sent / rate);
        for (int k = 0; k < KINDS; k++)
            if (sent < rounds[k])
                kinds[k].emit(sent);
    }

    for (int k = 0; k < KINDS; k++)
        for (int e = 0; e < 2 && rounds[k] && kinds[k].sends[e]; e++)
            printf("apm:%s %llu\n", kinds[k].sends[e], (unsigned long long)(sent < rounds[k] ? sent : rounds[k]));
    return 0;
}
