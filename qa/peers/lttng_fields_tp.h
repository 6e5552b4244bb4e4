/* Events of lttng_fields.c: fields that are long, or of which there is much to say. The macro names of 2.12. */
#undef TRACEPOINT_PROVIDER
#define TRACEPOINT_PROVIDER fld
#undef TRACEPOINT_INCLUDE
#define TRACEPOINT_INCLUDE "./lttng_fields_tp.h"

#if !defined(LTTNG_FIELDS_TP_H) || defined(TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_FIELDS_TP_H

#include <lttng/tracepoint.h>
#include <stddef.h>
#include <stdint.h>

TRACEPOINT_EVENT(fld, bytes, TP_ARGS(const uint8_t *, b, size_t, length),
    TP_FIELDS(
        ctf_array(uint8_t, four, b, 4)
        ctf_sequence(uint8_t, all, b, size_t, length)
        ctf_sequence(int8_t, negative, (const int8_t *)b, size_t, length)))
TRACEPOINT_LOGLEVEL(fld, bytes, TRACE_WARNING)

TRACEPOINT_EVENT(fld, numbers, TP_ARGS(const int32_t *, n, size_t, length),
    TP_FIELDS(ctf_integer(uint32_t, length, (uint32_t)length) ctf_sequence(int32_t, all, n, size_t, length)))
TRACEPOINT_LOGLEVEL(fld, numbers, TRACE_DEBUG_LINE)

TRACEPOINT_ENUM(fld, color,
    TP_ENUM_VALUES(ctf_enum_value("RED", 0) ctf_enum_range("GREENISH shade", 1, 6) ctf_enum_range("OVERLAP", 5, 9)))

TRACEPOINT_EVENT(fld, colors, TP_ARGS(int, v), TP_FIELDS(ctf_enum(fld, color, uint8_t, color, (uint8_t)v)))

TRACEPOINT_EVENT(fld, words, TP_ARGS(const char *, t), TP_FIELDS(ctf_string(text, t)))

#endif

#include <lttng/tracepoint-event.h>
