/* Events of lttng_app.c: every kind of field that lttng-ust has. The macro names of 2.12, which 2.13 still takes. */
#undef TRACEPOINT_PROVIDER
#define TRACEPOINT_PROVIDER apm
#undef TRACEPOINT_INCLUDE
#define TRACEPOINT_INCLUDE "./lttng_app_tp.h"

#if !defined(LTTNG_APP_TP_H) || defined(TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_APP_TP_H

#include <lttng/tracepoint.h>
#include <stddef.h>
#include <stdint.h>

TRACEPOINT_EVENT(apm, tick, TP_ARGS(uint64_t, n), TP_FIELDS(ctf_integer(uint64_t, round, n)))

TRACEPOINT_EVENT(apm, nothing, TP_ARGS(), TP_FIELDS())

TRACEPOINT_EVENT(apm, numbers, TP_ARGS(int64_t, v),
    TP_FIELDS(
        ctf_integer(uint8_t, u8, (uint8_t)v)
        ctf_integer(int8_t, s8, (int8_t)v)
        ctf_integer(uint16_t, u16, (uint16_t)v)
        ctf_integer(int16_t, s16, (int16_t)v)
        ctf_integer(uint32_t, u32, (uint32_t)v)
        ctf_integer(int32_t, s32, (int32_t)v)
        ctf_integer(uint64_t, u64, (uint64_t)v)
        ctf_integer(int64_t, s64, v)
        ctf_integer_hex(uint32_t, hex, (uint32_t)v)
        ctf_integer_network(uint16_t, net16, (uint16_t)v)
        ctf_integer_network(uint32_t, net32, (uint32_t)v)))

TRACEPOINT_EVENT(apm, floats, TP_ARGS(double, v), TP_FIELDS(ctf_float(float, single, (float)v) ctf_float(double, twice, v)))

TRACEPOINT_EVENT(apm, texts, TP_ARGS(const char *, text, const char *, chars, size_t, length),
    TP_FIELDS(
        ctf_string(text, text)
        ctf_array_text(char, fixed, chars, 8)
        ctf_sequence_text(char, counted, chars, size_t, length)))

TRACEPOINT_EVENT(apm, lists, TP_ARGS(const int32_t *, a, const uint16_t *, b, size_t, length),
    TP_FIELDS(
        ctf_array(int32_t, three, a, 3)
        ctf_sequence(int32_t, some, a, size_t, length)
        ctf_array_network(uint16_t, net, b, 2)
        ctf_sequence_hex(uint16_t, hex, b, uint8_t, length)))

TRACEPOINT_ENUM(apm, level,
    TP_ENUM_VALUES(
        ctf_enum_value("none", 0)
        ctf_enum_range("low", 1, 9)
        ctf_enum_range("high", 10, 99)
        ctf_enum_value("full", 100)))

TRACEPOINT_ENUM(apm, balance,
    TP_ENUM_VALUES(ctf_enum_range("debt", -100, -1) ctf_enum_value("even", 0) ctf_enum_range("credit", 1, 100)))

TRACEPOINT_EVENT(apm, levels, TP_ARGS(int, v),
    TP_FIELDS(ctf_enum(apm, level, uint8_t, level, (uint8_t)v) ctf_enum(apm, balance, int32_t, balance, v)))

TRACEPOINT_EVENT(apm, work_begin, TP_ARGS(uint32_t, id, const char *, name),
    TP_FIELDS(ctf_integer(uint32_t, id, id) ctf_string(name, name)))

TRACEPOINT_EVENT(apm, work_end, TP_ARGS(uint32_t, id, int32_t, status),
    TP_FIELDS(ctf_integer(uint32_t, id, id) ctf_integer(int32_t, status, status)))

#endif

#include <lttng/tracepoint-event.h>
