/* SPDX-License-Identifier: GPL-2.0-only */
/* EACH(macro, (a, b), (c, d)...) is macro(a, b) macro(c, d)..., of up to seven. */
#ifndef RPCORDMA_KERNEL_EACH_H
#define RPCORDMA_KERNEL_EACH_H

#define RPCORDMA_EACH_1(macro, pair) macro pair
#define RPCORDMA_EACH_2(macro, pair, ...) macro pair RPCORDMA_EACH_1(macro, __VA_ARGS__)
#define RPCORDMA_EACH_3(macro, pair, ...) macro pair RPCORDMA_EACH_2(macro, __VA_ARGS__)
#define RPCORDMA_EACH_4(macro, pair, ...) macro pair RPCORDMA_EACH_3(macro, __VA_ARGS__)
#define RPCORDMA_EACH_5(macro, pair, ...) macro pair RPCORDMA_EACH_4(macro, __VA_ARGS__)
#define RPCORDMA_EACH_6(macro, pair, ...) macro pair RPCORDMA_EACH_5(macro, __VA_ARGS__)
#define RPCORDMA_EACH_7(macro, pair, ...) macro pair RPCORDMA_EACH_6(macro, __VA_ARGS__)
#define RPCORDMA_EACH_CHOSEN(a, b, c, d, e, f, g, chosen, ...) RPCORDMA_EACH_##chosen
#define EACH(macro, ...) RPCORDMA_EACH_CHOSEN(__VA_ARGS__, 7, 6, 5, 4, 3, 2, 1, 0)(macro, __VA_ARGS__)

#endif
