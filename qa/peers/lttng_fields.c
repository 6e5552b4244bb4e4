/* One round of events with long fields and others that are easily shown wrong, for the numbered tests:
 *
 *   cc -I qa/peers -o lttng_fields qa/peers/lttng_fields.c -llttng-ust -ldl
 */
#define TRACEPOINT_DEFINE
#define TRACEPOINT_CREATE_PROBES
#include "lttng_fields_tp.h"

int main(void)
{
    static const size_t lengths[] = { 0, 4, 5770, 9000 };
    static uint8_t bytes[9000];
    static int32_t numbers[9000];
    size_t n;
    for (n = 0; n < sizeof bytes; n++) {
        bytes[n] = (uint8_t)(n * 7 + 250);
        numbers[n] = -(int32_t)n * 100000;
    }
    for (n = 0; n < sizeof lengths / sizeof *lengths; n++) {
        tracepoint(fld, bytes, bytes, lengths[n]);
        tracepoint(fld, numbers, numbers, lengths[n]);
    }
    for (n = 0; n <= 10; n += 5)
        tracepoint(fld, colors, (int)n);
    tracepoint(fld, words, "caf\xe9 \xc3\xa9 pool's, \"x\"");
    return 0;
}
