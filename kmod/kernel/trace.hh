/* SPDX-License-Identifier: GPL-2.0-only */
/* The trace events: a function rpcordma_trace_<name>() for each row of trace.def. */
#pragma once

#include "kernel/glue.h"

#define EVENT(name, parameters, arguments) extern "C" void rpcordma_trace_##name parameters;
#include "kernel/trace.def"
#undef EVENT
